package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/config"
)

// Install puts codemode into the files of one client. There is a result for each.
func (i *Installer) Install(ctx context.Context, req Request) []Result {
	refused := func(r Result, err error) Result {
		r.Action, r.Err = Refused, err
		r.Snippet = i.Snippet(req, r.Path)
		return r
	}
	base := Result{Client: req.Client.ID, Scope: req.Scope}
	if slices.Contains(req.Client.Install.Reserved, req.Name) {
		return []Result{refused(base, fmt.Errorf("%s keeps the name %q to itself", req.Client.Title, req.Name))}
	}
	if _, err := pass(&req.Client, nil, req.Pass, nil); err != nil {
		return []Result{refused(base, err)}
	}
	targets, err := i.Targets(req)
	if err != nil {
		return []Result{refused(base, err)}
	}
	if err := i.check(req, targets); err != nil {
		base.Path = targets[0].Path
		return []Result{refused(base, err)}
	}
	originals, notes, err := i.originals(req, targets)
	if err != nil {
		base.Path = targets[0].Path
		return []Result{refused(base, err)}
	}
	var results []Result
	for n, t := range targets {
		if n == 0 {
			t.Notes = slices.Concat(t.Notes, notes, tellInherited(originals))
		}
		r := i.change(
			ctx, t, req.DryRun, func(f file, l *ledger) (proposal, error) { return i.plan(req, t, f, l, originals) },
		)
		if !r.Done() {
			r = refused(Result{Client: r.Client, Scope: r.Scope, Path: r.Path, Notes: r.Notes}, r.Err)
			if r.Err == errBusy {
				r.Action = Failed
			}
		}
		results = append(results, r)
		if !r.Done() {
			return results // where codemode is not, the original stays
		}
	}
	return append(results, i.others(ctx, req, targets, originals)...)
}

// plan is what a file becomes with codemode in it.
func (i *Installer) plan(req Request, t Target, f file, l *ledger, originals []takenOver) (p proposal, err error) {
	if f.missing() && !t.Detected && !req.Force {
		return p, ErrNotFound
	}
	doc, err := parse(f.data, t.format)
	if err != nil {
		return p, err
	}
	p.notes = slices.Clone(doc.Notes)
	table := keyOf(t.Client, doc.Document)
	key := append(slices.Clone(table), req.Name)
	_, hadTable := doc.Get(table)
	value, there := doc.Get(key)
	entry, _ := value.(map[string]any)
	old := l.find(f.path, key)
	p.moved = replaced(originals, t.Path)

	second := len(table) > len(t.Client.Key)
	anew, err := i.entry(req, t, nil, false, second, p.moved, originals)
	if err != nil {
		return p, err
	}
	removed, err := p.makeRoom(doc, key, i.foreign(t, doc, key, old, anew), req.Force)
	if err != nil {
		return p, err
	}
	if removed {
		there, entry = false, nil
	}
	with := func(moved []Moved) ([]splice.Member, error) {
		return i.entry(req, t, entry, there, second, moved, originals)
	}
	if i.Adopt != nil {
		i.adopt(&p, adoption{req: req, t: t, f: f, doc: doc, table: table, entry: with}, old)
	}
	set, err := with(p.moved)
	if err != nil {
		return p, err
	}
	p.key = key
	i.tell(&p, req, t, doc.Document, entry)
	if err := doc.apply(doc.Set(key, set)); err != nil {
		return p, err
	}
	if err := doc.removeMoved(p.moved, key); err != nil {
		return p, err
	}
	p.data, p.action = doc.data, Installed
	if there {
		p.action = Updated
	}
	if string(p.data) == string(f.data) && !f.missing() {
		p.action = Unchanged
		return p, nil
	}
	p.record = newRecord(t, f, key, old, there, !hadTable)
	p.record.Entry = hashOf(doc.Document, key)
	p.record.adopt(p.moved)
	return p, nil
}

// check refuses paths that the ledger, which is JSON, could not lead back to, and what is not well in other files.
func (i *Installer) check(req Request, targets []Target) error {
	for _, t := range targets {
		for _, path := range []string{t.Path, i.State} {
			if !utf8.ValidString(path) {
				return fmt.Errorf("the path %q is not UTF-8, so it could not be taken back", path)
			}
		}
	}
	return i.checkOtherFiles(req, targets[0])
}

