package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
	"codemode/internal/filelock"
	"codemode/internal/plainfile"

	"github.com/gofrs/flock"
)

// ledger is what codemode has written into files of others, so that it can be taken back exactly. It holds no text of
// them; those are in the backups it names.
type ledger struct {
	state   string
	Version int      `json:"version"`
	Records []record `json:"installed"`
	Tokens  []Token  `json:"tokens,omitempty"` // of servers whose records are gone, and which are secrets yet

	had []Token // when it was read
}

// tokens are those of the servers that were adopted, and are not back with their clients.
func (l *ledger) tokens() (list []Token) {
	for _, r := range l.Records {
		for _, m := range r.Adopted {
			list = append(list, m.Tokens...)
		}
	}
	return append(list, l.Tokens...)
}

// record is one entry in one file.
type record struct {
	Client  string          `json:"client"`
	Scope   clientcfg.Scope `json:"scope"`
	Path    string          `json:"path"`            // with links followed
	Place   string          `json:"place,omitempty"` // where its client looks, if that is a link to it
	Root    string          `json:"root,omitempty"`  // of the project that the file is in
	Key     []string        `json:"key"`             // leads to the entry; its last is the name
	Entry   string          `json:"entry"`
	File    bool            `json:"file,omitempty"`    // the file was made for it
	Folders []string        `json:"folders,omitempty"` // and these for the file, the outermost first
	Table   bool            `json:"table,omitempty"`   // the table of servers was made for it
	Before  string          `json:"before,omitempty"`  // hash of the file without it; empty where that is not known
	After   string          `json:"after"`             // hash of the file as it was written
	Backup  string          `json:"backup,omitempty"`  // of what Before is the hash
	Adopted []Moved         `json:"adopted,omitempty"`
	Written time.Time       `json:"written"`
}

// left says whether the place where the record's client looks leads to another file by now.
func (r record) left() bool {
	if r.Place == "" || !exists(r.Place) {
		return false
	}
	f, _ := open(r.Place)
	return f.path != r.Path
}

// A Moved is a server that went from a client's file to one of codemode's own, or back.
type Moved struct {
	Name   string   `json:"name"` // in the client's file
	As     string   `json:"as"`   // what codemode calls it
	File   string   `json:"file"` // of codemode's own
	Hash   string   `json:"hash"` // of that file as it was written
	Wrote  bool     `json:"wrote"`
	Folder bool     `json:"folder,omitempty"` // its folder was made for it
	Key    []string `json:"key"`              // leads to the servers of the client
	Backup string   `json:"backup,omitempty"` // in which the client's own text of it is
	Same   bool     `json:"-"`                // codemode had it already
	Tokens []Token  `json:"tokens,omitempty"` // of the entry that are secrets of codemode's now
	Kept   bool     `json:"-"`                // on its way back: codemode keeps it, too
	Vars   []string `json:"-"`                // that it refers to
	Only   string   `json:"-"`                // the folder that it was for alone
}

const (
	ledgerVersion = 1
	maxLedger     = 64 << 20 // bytes
	keptBackups   = 5
)

func (i *Installer) ledgerFile() string { return filepath.Join(i.State, "installed.json") }

// lock keeps other codemodes from installing. It makes the folder.
func (i *Installer) lock(ctx context.Context) (*flock.Flock, error) {
	if i.State == "" {
		return nil, errNoState
	}
	if err := os.MkdirAll(i.State, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder %q: %w", i.State, fileerr.Cause(err))
	}
	lock, err := filelock.Take(ctx, filepath.Join(i.State, "installed.lock"))
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	return lock, nil
}

