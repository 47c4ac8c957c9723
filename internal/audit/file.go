package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// appender is a log's file, and its rotation. It has one user at a time; file alone may be looked at by others.
type appender struct {
	opts   Options
	synced func(error) // is told how the sync of a file ended that was put away

	file   atomic.Pointer[os.File]
	info   os.FileInfo // which file that is
	looked time.Time   // when that was last seen to be the file in use
	size   int64
	torn   bool // the last write was cut short: the next line must not continue it
}

const (
	current = "audit.jsonl"
	rotated = "audit-20060102T150405.000000000Z.jsonl" // names are in the order of time
)

// put writes lines to the file's end, in one go.
func (a *appender) put(lines []byte) error {
	if err := a.open(); err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	if a.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := a.file.Load().Write(lines)
	a.size += int64(n)
	if a.torn = n > 0 && n < len(lines) || a.torn && n == 0; err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// close closes the file, if there is one.
func (a *appender) close() error {
	if f := a.file.Swap(nil); f != nil {
		return f.Close()
	}
	return nil
}

// open makes sure that there is a file with room, and that it is the one in use: another process may have put it away,
// and would remove it in time.
func (a *appender) open() error {
	if a.file.Load() != nil && (a.size >= a.opts.MaxSize || time.Since(a.looked) > glance && !a.inUse()) {
		if err := a.rotate(); err != nil {
			return err
		}
	}
	if a.file.Load() != nil {
		return nil
	}
	if err := os.MkdirAll(a.opts.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(a.opts.Dir, current), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	a.info, a.size, a.looked = info, info.Size(), time.Now()
	a.file.Store(f)
	if a.size > 0 { // a process that was killed may have left half a line
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, a.size-1); err == nil && last[0] != '\n' {
			a.torn = true
		}
	}
	return syncDir(a.opts.Dir)
}

// glance is how long the file is assumed to be the one in use before that is checked again: other processes need
// longer to fill several.
const glance = 10 * time.Millisecond

// inUse says whether the log's file is still the one that lines go to.
func (a *appender) inUse() bool {
	began := time.Now()
	now, err := os.Stat(filepath.Join(a.opts.Dir, current))
	if err != nil || !os.SameFile(a.info, now) {
		return false
	}
	a.looked = began
	return true
}

// rotate puts the file away, unless another process has done that, and lets the oldest go.
func (a *appender) rotate() error {
	old, err := files(a.opts.Dir)
	if err != nil {
		return err
	}
	if a.inUse() {
		err := os.Rename(filepath.Join(a.opts.Dir, current), filepath.Join(a.opts.Dir, nextName(time.Now(), old)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else another process was faster
			return err
		}
	}
	a.synced(a.file.Load().Sync())
	err = a.close()
	a.torn = false
	old, listErr := files(a.opts.Dir)
	old = slices.DeleteFunc(old, func(name string) bool { return name == current })
	for len(old) >= a.opts.Keep && len(old) > 0 {
		if gone := os.Remove(filepath.Join(a.opts.Dir, old[0])); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		old = old[1:]
	}
	return errors.Join(err, listErr)
}

// nextName is the name of a file that is put away: the time, or one after that of the newest there is. Clocks are set
// back, and the newest lines must not be taken for the oldest. Two processes never have one name, as one file would
// replace the other.
func nextName(now time.Time, old []string) string {
	for _, name := range old {
		if then, err := time.Parse(rotated, name); err == nil && !now.After(then) {
			now = then.Add(time.Duration(1 + rand.IntN(int(time.Second))))
		}
	}
	return now.UTC().Format(rotated)
}

// files are the names of a log's files, the oldest first.
func files(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if n := e.Name(); n != current && strings.HasPrefix(n, "audit-") && strings.HasSuffix(n, ".jsonl") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, e := range entries {
		if e.Name() == current {
			names = append(names, current)
		}
	}
	return names, err
}
