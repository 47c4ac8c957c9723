package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
	"codemode/internal/lazyregexp"
)

// Adopter is where the servers of clients go that codemode takes over.
type Adopter struct {
	Dir string                   // codemode's own folder of servers
	Own func() []clientcfg.Entry // what codemode is told itself, as things are now

	// Named are the servers of all clients with the names that codemode calls them by; nil is that nobody calls them.
	Named func() []clientcfg.Entry

	// Approved says whether the user has agreed to what a project's entry starts; nil is that there is none of them.
	Approved func(clientcfg.Entry) bool

	// Loosens is why the last of some moves cannot be made, which would have something held less tightly than now; nil
	// is that nothing is held.
	Loosens func(Change) string

	// Choose says whether a server is moved; nil moves all. It may be asked again about one that it has chosen.
	Choose func(clientcfg.Entry) bool
}

// A Change is what adoption would come to: the files that it writes, and the servers that move by it.
type Change struct {
	Files map[string][]byte
	Moves []Move
}

// A Move is that of one server, from an entry of its client's to a file of codemode's own.
type Move struct {
	Entry    clientcfg.Entry
	As, File string
}

// isAnothers says whether another server is called by a name.
func (a *Adopter) isAnothers(name string, e clientcfg.Entry) bool {
	return a.Named != nil && slices.ContainsFunc(a.Named(), func(o clientcfg.Entry) bool {
		return o.Server.Name == name && o.Status != clientcfg.NeedsApproval && !inOneTable(o, e) &&
			!clientcfg.SameServer(o, e)
	})
}

func inOneTable(a, b clientcfg.Entry) bool {
	return a.Client == b.Client && a.Scope == b.Scope && a.Server.Project == b.Server.Project
}

// localTable is where a client's file has the servers that an entry is among: those of one folder alone stand apart.
func localTable(doc *splice.Document, table []string, e clientcfg.Entry) []string {
	if e.Scope != clientcfg.Local {
		return table
	}
	folders, _ := doc.Entries([]string{"projects"})
	for _, folder := range folders {
		if filepath.FromSlash(folder) == e.Server.Project {
			return []string{"projects", folder, "mcpServers"}
		}
	}
	return table
}

// Folder is the one folder that a client has a server for; empty is each.
func (r Result) Folder(m Moved) string {
	switch {
	case len(m.Key) == 3 && m.Key[0] == "projects":
		return filepath.FromSlash(m.Key[1])
	case r.target != nil:
		return r.target.root
	}
	return ""
}

// A Stayed is a server that adoption leaves in its client's file.
type Stayed struct{ Name, Reason string }

// oddInName is what some file system does not take in a file's name.
var oddInName = lazyregexp.New(`[^A-Za-z0-9._-]`)

// adoption is of a file's servers: where they are, and what is to be made for those that move.
type adoption struct {
	req   Request
	t     Target
	f     file
	doc   *draft
	table []string                                     // that codemode's entry is in
	entry func(moved []Moved) ([]splice.Member, error) // what is set of that; nil is that there is none

	files   []newFile
	secrets []secret
	moves   []Move
}

// adopt plans to move the other servers of a file to codemode's own folder.
func (i *Installer) adopt(p *proposal, all adoption, old *record) {
	req, t, f, doc := all.req, all.t, all.f, all.doc
	if t.own {
		return
	}
	entries, problems := clientcfg.ReadEntries(t.Client, t.Scope, f.root, f.path, f.data, i.Env)
	own := i.Adopt.Own()
	for _, e := range entries {
		key := localTable(doc.Document, all.table, e)
		if !adoptable(p.moved, req, t, doc.Document, key, e) {
			continue
		}
		reason := cmp.Or(
			whyUnclear(doc.Document, key, e, problems), old.before(doc.Document, t.format, key, e),
			i.staying(e, t.Client), readAlready(own, f.path), i.unapproved(req, t, e),
		)
		if reason != "" {
			p.stay(e.Written, reason)
			continue
		}
		m := i.place(e, own, all.files)
		m.Key, m.Vars, m.Only = key, clientcfg.Variables(e.Server), onlyIn(t, f, e)
		next, err := i.with(all, &m, e)
		if err == nil {
			err = i.agreed(next, append(slices.Clip(p.moved), m))
		}
		if err != nil {
			p.stay(e.Written, err.Error())
			continue
		}
		all = next
		p.moved = append(p.moved, m)
	}
	for _, problem := range problems {
		if problem.Server != "" {
			p.stay(problem.Server, problem.Err.Error())
		}
	}
	p.before, p.undo = i.moving(all, p.moved)
	if req.DryRun {
		if i.planned == nil {
			i.planned = map[string][]secret{}
		}
		i.planned[t.Path] = all.secrets
	}
}

