package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
)

// attempts is how often a file that another program changes is read and planned again.
const attempts = 5

// proposal is what a file is to become.
type proposal struct {
	action  Action
	data    []byte
	remove  bool     // the file itself is to go
	folders []string // that go with it, where they are empty then; the outermost first
	notes   []string
	moved   []Moved
	stayed  []Stayed

	record *record    // to keep; nil is none
	forget [][]string // records of these keys go
	key    []string   // of the entry that must be there afterwards; nil is none

	before func() error    // runs before the file is written; an error stops that
	undo   func()          // runs when it was not written after all
	after  func() []string // runs when it was, and before its records go; returns notes
}

// change plans what becomes of a target and writes it: under the lock, from what the file is at that moment, and again
// where another program wrote in between.
func (i *Installer) change(ctx context.Context, t Target, dry bool, plan func(file, *ledger) (proposal, error)) Result {
	r := Result{Client: t.Client.ID, Scope: t.Scope, Path: t.Path, Notes: slices.Clone(t.Notes), target: &t}
	fail := func(action Action, err error) Result {
		r.Action, r.Err, r.Moved = action, err, nil
		return r
	}
	if !dry {
		lock, err := i.lock(ctx)
		if err != nil {
			return fail(Refused, err)
		}
		defer lock.Close()
	}
	for range attempts {
		f, err := t.open()
		if err != nil {
			return fail(Refused, err)
		}
		l, err := i.readLedger()
		if err != nil {
			return fail(Refused, err)
		}
		p, err := plan(f, l)
		if err != nil {
			return fail(Refused, err)
		}
		r.Action, r.Moved, r.Stayed, r.key = p.action, p.moved, p.stayed, p.key
		r.Notes = append(slices.Clone(t.Notes), p.notes...)
		if !p.remove && string(p.data) == string(f.data) && len(p.forget) == 0 {
			return r
		}
		if dry {
			r.Diff, r.Text = diff(f.data, p.data, t.Path, t.format), p.data
			return r
		}
		if ctx.Err() != nil { // what was planned asks, and nobody has answered
			return fail(Refused, context.Cause(ctx))
		}
		switch err := i.write(ctx, &t, f, p, l, &r); {
		case errors.Is(err, errChanged):
			continue
		case err != nil:
			return fail(Refused, err)
		}
		removeEmpty(f.root, p.folders)
		if p.key != nil && !i.holds(t, p.key) {
			continue
		}
		return r
	}
	return fail(Failed, errBusy)
}

// write does what is proposed, if the file is still what it was. A record is in the ledger before anything is made, and
// until all of it is gone: whatever a codemode that is killed leaves, the next one knows of.
func (i *Installer) write(ctx context.Context, t *Target, f file, p proposal, l *ledger, r *Result) (err error) {
	if t.Client.Install.LockDir && t.Scope == clientcfg.User {
		unlock, err := lockDir(ctx, f.path)
		if err != nil {
			return err
		}
		defer unlock()
	}
	was := slices.Clone(l.Records)
	if !f.missing() {
		if r.Backup, err = i.backup(l, t.Client.ID, f); err != nil {
			return err
		}
	}
	if p.record != nil {
		l.put(finished(*p.record, l, f, p.data, r.Backup))
		if err := i.save(l); err != nil {
			return err
		}
	}
	if len(p.forget) > 0 { // what cannot be forgotten afterwards stays
		if err := i.save(l); err != nil {
			return err
		}
	}
	if err := i.writeFile(t, f, p); err != nil {
		if p.record != nil {
			l.Records = was
			err = errors.Join(err, i.save(l))
			removeEmpty(f.root, f.above)
		}
		return err
	}
	r.written = true
	for _, key := range p.forget {
		l.drop(f.path, key)
	}
	if p.after != nil {
		r.Notes = append(r.Notes, p.after()...)
	}
	if len(p.forget) > 0 {
		if err := i.save(l); err != nil {
			r.Notes = append(r.Notes, "it is in codemode's records still: "+err.Error())
		}
	}
	return nil
}

// writeFile writes or removes the file, and before that what takes the place of what goes from it.
func (i *Installer) writeFile(t *Target, f file, p proposal) (err error) {
	if p.before != nil {
		if err := p.before(); err != nil {
			return err
		}
	}
	switch {
	case p.remove:
		err = i.remove(f)
	case string(p.data) != string(f.data):
		mode := private
		if t.Scope == clientcfg.Project {
			mode = shared
		}
		err = i.replace(f, p.data, mode)
	default:
		sweepBeside(f)
	}
	if err != nil && p.undo != nil {
		p.undo()
	}
	return err
}

// finished is a record of what is about to be written, with the backup that was made for it.
func finished(rec record, l *ledger, f file, data []byte, backup string) record {
	if rec.Before == sum(f.data) && rec.Backup == "" {
		rec.Backup = backup
	}
	for n := range rec.Adopted {
		if rec.Adopted[n].Backup == "" {
			rec.Adopted[n].Backup = backup
		}
		rec.Adopted[n].Folder = rec.Adopted[n].Folder || l.made(rec.Adopted[n].File)
	}
	rec.After, rec.Written = sum(data), time.Now().UTC()
	return rec
}

// removeEmpty removes folders that were made for a file and hold nothing else.
func removeEmpty(root string, folders []string) {
	for _, dir := range slices.Backward(folders) {
		f := file{path: dir, root: root}
		parent, err := f.folder(0)
		if err != nil {
			return
		}
		err = parent.Remove(filepath.Base(dir))
		parent.Close()
		if err != nil {
			return
		}
	}
}

// holds reads a file again and says whether the entry is there.
func (i *Installer) holds(t Target, key []string) bool {
	f, err := t.open()
	if err != nil {
		return false
	}
	doc, err := splice.Parse(f.data, t.format)
	if err != nil {
		return false
	}
	entry, _ := doc.Get(key)
	table, ok := entry.(map[string]any)
	return ok && i.isOurs(table)
}

// Confirm looks again at the files of clients that write theirs from memory, some time after they were written, and
// marks the results of those that have undone it.
func (i *Installer) Confirm(ctx context.Context, results []Result) error {
	again := func(r Result) bool { return r.written && r.key != nil && r.target.Client.Install.Rewrites }
	if !slices.ContainsFunc(results, again) {
		return nil
	}
	if err := pause(ctx, i.Settle); err != nil {
		return err
	}
	for n := range results {
		if r := &results[n]; again(*r) && !i.holds(*r.target, r.key) {
			r.Action, r.Err = Failed, ErrReverted
		}
	}
	return nil
}

// staleLock is the age from which Cline takes its lock for one of a process that died, github.com/cline/cline, read
// 2026-11.
const staleLock = 10 * time.Second

// lockDir takes the lock that a client holds while it writes: a folder beside the file.
func lockDir(ctx context.Context, path string) (unlock func(), err error) {
	dir := path + ".lock"
	if !exists(filepath.Dir(path)) {
		return func() {}, nil
	}
	for {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return func() { os.Remove(dir) }, nil
		}
		info, errStat := os.Stat(dir)
		switch {
		case fileerr.IsMissing(errStat):
			continue
		case errStat != nil:
			return nil, fileerr.Cause(err)
		case time.Since(info.ModTime()) > staleLock:
			os.Remove(dir)
			continue
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