// readLedger reads what was written before. There may be nothing.
func (i *Installer) readLedger() (*ledger, error) {
	l := &ledger{state: i.State, Version: ledgerVersion}
	if i.State == "" {
		return l, nil
	}
	data, err := plainfile.Read(i.ledgerFile(), maxLedger)
	if fileerr.IsMissing(err) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, l)
	}
	if err == nil && l.Version != ledgerVersion {
		err = fmt.Errorf("it is of version %d, and this codemode knows version %d", l.Version, ledgerVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", i.ledgerFile(), fileerr.Cause(err))
	}
	for n := range l.Records {
		if r := &l.Records[n]; r.Root == "" {
			r.Path = followed(r.Path)
		}
	}
	l.had = l.tokens()
	return l, nil
}

// followed is a path with the links followed that are in it by now: a folder may have become one since.
func followed(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// noEntry is the name in records of files from which servers went, and which codemode itself was not put in.
const noEntry = ""

func (r record) name() string { return r.Key[len(r.Key)-1] }

// adopt adds servers to a record. Of one that a killed codemode has recorded, what was made for it stays known.
func (r *record) adopt(moved []Moved) {
	r.Adopted = slices.Clone(r.Adopted)
	for _, m := range moved {
		n := slices.IndexFunc(r.Adopted, func(o Moved) bool {
			return o.Name == m.Name && o.File == m.File && slices.Equal(o.Key, m.Key)
		})
		switch {
		case n < 0:
			r.Adopted = append(r.Adopted, m)
		case m.Wrote || m.Replaced():
			m.Tokens = slices.Concat(r.Adopted[n].Tokens, m.Tokens)
			r.Adopted[n] = m
		}
	}
}

// owed are the servers of a record that uninstall has to give back yet. A file has some as they were where who recorded
// them was killed before it was written, or somebody has put it back: of those there will be a backup as they are.
func (r *record) owed(data []byte, format splice.Format) []Moved {
	list := slices.Clone(r.Adopted)
	doc, err := splice.Parse(data, format)
	for n := range list {
		if err == nil {
			if now, there := doc.Get(list[n].place()); there && list[n].was(now, format) {
				list[n].Backup = ""
			}
		}
	}
	return list
}

// place leads to a server in its client's file.
func (m Moved) place() []string { return append(slices.Clone(m.Key), m.Name) }

// was says whether a server is now what it was when it was moved.
func (m Moved) was(now any, format splice.Format) bool {
	data, err := plainfile.Read(m.Backup, splice.MaxSize)
	if err != nil {
		return false
	}
	doc, err := splice.Parse(data, format)
	if err != nil {
		return false
	}
	old, there := doc.Get(m.place())
	return there && reflect.DeepEqual(now, old)
}

// find is the record of an entry.
func (l *ledger) find(path string, key []string) *record {
	for n := range l.Records {
		if l.Records[n].Path == path && slices.Equal(l.Records[n].Key, key) {
			return &l.Records[n]
		}
	}
	return nil
}

// made says whether the folder of a file of codemode's own was made for one that is there still: who goes last removes
// it.
func (l *ledger) made(file string) bool {
	return file != "" && slices.ContainsFunc(l.Records, func(r record) bool {
		return slices.ContainsFunc(
			r.Adopted, func(m Moved) bool { return m.Folder && filepath.Dir(m.File) == filepath.Dir(file) },
		)
	})
}

// put replaces the record of an entry.
func (l *ledger) put(r record) {
	if old := l.find(r.Path, r.Key); old != nil {
		*old = r
		return
	}
	l.Records = append(l.Records, r)
}

func (l *ledger) drop(path string, key []string) {
	l.Records = slices.DeleteFunc(l.Records, func(r record) bool { return r.Path == path && slices.Equal(r.Key, key) })
}

// save writes the ledger as a whole. The caller holds the lock. A token whose record has gone stays known for as long
// as it is a secret: it may be nowhere else.
func (i *Installer) save(l *ledger) error {
	l.Tokens = slices.DeleteFunc(l.Tokens, func(t Token) bool { return !i.Has(t) })
	for _, t := range l.had {
		if !slices.Contains(l.tokens(), t) && i.Has(t) {
			l.Tokens = append(l.Tokens, t)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(l); err != nil {
		return err
	}
	if err := i.put(i.ledgerFile(), text.Bytes()); err != nil {
		return fmt.Errorf("writing %q: %w", i.ledgerFile(), fileerr.Cause(err))
	}
	return nil
}

func (i *Installer) backupDir(client string) string {
	return filepath.Join(i.State, "installed.backups", client)
}

// backup keeps what a file was, and forgets the oldest of the same file that no record needs.
func (i *Installer) backup(l *ledger, client string, f file) (string, error) {
	dir := i.backupDir(client)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the folder %q: %w", dir, fileerr.Cause(err))
	}
	prefix := sum([]byte(f.path))[:12] + "-"
	content := sum(f.data)
	name := filepath.Join(dir, prefix+time.Now().UTC().Format("20060102T150405.000000000Z")+".bak")
	if err := i.put(name, f.data); err != nil {
		return "", fmt.Errorf("keeping what the file was in %q: %w", dir, fileerr.Cause(err))
	}
	i.prune(l, dir, prefix, name)
	if kept, err := plainfile.Read(name, splice.MaxSize); err != nil || sum(kept) != content {
		return "", fmt.Errorf("keeping what the file was in %q: it is not what was written", dir)
	}
	return name, nil
}

// prune removes all but the newest backups of a file, and those that a record needs, and what a killed codemode has
// left of one.
func (i *Installer) prune(l *ledger, dir, prefix, newest string) {
	entries, _ := os.ReadDir(dir) // in the order of their names, which is that of time
	var old []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), prefix):
			old = append(old, filepath.Join(dir, e.Name()))
		case strings.HasPrefix(e.Name(), "."+prefix):
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	for len(old) > keptBackups {
		if old[0] != newest && !l.needs(old[0]) {
			os.Remove(old[0])
		}
		old = old[1:]
	}
}