// with adds what is made for a server. The error is why it stays.
func (i *Installer) with(all adoption, m *Moved, e clientcfg.Entry) (adoption, error) {
	from := e
	from.Server.Source = all.t.Path // where it is found
	all.moves = append(slices.Clip(all.moves), Move{from, m.As, m.File})
	if !m.Wrote {
		return all, nil
	}
	text, err := ownFile(all.t, all.doc.Document, append(slices.Clone(m.Key), e.Written), m.As, m.Only)
	if err == nil {
		err = i.keepsMeaning(m.File, text, e)
	}
	if err != nil {
		return all, err
	}
	taken, err := i.takeTokens(m, text, e, all.secrets)
	if err != nil {
		return all, err
	}
	m.Hash = sum(taken.text)
	all.secrets = append(slices.Clip(all.secrets), taken.secrets...)
	all.files = append(slices.Clip(all.files), newFile{m.File, m.As, taken.text})
	return all, nil
}

// onlyIn is the one folder that a client starts a server for; empty is each.
func onlyIn(t Target, f file, e clientcfg.Entry) string {
	switch {
	case e.Scope == clientcfg.Local:
		return e.Server.Project
	case t.Scope == clientcfg.Project:
		return f.root
	}
	return ""
}

// stay notes once why a server is left where it is.
func (p *proposal) stay(name, reason string) {
	if !slices.ContainsFunc(p.stayed, func(s Stayed) bool { return s.Name == name }) {
		p.stayed = append(p.stayed, Stayed{name, reason})
	}
}

// whyUnclear says why it is not clear what would move under the name of an entry; empty is that it is clear.
func whyUnclear(doc *splice.Document, key []string, e clientcfg.Entry, problems []clientcfg.Problem) string {
	if err := doc.Once(append(slices.Clone(key), e.Written)); err != nil {
		return err.Error()
	}
	for _, problem := range problems {
		if problem.Server == e.Written {
			return problem.Err.Error()
		}
	}
	return ""
}

// before says why an entry stays that is another than the one of its name that was adopted; empty is that none was.
func (r *record) before(doc *splice.Document, format splice.Format, key []string, e clientcfg.Entry) string {
	if r == nil {
		return ""
	}
	for _, m := range r.Adopted {
		now, _ := doc.Get(m.place())
		if m.Name == e.Written && slices.Equal(m.Key, key) && !m.was(now, format) {
			return "another of its name was adopted before, and uninstall gives that back"
		}
	}
	return ""
}

// adoptable says whether an entry is one that adoption moves, or says why not: it is in the file at key, and neither
// codemode's own, nor moved already, nor one that could not be read.
func adoptable(moved []Moved, req Request, t Target, doc *splice.Document, key []string, e clientcfg.Entry) bool {
	isMoved := slices.ContainsFunc(moved, func(m Moved) bool {
		return m.Replaced() && m.Name == e.Written && slices.Equal(m.Key, key)
	})
	inScope := e.Scope == t.Scope || e.Scope == clientcfg.Local
	unread := e.Status == clientcfg.Invalid && e.Reason == "" // the file's problems tell of it
	if isMoved || !inScope || unread || e.Written == req.Name {
		return false
	}
	names, err := doc.Entries(key)
	return err == nil && slices.Contains(names, e.Written)
}

// moving is what is done before a client's file is written, all of it or nothing, and what takes it back: files of
// codemode's own and secrets.
func (i *Installer) moving(all adoption, moved []Moved) (before func() error, undo func()) {
	files, secrets := all.files, all.secrets
	var written []newFile
	undo = func() {
		removeFiles(written)
		i.dropTokens(secrets)
	}
	before = func() error {
		if err := i.forbidden(all, moved); err != nil {
			return err
		}
		if len(files) > 0 {
			if err := os.MkdirAll(i.Adopt.Dir, 0o700); err != nil {
				return fmt.Errorf("making the folder %q: %w", i.Adopt.Dir, fileerr.Cause(err))
			}
		}
		if err := i.keepTokens(secrets); err != nil {
			return err
		}
		for _, n := range files {
			if err := i.writeOwn(n); err != nil {
				undo()
				return fmt.Errorf("writing %q: %w", n.path, fileerr.Cause(err))
			}
			written = append(written, n)
		}
		return nil
	}
	return before, undo
}

// staying says why a server cannot live elsewhere than in its client's file, or nothing.
func (i *Installer) staying(e clientcfg.Entry, c *clientcfg.Client) string {
	switch {
	case e.Status == clientcfg.Invalid:
		return e.Reason
	case clientcfg.StartsCodemode(e.Server, i.Env, i.Self):
		return "it starts codemode"
	case clientcfg.StartsOriginal(e.Server):
		return "it starts the Python original"
	case e.Server.Command == "" && !clientcfg.HasSecretHeader(e.Server) &&
		(e.Server.OAuth == nil || len(e.Server.Headers) == 0):
		return "it is reached by URL and has no token in its entry, so " + c.Title + " may be signed in there"
	}
	if why := clientcfg.Bound(e); why != "" {
		return why
	}
	for _, name := range clientcfg.Variables(e.Server) {
		if c.Install.Strips && clientcfg.IsSetting(name) {
			return fmt.Sprintf("codemode would be given its %s, which decides about servers there", name)
		}
	}
	if c.Entry == clientcfg.Goose {
		for _, name := range e.Server.EnvPass {
			if _, ok := i.Env.Lookup(name); !ok {
				return fmt.Sprintf("%s is not in the environment, so %s has it in its keyring", name, c.Title)
			}
		}
	}
	return ""
}

