package install

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
)

// Uninstall takes codemode out of the files of one client: by the name of the request, or, where that is empty, by
// every name it was given and by the usual one. There is a result for each file.
func (i *Installer) Uninstall(ctx context.Context, req Request) []Result {
	targets, err := i.installed(req)
	if err != nil {
		return []Result{{Client: req.Client.ID, Scope: req.Scope, Action: Refused, Err: err}}
	}
	known := map[string]bool{} // before any is forgotten
	if l, err := i.readLedger(); err == nil {
		for _, t := range targets {
			f, _ := t.open()
			known[t.Path] = slices.ContainsFunc(l.Records, func(r record) bool { return r.Path == f.path })
		}
	}
	var results []Result
	for _, t := range targets {
		r := i.change(
			ctx, t, req.DryRun, func(f file, l *ledger) (proposal, error) { return i.planRemoval(req, t, f, l) },
		)
		r.Known = known[t.Path]
		results = append(results, r)
	}
	return results
}

// installed are the files that codemode may be in: where it is put today, and where it was put before.
func (i *Installer) installed(req Request) ([]Target, error) {
	named := req
	named.Name = cmp.Or(req.Name, DefaultName)
	targets, err := i.Targets(named)
	l, errLedger := i.readLedger()
	if errLedger != nil {
		return nil, errLedger
	}
	for _, t := range targets {
		if f, _ := t.open(); f.path != "" {
			targets = slices.DeleteFunc(targets, func(o Target) bool { return o.Path != t.Path && o.Path == f.path })
		}
	}
	for n := range targets {
		targets[n].Notes = nil
	}
	for _, r := range l.Records {
		known := slices.ContainsFunc(targets, func(t Target) bool { f, _ := t.open(); return f.path == r.Path })
		apart := r.Scope == req.Scope ||
			r.name() == noEntry // what has gone from a project's file comes back with the user's
		if r.Client == req.Client.ID && apart && req.Scope == clientcfg.User && !known {
			t := Target{
				Client: &req.Client, Scope: r.Scope, Path: r.Path, format: formatOf(&req.Client, r.Path), root: r.Root,
			}
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return nil, err
	}
	return targets, nil
}

// DefaultName is what codemode is called where nothing else is said.
const DefaultName = "codemode"

// planRemoval is what a file was without codemode.
func (i *Installer) planRemoval(req Request, t Target, f file, l *ledger) (proposal, error) {
	p := proposal{action: Absent, data: f.data}
	var records []record
	for _, r := range l.Records {
		if r.Path == f.path && (req.Name == "" || r.name() == req.Name || r.name() == noEntry) {
			records = append(records, r)
			// The file may come back, as a folder does that is moved away and back: with its servers then.
			if !f.missing() && !r.left() || len(r.Adopted) == 0 {
				p.forget = append(p.forget, r.Key)
			}
		}
	}
	slices.SortStableFunc(records, func(a, b record) int { return b.Written.Compare(a.Written) })
	if f.missing() {
		p.notes = tellGone(records)
		return p, nil
	}
	for _, r := range records {
		if r.left() { // what would go back there, the client would not have
			p.notes = append(p.notes, "its file is another by now")
			p.notes = append(p.notes, staying(r)...)
			r.Adopted, r.After = nil, ""
		}
		if err := i.takeOut(&p, t, r); err != nil {
			return p, err
		}
	}
	if !p.remove {
		if err := i.takeOutUnrecorded(&p, req, t, records); err != nil {
			return p, err
		}
	}
	if p.remove || string(p.data) != string(f.data) {
		p.action = Removed
		if len(records) > 0 && !slices.ContainsFunc(records, func(r record) bool { return r.name() != noEntry }) {
			p.action = Restored
		}
	}
	i.giveBack(&p, t, l)
	return p, nil
}

// tellGone says what there is to know of records whose file is gone.
func tellGone(records []record) (notes []string) {
	if len(records) > 0 {
		notes = append(notes, "its file is gone")
	}
	for _, r := range records {
		notes = append(notes, staying(r)...)
	}
	return notes
}

// staying says which servers of a record codemode keeps.
func staying(r record) (notes []string) {
	for _, m := range r.Adopted {
		if !m.Replaced() {
			notes = append(notes, fmt.Sprintf("%q stays codemode's: %q", m.As, m.File))
		}
	}
	return notes
}

// takeOut undoes one record: exactly, where the file is as codemode wrote it.
func (i *Installer) takeOut(p *proposal, t Target, r record) error {
	if sum(p.data) == r.After {
		if r.File {
			p.remove, p.data, p.folders, p.moved = true, nil, r.Folders, append(p.moved, r.Adopted...)
			return nil
		}
		if data, ok := r.original(); ok {
			p.data, p.moved = data, append(p.moved, r.Adopted...)
			return nil
		}
	}
	doc, err := parse(p.data, t.format)
	if err != nil {
		return err
	}
	name := r.name()
	if value, ok := doc.Get(r.Key); ok {
		if entry, _ := value.(map[string]any); hashOf(doc.Document, r.Key) != r.Entry && !i.isOurs(entry) {
			p.notes = append(p.notes, fmt.Sprintf("%q starts something else by now, and is left alone", name))
		} else if err := doc.apply(doc.Remove(r.Key, r.Table && len(r.Adopted) == 0)); err != nil {
			return err
		}
	}
	for _, m := range r.Adopted {
		if err := i.putBack(p, doc, m); err != nil {
			return err
		}
	}
	p.data = doc.data
	if r.File && hollow(doc) {
		p.remove, p.folders = true, r.Folders
	}
	return nil
}

// hollow says whether nothing is left in a document.
func hollow(doc *draft) bool {
	root, ok := doc.Get(nil)
	table, isTable := root.(map[string]any)
	return (!ok || isTable && len(table) == 0) && !bytes.ContainsAny(doc.data, "/#") // nor a comment
}

// putBack puts a server that was adopted back into its client's file, in the client's own text of it.
func (i *Installer) putBack(p *proposal, doc *draft, m Moved) error {
	if now, there := doc.Get(m.place()); there {
		if m.was(now, doc.format) {
			p.moved = append(p.moved, m)
		} else {
			p.notes = append(p.notes, fmt.Sprintf("another %q is there by now; %s", m.Name, m.whereElse()))
		}
		return nil
	}
	data, err := plainfile.Read(m.Backup, splice.MaxSize)
	if err != nil {
		return fmt.Errorf(
			"what the file was before is lost (%w), so %q cannot be put back; %s", fileerr.Cause(err), m.Name, m.whereElse(),
		)
	}
	was, err := splice.Parse(data, doc.format)
	if err != nil {
		return err
	}
	raw, ok := was.Raw(m.place())
	if !ok {
		return fmt.Errorf("what the file was before has no %q; %s", m.Name, m.whereElse())
	}
	p.moved = append(p.moved, m)
	return doc.apply(doc.SetRaw(m.place(), raw))
}

// whereElse says where a server is that is not put back.
func (m Moved) whereElse() string {
	if m.Replaced() {
		return fmt.Sprintf("the one that codemode took the place of is in the backup %q", m.Backup)
	}
	return fmt.Sprintf("the one that was adopted stays codemode's: %q", m.File)
}

// takeOutUnrecorded removes an entry of the usual name that starts codemode and is in no record.
func (i *Installer) takeOutUnrecorded(p *proposal, req Request, t Target, records []record) error {
	name := cmp.Or(req.Name, DefaultName)
	if slices.ContainsFunc(records, func(r record) bool { return r.name() == name }) {
		return nil
	}
	doc, err := splice.Parse(p.data, t.format)
	if err != nil && !bytes.Contains(p.data, []byte(name)) {
		p.notes = append(p.notes, fmt.Sprintf("the file cannot be read (%v), and has no %q in it; nothing to do", err, name))
		return nil
	}
	if err != nil {
		return err
	}
	key := append(slices.Clone(keyOf(t.Client, doc)), name)
	value, ok := doc.Get(key)
	if !ok {
		return nil
	}
	if entry, _ := value.(map[string]any); !i.isOurs(entry) {
		p.notes = append(p.notes, fmt.Sprintf("%q starts something else, and is left alone", name))
		return nil
	}
	p.data, err = doc.Remove(key, false)
	return err
}

// giveBack removes, once the client has its servers again, the files of codemode's own that were made for them.
func (i *Installer) giveBack(p *proposal, t Target, l *ledger) {
	moved, data := p.moved, p.data
	if len(moved) == 0 {
		return
	}
	p.after = func() (notes []string) {
		restored := entriesOf(moved, data, t.format)
		for n := range moved {
			m := &moved[n]
			if m.Replaced() {
				continue
			}
			if !m.Wrote || handOver(l, *m) {
				m.Kept = true
				continue
			}
			sweepBeside(file{path: m.File})
			data, err := plainfile.Read(m.File, splice.MaxSize)
			switch {
			case fileerr.IsMissing(err):
				notes = append(notes, i.forgetTokens(*m, restored[n])...)
			case err != nil || sum(data) != m.Hash:
				m.Kept = true
				notes = append(notes, fmt.Sprintf("%q was changed since, and stays codemode's, too: %q", m.As, m.File))
			default:
				if err := os.Remove(m.File); err != nil {
					notes = append(notes, fmt.Sprintf("%q cannot be removed: %v", m.File, fileerr.Cause(err)))
				} else {
					notes = append(notes, i.forgetTokens(*m, restored[n])...)
				}
			}
		}
		for _, m := range moved {
			if m.Folder {
				removeEmpty("", []string{filepath.Dir(m.File)})
			}
		}
		if slices.ContainsFunc(moved, func(m Moved) bool { return m.Kept }) {
			_ = i.save(l) // who keeps which file; the next uninstall would only keep one more
		}
		return notes
	}
}

// entriesOf are servers as a client's file has them; nil where it has none.
func entriesOf(moved []Moved, data []byte, format splice.Format) []any {
	entries := make([]any, len(moved))
	if doc, err := splice.Parse(data, format); err == nil {
		for n, m := range moved {
			entries[n], _ = doc.Get(m.place())
		}
	}
	return entries
}

// handOver leaves a file to another client whose server it is, too.
func handOver(l *ledger, m Moved) bool {
	for n := range l.Records {
		for k := range l.Records[n].Adopted {
			if other := &l.Records[n].Adopted[k]; other.File == m.File && !other.Wrote {
				other.Wrote, other.Hash, other.Tokens = true, m.Hash, m.Tokens
				return true
			}
		}
	}
	return false
}
