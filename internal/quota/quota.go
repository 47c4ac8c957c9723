// Package quota bounds what a tenant keeps on disk: large outputs, images, saved tools and lists of servers' tools.
//
// It owns a lock that all processes of the tenant share, and counts the files themselves whenever something is to be
// added; where there is too little room, the oldest go. It keeps no index that could differ from the disk, and never
// removes what was saved on purpose. Nothing needs closing.
package quota

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"codemode/internal/filelock"
)

// Folder is one of those whose files count.
type Folder struct {
	Path string
	// Saved files are counted and never removed.
	Saved bool
	// Open files may be written by a process while another removes them: they are emptied first, so that their room
	// is there at once.
	Open bool
}

// Budget is the room that all processes of a tenant share. A nil Budget bounds nothing.
type Budget struct {
	max     int64
	folders []Folder
	lock    string
	log     *slog.Logger

	mu sync.Mutex // of this process, whose waiters are served in their order
}

// New returns a budget of max bytes for all files below the folders, which may be missing. lock is a file whose folder
// is made when it is needed.
func New(lock string, max int64, log *slog.Logger, folders ...Folder) *Budget {
	return &Budget{max: max, folders: folders, lock: lock, log: log}
}

// FullError is something that would not fit, whatever was removed.
type FullError struct{ Need, Used, Max int64 }

func (e *FullError) Error() string {
	return fmt.Sprintf("%d bytes do not fit beside the %d that are kept: disk.max_size is %d", e.Need, e.Used, e.Max)
}

// Hint is what to do about it.
func (e *FullError) Hint() []string {
	return []string{"what takes room: codemode clean", "for more: disk.max_size"}
}

// Add makes room for n bytes and has write take it, while no other process of the tenant does. Files are removed, the
// oldest first; none of them is own, the one that grows. What write takes must be seen in the files' sizes when it
// returns. The error is write's, or a FullError.
func (b *Budget) Add(ctx context.Context, n int64, own string, write func() error) error {
	if b == nil {
		return write()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(b.lock), 0o700); err != nil {
		return fmt.Errorf("counting what is kept: %w", err)
	}
	lock, err := filelock.Take(ctx, b.lock)
	if err != nil {
		return fmt.Errorf("not kept, for what is there was not counted: %w", err)
	}
	defer lock.Close()
	if err := b.makeRoom(n, own); err != nil {
		return err
	}
	return write()
}

// kept is one file.
type kept struct {
	path string
	size int64
	at   time.Time
	in   Folder
}

// makeRoom removes the oldest files until n bytes more fit.
func (b *Budget) makeRoom(n int64, own string) error {
	files := b.files()
	var used, lasting int64
	for _, f := range files {
		used += f.size
		if f.in.Saved || f.path == own {
			lasting += f.size
		}
	}
	if used+n <= b.max {
		return nil
	}
	if lasting+n > b.max {
		return &FullError{n, lasting, b.max}
	}
	slices.SortFunc(files, func(f, g kept) int { return f.at.Compare(g.at) })
	before, removed := used, 0
	for _, f := range files {
		if used+n <= b.max {
			break
		}
		if f.in.Saved || f.path == own || !f.remove() {
			continue
		}
		used -= f.size
		removed++
	}
	b.log.Warn(fmt.Sprintf("removed the oldest of what is kept, to stay within disk.max_size: %d files, %d bytes",
		removed, before-used))
	if used+n > b.max {
		return &FullError{n, used, b.max}
	}
	return nil
}

// remove tells whether the file takes no room any more.
func (f kept) remove() bool {
	if f.in.Open {
		_ = os.Truncate(f.path, 0) // whoever has it open finds nothing more in it
	}
	err := os.Remove(f.path)
	if dir := filepath.Dir(f.path); dir != f.in.Path {
		_ = os.Remove(dir) // unless there is more in it
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// files are all regular ones below the folders. What cannot be looked at is not counted: it may just have gone.
func (b *Budget) files() (all []kept) {
	for _, in := range b.folders {
		_ = filepath.WalkDir(in.Path, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				all = append(all, kept{path, info.Size(), info.ModTime(), in})
			}
			return nil
		})
	}
	return all
}