// maxBase keeps a file's name within what every file system takes.
const maxBase = 100

// newFile is a file of codemode's own that is about to be.
type newFile struct {
	path, name string
	text       []byte
}

// place says what codemode will call a server, and in which file. One that it has already is not written again. Another
// client's server keeps its name: what is allowed by that would be allowed to this one.
func (i *Installer) place(e clientcfg.Entry, own []clientcfg.Entry, files []newFile) Moved {
	taken := func(name string) bool {
		return slices.ContainsFunc(own, func(o clientcfg.Entry) bool { return o.Written == name }) ||
			slices.ContainsFunc(files, func(n newFile) bool { return n.name == name }) ||
			i.Adopt.isAnothers(name, e)
	}
	as := e.Written
	for _, other := range own {
		if i.same(other, e) {
			return Moved{Name: e.Written, As: other.Written, File: other.Server.Source, Same: true}
		}
	}
	for n := 1; taken(as); n++ {
		if as = e.Written + "-" + e.Client; n > 1 {
			as = fmt.Sprintf("%s-%s-%d", e.Written, e.Client, n)
		}
	}
	base := cmp.Or(strings.TrimLeft(oddInName().ReplaceAllString(as, "_"), "."), "server")
	base = base[:min(len(base), maxBase)]
	path := filepath.Join(i.Adopt.Dir, base+".json")
	planned := func(o newFile) bool { return strings.EqualFold(o.path, path) }
	known := func(o clientcfg.Entry) bool { return o.Server.Source == path } // a dry run's, too
	for n := 2; exists(path) || slices.ContainsFunc(own, known) || slices.ContainsFunc(files, planned); n++ {
		path = filepath.Join(i.Adopt.Dir, fmt.Sprintf("%s-%d.json", base, n))
	}
	return Moved{Name: e.Written, As: as, File: path, Wrote: true, Folder: !exists(i.Adopt.Dir)}
}

// ownFile is a file of codemode's own for one server, in its client's own words, and with the client's name, by whose
// rules they are read. One that was of a folder alone starts there, as it did.
func ownFile(t Target, doc *splice.Document, key []string, as, folder string) ([]byte, error) {
	raw, ok := doc.Raw(key)
	entry, _ := doc.Get(key)
	if namesSecret(entry) {
		return nil, errors.New("its text ${secret:…} would stand for a secret of codemode's there")
	}
	if name := restricts(entry); name != "" {
		return nil, fmt.Errorf("its %q means nothing to %s, and would decide there what it may use", name, t.Client.Title)
	}
	if t.format != splice.JSON && t.format != splice.JSONC {
		value, _ := doc.Get(key)
		text, err := json.MarshalIndent(value, "    ", "  ")
		if err != nil {
			return nil, fmt.Errorf("the server called %q cannot be written as JSON: %w", as, err)
		}
		raw = text
	}
	if !ok {
		return nil, fmt.Errorf("the server called %q is not there", as)
	}
	var b bytes.Buffer
	fmt.Fprintf(
		&b, "{\n  \"client\": %s,\n  \"mcpServers\": {\n    %s: %s\n  }\n}\n", quoted(t.Client.ID), quoted(as), raw,
	)
	if value, _ := doc.Get(key); folder != "" {
		if entry, _ := value.(map[string]any); entry["cwd"] == nil {
			own, err := splice.Parse(b.Bytes(), splice.JSONC)
			if err != nil {
				return nil, err
			}
			return own.Set([]string{"mcpServers", as}, []splice.Member{{Key: "cwd", Value: folder}})
		}
	}
	return b.Bytes(), nil
}

func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// writeOwn writes a file that must not be there yet.
func (i *Installer) writeOwn(n newFile) error {
	dir, err := os.OpenRoot(filepath.Dir(n.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	sweep(dir, filepath.Base(n.path))
	tmp, err := i.temp(dir, filepath.Base(n.path), n.text, private, nil)
	if err != nil {
		return err
	}
	defer dir.Remove(tmp)
	if err := create(dir, tmp, filepath.Base(n.path)); err != nil && !errors.Is(err, errChanged) {
		return err
	} else if err != nil {
		return fs.ErrExist
	}
	return syncDir(dir)
}

func removeFiles(files []newFile) {
	for _, n := range files {
		os.Remove(n.path)
		removeEmpty("", []string{filepath.Dir(n.path)})
	}
}

// tablesOf is one server of each table that servers are moved out of.
func tablesOf(moved []Moved) (list []Moved) {
	for _, m := range moved {
		if !slices.ContainsFunc(list, func(o Moved) bool { return slices.Equal(o.Key, m.Key) }) {
			list = append(list, m)
		}
	}
	return list
}

// namesOf are the servers that are moved out of a table.
func namesOf(moved []Moved, table []string) (names []string) {
	for _, m := range moved {
		if slices.Equal(m.Key, table) {
			names = append(names, m.Name)
		}
	}
	return names
}

// variables are those that servers refer to.
func variables(moved []Moved) (names []string) {
	for _, m := range moved {
		for _, name := range m.Vars {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
