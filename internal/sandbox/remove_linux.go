package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// removeTree removes a folder of a guest that has ended, whatever the guest has made of it: folders that may not be
// read or changed, and folders within each other by more levels than this process may hold descriptors.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	before, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if now, err := root.Stat("."); err != nil || !os.SameFile(before, now) {
		return fmt.Errorf("%q was replaced while it was removed: %w", dir, fs.ErrInvalid) // no link is followed
	}
	moved := 0
	for {
		entries, err := someEntries(root, ".")
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return os.Remove(dir)
		}
		for _, e := range entries {
			if err := removeEntry(root, e, &moved); err != nil {
				return err
			}
		}
	}
}

// removeEntry removes what is directly below root; of a folder, it moves there what is in it.
func removeEntry(root *os.Root, e fs.DirEntry, moved *int) error {
	if !e.IsDir() {
		return root.Remove(e.Name())
	}
	if err := root.Chmod(e.Name(), 0o700); err != nil {
		return err
	}
	for {
		inside, err := someEntries(root, e.Name())
		if err != nil {
			return err
		}
		if len(inside) == 0 {
			return root.Remove(e.Name())
		}
		for _, f := range inside {
			name := filepath.Join(e.Name(), f.Name())
			if !f.IsDir() {
				err = root.Remove(name)
			} else if err = root.Chmod(name, 0o700); err == nil { // to be moved it must be writable: ".." is in it
				err = moveUp(root, name, moved)
			}
			if err != nil {
				return err
			}
		}
	}
}

// moveUp moves a folder to root, under a name that nothing has there.
func moveUp(root *os.Root, name string, moved *int) error {
	for {
		*moved++
		err := root.Rename(name, "."+strconv.Itoa(*moved))
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTDIR) { // of a folder, of a file
			return err
		}
	}
}

// someEntries lists a part of what is in a folder.
func someEntries(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(1000)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