// makeRoom removes what is at the key of codemode's entry: a server that moves elsewhere, or, by force, a foreign one.
func (p *proposal) makeRoom(doc *draft, key []string, foreign error, force bool) (removed bool, err error) {
	moves := slices.ContainsFunc(p.moved, func(m Moved) bool {
		return slices.Equal(append(slices.Clone(m.Key), m.Name), key)
	})
	switch name := key[len(key)-1]; {
	case moves:
	case foreign != nil && !force:
		return false, foreign
	case foreign != nil:
		p.moved = append(p.moved, Moved{Name: name, Key: key[:len(key)-1]})
	default:
		return false, nil
	}
	return true, doc.apply(doc.Remove(key, false))
}

// removeMoved removes servers that are moved elsewhere, but for an entry at key, which has taken the place of one.
func (d *draft) removeMoved(moved []Moved, key []string) error {
	for _, of := range tablesOf(moved) {
		names := slices.DeleteFunc(namesOf(moved, of.Key), func(name string) bool {
			return slices.Equal(append(slices.Clone(of.Key), name), key)
		})
		if len(names) == 0 {
			continue
		}
		if err := d.apply(d.RemoveAll(of.Key, names, false)); err != nil {
			return err
		}
	}
	return nil
}

// draft is a document that is edited step by step.
type draft struct {
	*splice.Document
	data   []byte
	format splice.Format
}

func parse(data []byte, format splice.Format) (*draft, error) {
	doc, err := splice.Parse(data, format)
	return &draft{doc, data, format}, err
}

// apply makes the result of an edit the document that the next one changes.
func (d *draft) apply(data []byte, err error) error {
	if err != nil {
		return err
	}
	next, err := parse(data, d.format)
	if err == nil {
		*d = *next
	}
	return err
}

// entry is what to set of an entry: all of a new one, of an old one its command, and what the request adds.
func (i *Installer) entry(
	req Request, t Target, entry map[string]any, there, second bool, moved []Moved, originals []takenOver,
) (set []splice.Member, err error) {
	cmd := i.command(req, t)
	was := commandOf(entry)
	values, passed, _ := inherited(originals)
	names := append(slices.Clone(req.Pass), passed...)
	if t.Client.Install.Strips {
		names = append(names, variables(moved)...)
	}
	handed, err := pass(t.Client, entry, names, values)
	if err != nil {
		return nil, err
	}
	if !there {
		return append(members(t.Client, req.Name, cmd, second), handed...), nil
	}
	switch wrapped := i.wraps(entry) && !req.Force; {
	case wrapped && req.Tenant != "":
		return nil, fmt.Errorf("its entry starts codemode by %q: put --tenant %s there, or replace it with --force",
			was.program, req.Tenant)
	case wrapped:
		return handed, nil
	}
	keeps := req.Tenant == "" && keepsArgs(was, cmd)
	if n := slices.Index(was.args, "serve"); n >= 0 && !keeps {
		cmd.args = withRest(cmd.args, was.args[n+1:], req.Tenant != "")
	}
	return append(update(t.Client, entry, cmd, keeps), handed...), nil
}

// withRest is what codemode is started with where its user has more behind "serve"; another tenant takes the place of
// theirs.
func withRest(args, rest []string, tenant bool) []string {
	if tenant {
		kept := rest[:0:0]
		for n := 0; n < len(rest); n++ {
			name, _, joined := strings.Cut(strings.TrimLeft(rest[n], "-"), "=")
			switch is := strings.HasPrefix(rest[n], "-") && name == "tenant"; {
			case !is:
				kept = append(kept, rest[n])
			case !joined:
				n++
			}
		}
		rest = kept
	}
	return slices.Insert(slices.Clone(args), slices.Index(args, "serve")+1, rest...)
}

// keepsArgs says whether an entry's arguments are its user's own, and good: codemode's "serve" and more.
func keepsArgs(is, want command) bool {
	return len(is.args) > 0 && len(want.args) > 0 && is.args[0] == want.args[0] &&
		filepath.Base(want.program) != "wsl.exe"
}

