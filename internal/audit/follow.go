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
	info  os.FileInfo
}

// catchUp reads to the end of the newest file.
func (f *follower) catchUp() error {
	for {
		names, err := files(f.dir)
		if err != nil {
			return err
		}
		if f.file != nil {
			if err := f.lines.read(f.file); err != nil {
				return err
			}
		}
		// The list is from before that was read: nobody writes to a file that had a successor then.
		next := f.after(names)
		if next == "" {
			return nil
		}
		if err := f.open(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // put away meanwhile: look again
			return err
		}
	}
}

// after is the first of the files that was begun after the one at hand; the first of all where that is gone.
func (f *follower) after(names []string) string {
	at := slices.IndexFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(f.dir, name))
		return f.file != nil && err == nil && os.SameFile(f.info, info)
	})
	if at+1 >= len(names) {
		return ""
	}
	return names[at+1]
}

func (f *follower) open(name string) error {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	f.lines.line() // half a line that nobody will end
	f.close()
	f.file, f.info = file, info
	return nil
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
}
