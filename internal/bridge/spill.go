package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"codemode/internal/quota"

	"github.com/gofrs/flock"
)

// outputs are the files of this process's large outputs, in a folder of its own that it holds the lock of. The lock of
// one that was killed is free: the next process removes that folder.
type outputs struct {
	base   string // empty is the system's temporary directory
	max    int64  // of what is kept there where there is no base
	budget *quota.Budget

	mu     sync.Mutex
	dir    string // empty until there is a large output
	lock   *flock.Flock
	closed bool
}

const lockName = ".lock"

// folder makes this process's folder.
func (o *outputs) folder() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return "", errClosed
	}
	if o.dir != "" {
		return o.dir, nil
	}
	if o.base == "" {
		dir, err := os.MkdirTemp("", "codemode-outputs-")
		if err != nil {
			return "", fmt.Errorf("making output folder: %w", err)
		}
		o.dir = dir
		o.budget = quota.New(
			filepath.Join(dir, lockName), o.max, slog.New(slog.DiscardHandler), quota.Folder{Path: dir, Open: true},
		)
		return o.dir, nil
	}
	// Nobody removes the folder between its making and its locking: who does has the budget's lock, too.
	err := o.add(0, "", o.claim)
	return o.dir, err
}

// sweep removes folders of processes that were killed: their locks are free.
func (o *outputs) sweep() error {
	entries, _ := os.ReadDir(o.base)
	for _, e := range entries {
		dir := filepath.Join(o.base, e.Name())
		lock := flock.New(filepath.Join(dir, lockName))
		if got, err := lock.TryLock(); err == nil && got || !e.IsDir() {
			lock.Close()
			_ = os.RemoveAll(dir)
		}
	}
	return nil
}

// claim makes and locks this process's folder.
func (o *outputs) claim() error {
	if err := os.MkdirAll(o.base, 0o700); err != nil {
		return fmt.Errorf("making output folder: %w", err)
	}
	_ = o.sweep() // it never fails
	dir, err := os.MkdirTemp(o.base, "")
	if err != nil {
		return fmt.Errorf("making output folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if got, err := lock.TryLock(); err != nil || !got {
		return errors.Join(fmt.Errorf("locking the output folder: %w", err), os.RemoveAll(dir))
	}
	o.dir, o.lock = dir, lock
	return nil
}

// budgetTimeout is how long an output waits for other processes that are adding to what is kept.
const budgetTimeout = 5 * time.Second

func (o *outputs) add(n int64, own string, write func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), budgetTimeout)
	defer cancel()
	return o.budget.Add(ctx, n, own, write)
}

// create makes the file of one output.
func (o *outputs) create() (*spill, error) {
	dir, err := o.folder()
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, fmt.Errorf("keeping a large output: %w", err)
	}
	return &spill{outputs: o, file: f, path: f.Name()}, nil
}

// close removes the folder with all that is in it, and those of processes that were killed.
func (o *outputs) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if others, _ := os.ReadDir(o.base); o.base != "" && len(others) > 0 {
		defer func() { _ = o.add(0, "", o.sweep) }() // what is held up here is swept by the next
	}
	if o.dir == "" {
		return nil
	}
	err := os.RemoveAll(o.dir)
	if o.lock != nil {
		err = errors.Join(err, o.lock.Close())
		_ = os.RemoveAll(o.dir) // Windows keeps an open file
	}
	return err
}

// A spill is the file of an output that is too large for its result. Its room is taken from the budget before it is
// written: the file is as long as what it may come to hold, until it is finished.
type spill struct {
	outputs  *outputs
	file     *os.File // nil once it is finished
	path     string
	size     int64
	reserved int64
	run      int
	stream   string
}

// errMadeRoom is an output that was removed, as the oldest, when others needed its room.
var errMadeRoom = errors.New("this output was removed to make room for newer ones: disk.max_size bounds what is kept")

// What is reserved at a time is as much again as there is, within these bounds.
const (
	leastReserved = 64 << 10
	mostReserved  = 4 << 20
)

func (s *spill) write(p []byte) (int, error) {
	if need := s.size + int64(len(p)) - s.reserved; need > 0 {
		err := s.reserve(max(need, min(max(s.size, leastReserved), mostReserved)))
		if errors.As(err, new(*quota.FullError)) {
			err = s.reserve(need)
		}
		if err != nil {
			return 0, err
		}
	}
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

func (s *spill) reserve(n int64) error {
	return s.outputs.add(n, s.path, func() error {
		if _, err := os.Lstat(s.path); err != nil {
			return errMadeRoom
		}
		s.reserved += n
		return s.file.Truncate(s.reserved)
	})
}

// finish gives back what was reserved and not written.
func (s *spill) finish() {
	if s.file != nil {
		_ = s.file.Truncate(min(s.size, s.reserved))
		_ = s.file.Close()
		s.file = nil
	}
}

func (s *spill) close() {
	if s != nil {
		s.finish()
		_ = os.Remove(s.path)
	}
}

// lines counts line ends in [from, to).
func (s *spill) lines(from, to int64) int64 {
	var n int64
	buf := make([]byte, 64<<10)
	for from < min(to, s.size) {
		k, err := s.file.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		from += int64(k)
		if err != nil {
			break
		}
	}
	return n
}

// page reads up to size bytes from offset on, cut between characters.
func (s *spill) page(offset int64, size int) ([]byte, error) {
	if offset > s.size {
		return nil, nil
	}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMadeRoom
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, min(int64(size), s.size-offset))
	n, err := f.ReadAt(buf, offset)
	if n < len(buf) && errors.Is(err, io.EOF) {
		return nil, errMadeRoom
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if offset+int64(n) < s.size {
		return cutRune(buf[:n]), nil
	}
	return buf[:n], nil
}

// cutRune drops an incomplete character at the end of p.
func cutRune(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}
