// Package atomicfile replaces a file so that it is the old one or the new one, whenever the process or the machine
// stops. It makes no folder and takes no lock; what a killed process has left of a file on its way to its name, the
// next write beside it removes.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// abandoned is the age from which a file that is on its way to its name is one that a killed process has left.
const abandoned = time.Hour

// Write writes a file that its user alone can read, by way of one beside it whose name is made of temp, as for
// [os.CreateTemp].
func Write(path, temp string, data []byte) error {
	before, after, _ := strings.Cut(temp, "*")
	sweep(filepath.Dir(path), before, after, abandoned)
	return write(path, temp, data)
}

// WriteLocked is Write for a file that is written under a lock alone, which the caller holds: who else was writing it
// is dead.
func WriteLocked(path string, data []byte) error {
	before := "." + filepath.Base(path) + ".new-"
	sweep(filepath.Dir(path), before, "", 0)
	return write(path, before+"*", data)
}

// Create writes a file as Write does, by the same kind of temp, unless there is one of that name: then it returns
// [fs.ErrExist].
func Create(path, temp string, data []byte) error {
	name, err := writeTemp(path, temp, data)
	if err != nil {
		return err
	}
	defer os.Remove(name)
	if err = os.Link(name, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil { // on a file system without links
		return fs.ErrExist
	}
	return os.Rename(name, path)
}

// sweep removes what was left of the names that os.CreateTemp makes, of that age. What cannot be removed stays for the
// next time.
func sweep(dir, before, after string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), before)
		number, ending := strings.CutSuffix(number, after)
		if !ok || !ending || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) >= age {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func write(path, temp string, data []byte) error {
	name, err := writeTemp(path, temp, data)
	if err != nil {
		return err
	}
	if err = os.Rename(name, path); err != nil {
		_ = os.Remove(name)
	}
	return err
}

// writeTemp writes a file beside another, whole and on the disk.
func writeTemp(path, temp string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), temp) // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
