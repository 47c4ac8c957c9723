package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// pollEvery is how often Follow looks for lines: no system tells of another process's writes the same way.
const pollEvery = 200 * time.Millisecond

// Follow is Read that goes on: it calls each with records as they are written, through every rotation, until ctx ends,
// which is no error. Whenever it has come to the end of what there is, it calls caught up with the number of lines that
// were skipped so far; an error of that ends it.
func Follow(ctx context.Context, dir string, each func(Record, []byte), caughtUp func(skipped int) error) error {
	f := &follower{dir: dir, lines: splitter{each: each}}
	defer f.close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if err := f.catchUp(); err != nil {
			return err
		}
		if err := caughtUp(f.lines.skipped); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// follower is where a reader of a log that is written has come to.
type follower struct {
	dir   string
	lines splitter
	file  *os.File // nil before there is one
}

// catchUp reads to the end of the newest file.
func (f *follower) catchUp() error {
	for {
		next, err := f.next()
		if err != nil {
			return err
		}
		if f.file != nil { // after its successor was found: nobody writes to a file that has one
			if err := f.lines.read(f.file); err != nil {
				return errors.Join(err, closeFile(next))
			}
		}
		if next == nil {
			return nil
		}
		f.lines.line() // half a line that nobody will end
		f.close()
		f.file = next
	}
}

// next opens the first of the files that were begun after the one at hand: nil where there is none.
func (f *follower) next() (*os.File, error) {
	for {
		name, err := f.successor()
		if err != nil || name == "" {
			return nil, err
		}
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // put away, or removed, meanwhile
			continue
		} else if err != nil {
			return nil, err
		}
		// A list may be without what is renamed while it is made, and a name may be another file's by now: the file is
		// the one only if a list from after its opening says so, too.
		name, err = f.successor()
		if err == nil && isFile(file, name) {
			return file, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// successor is the path of the first file that was begun after the one at hand, as far as one list of them says, or "".
func (f *follower) successor() (string, error) {
	at, names := -1, []string(nil)
	for range 2 { // a file is renamed once: what two lists in a row do not have is gone, and all others are newer
		var err error
		if names, err = files(f.dir); err != nil {
			return "", err
		}
		at = slices.IndexFunc(names, func(name string) bool {
			return isFile(f.file, filepath.Join(f.dir, name))
		})
		if at >= 0 || f.file == nil {
			break
		}
	}
	if at+1 >= len(names) {
		return "", nil
	}
	return filepath.Join(f.dir, names[at+1]), nil
}

// isFile says whether a path names the open file.
func isFile(file *os.File, name string) bool {
	if file == nil {
		return false
	}
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(name)
	return err == nil && os.SameFile(open, named)
}

func (f *follower) close() { closeFile(f.file) }

func closeFile(file *os.File) error {
	if file == nil {
		return nil
	}
	return file.Close()
}