func (l *ledger) needs(backup string) bool {
	return slices.ContainsFunc(l.Records, func(r record) bool {
		return r.Backup == backup || slices.ContainsFunc(r.Adopted, func(m Moved) bool { return m.Backup == backup })
	})
}

// original is what a file was before an entry was put there, if that is known exactly.
func (r record) original() ([]byte, bool) {
	if r.Before == "" || r.Backup == "" {
		return nil, false
	}
	data, err := plainfile.Read(r.Backup, splice.MaxSize)
	if err != nil || sum(data) != r.Before {
		return nil, false
	}
	return data, true
}

// Left is what codemode has put into files of others, and not taken out yet: those of projects that are there and have
// its entry, and the tokens of servers that it has adopted.
func (i *Installer) Left() (files []string, tokens []Token, err error) {
	l, err := i.readLedger()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range l.Records {
		if r.Scope == clientcfg.Project && !slices.Contains(files, r.Path) && r.name() != noEntry && r.isThere() {
			files = append(files, r.Path)
		}
	}
	return files, l.tokens(), nil
}

// Elsewhere is a file of the user's that codemode was put in, and may be in yet, but is not read here, and whose client
// that is; empty is none.
func (i *Installer) Elsewhere(isRead func(path string) bool) (client, path string, err error) {
	l, err := i.readLedger()
	if err != nil {
		return "", "", err
	}
	for _, r := range l.Records {
		if r.Scope == clientcfg.User && r.name() != noEntry && !isRead(r.Path) && r.isThere() {
			return r.Client, r.Path, nil
		}
	}
	return "", "", nil
}

// isThere says whether its file may have the entry yet: its name is not looked for any closer.
func (r record) isThere() bool {
	data, err := plainfile.Read(r.Path, splice.MaxSize)
	return err == nil && bytes.Contains(data, []byte(r.name())) || err != nil && !fileerr.IsMissing(err)
}

// Has reports whether a token is a secret still.
func (i *Installer) Has(t Token) bool {
	vault := i.Vault.of(t.Tenant)
	if vault == nil {
		return false
	}
	names, err := vault.Names()
	return err != nil || slices.Contains(names, t.Secret) // what cannot be read may have it
}
