// Package atomicfile replaces a file so that it is the old one or the new one, whenever the process or the machine
// stops. It makes no folder and takes no lock; what a killed process has left of a file on its way to its name, the
// next write beside it removes.
package atomicfile

import (
	"errors"
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
	f, err := os.CreateTemp(filepath.Dir(path), temp) // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