// newRecord is what to keep of an entry that is about to be written.
func newRecord(t Target, f file, key []string, old *record, there, newTable bool) *record {
	r := record{Client: t.Client.ID, Scope: t.Scope, Path: f.path, Root: f.root, Key: key}
	switch {
	case t.root == "" && t.Path != f.path:
		r.Place = t.Path
	case old != nil: // which was found by its record
		r.Place = old.Place
	}
	switch {
	case old != nil && !f.missing() && sum(f.data) == old.After: // what was recorded is still so
		r.Before, r.Backup, r.File = old.Before, old.Backup, old.File
		r.Folders, r.Table, r.Adopted = old.Folders, old.Table, old.Adopted
	case old != nil && there: // but for its exact bytes
		r.File, r.Folders, r.Table, r.Adopted = old.File, old.Folders, old.Table, old.Adopted
	case f.missing() && old != nil && len(old.Adopted) > 0: // it had servers, which go back to it
		r.Adopted = old.Adopted
	case f.missing():
		r.File, r.Folders, r.Table = true, f.above, newTable
	default:
		r.Before, r.Table = sum(f.data), newTable
		if old != nil {
			r.Adopted = old.owed(f.data, t.format)
		}
		if slices.ContainsFunc(r.Adopted, func(m Moved) bool { return m.Backup != "" }) {
			r.Before = "" // without those it is not what uninstall is to leave
		}
	}
	return &r
}

// hashOf is of what an entry says, however it is written: clients write theirs anew, with members that are empty.
func hashOf(doc *splice.Document, key []string) string {
	value, _ := doc.Get(key)
	if table, ok := value.(map[string]any); ok {
		table = maps.Clone(table)
		maps.DeleteFunc(table, func(_ string, v any) bool {
			inner, ok := v.(map[string]any)
			return ok && len(inner) == 0
		})
		value = table
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return sum(text)
}

// tell notes what the user should know of a file that codemode is put in.
func (i *Installer) tell(p *proposal, req Request, t Target, doc *splice.Document, entry map[string]any) {
	note := func(format string, args ...any) { p.notes = append(p.notes, fmt.Sprintf(format, args...)) }
	c := t.Client
	if isOff(entry) {
		note("it is switched off there, and stays so")
	}
	if i.wraps(entry) && !req.Force {
		note("its entry starts codemode by %q, which is left as it is; --force replaces it", commandOf(entry).program)
	}
	if c.Dialect == config.DialectDollar && c.Entry == clientcfg.Plain {
		if allowed, ok := doc.Get([]string{"mcp", "allowed"}); ok && !slices.Contains(texts(allowed), req.Name) {
			note("%q does not name %q, so %s will not start it: add it there", "mcp.allowed", req.Name, c.Title)
		}
		if excluded, _ := doc.Get([]string{"mcp", "excluded"}); slices.Contains(texts(excluded), req.Name) {
			note("%q names %q, so %s will not start it", "mcp.excluded", req.Name, c.Title)
		}
	}
	if c.Install.Rejects != "" && t.Scope == clientcfg.Project {
		if _, ok := doc.Get([]string{c.Install.Rejects}); ok {
			note("%s rejects this file for its %q, which other programs read", c.Title, c.Install.Rejects)
		}
	}
	if t.Scope == clientcfg.Project {
		note(
			"others of the project get it, too: it starts the codemode on their PATH, " +
				"which programs with a window may not see on macOS",
		)
	}
	for _, where := range i.shadows(req, t, doc) {
		note("shadowed in %s, which has a server of that name", where)
	}
}

// shadows are the places whose server of the same name wins over the user's.
func (i *Installer) shadows(req Request, t Target, doc *splice.Document) (places []string) {
	if t.Scope != clientcfg.User {
		return nil
	}
	if raw, _ := doc.Raw([]string{"projects"}); t.Client.ID == "claude-code" &&
		bytes.Contains(raw, []byte(`"`+req.Name+`"`)) {
		projects, _ := doc.Entries([]string{"projects"})
		for _, folder := range projects {
			if _, ok := doc.Get([]string{"projects", folder, "mcpServers", req.Name}); ok {
				places = append(places, folder)
			}
		}
	}
	req.Scope = clientcfg.Project
	targets, err := i.Targets(req)
	if err != nil || exists(targets[0].Path) && targets[0].Path == t.Path {
		return places
	}
	f, err := targets[0].open()
	if err != nil || f.missing() {
		return places
	}
	of, err := splice.Parse(f.data, targets[0].format)
	if err != nil {
		return places
	}
	if v, ok := of.Get(append(slices.Clone(keyOf(t.Client, of)), req.Name)); ok {
		if entry, _ := v.(map[string]any); !i.isOurs(entry) {
			places = append(places, targets[0].Path)
		}
	}
	return places
}
