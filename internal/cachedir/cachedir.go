// Package cachedir says which folders of the cache can be trusted: what is in them is executed, and so is what they
// restrict others by.
//
// It owns who may write there. It never looks at what they hold. Nothing needs closing.
package cachedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"codemode/internal/hint"
)

// An Error is a directory of the cache that others could have filled, so that nothing of it was used.
type Error struct {
	Err    error
	remedy []string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do about it.
func (e *Error) Hint() []string { return e.remedy }

// Trust refuses directories of the cache that others could have filled: what is in them is run, on
// the host too. Those that others can read, it closes. One that does not exist yet is fine.
func Trust(dirs ...string) error {
	for _, dir := range dirs {
		fi, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("checking cache directory %q: %w", dir, err)
		}
		if err = onlyOurs(dir, fi); err != nil {
			return &Error{err, toOwn(dir, fi)}
		}
		if fi.Mode().Perm()&^mode() != 0 {
			_ = os.Chmod(dir, mode()) // root's, or on a file system that is read-only, it stays as it is
		}
	}
	return nil
}

// toOwn is what makes a cache the user's alone. Others may have put something there before its mode is mended.
func toOwn(dir string, fi fs.FileInfo) []string {
	other := "Set XDG_CACHE_HOME to a directory of your own."
	if uid, ok := Owner(fi); ok && uid != os.Geteuid() || !fi.IsDir() {
		return []string{other}
	}
	return []string{
		fmt.Sprintf("If nobody else was there: chmod go-w %s", hint.Word(dir)),
		fmt.Sprintf("If somebody may have been: rm -r %s", hint.Word(dir)), other,
	}
}

// Make makes the last of dirs, each of which lies in the one before. Whatever the umask, nobody else
// can write there; somebody may have been faster, though.
func Make(dirs ...string) error {
	if err := os.MkdirAll(dirs[len(dirs)-1], mode()); err != nil {
		return err
	}
	return Trust(dirs...)
}

// mode keeps other users out of the cache: nothing in it is for them. Root's guests are other users.
func mode() fs.FileMode {
	if os.Geteuid() == 0 {
		return 0o755
	}
	return 0o700
}

// onlyOurs is an error if dir is not a directory that this user alone, or root, can write to.
func onlyOurs(dir string, fi fs.FileInfo) error {
	if !fi.IsDir() {
		return fmt.Errorf("cache directory %q: %w", dir, syscall.ENOTDIR)
	}
	if uid, ok := Owner(fi); ok && uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("cache directory %q belongs to another user (uid %d)", dir, uid)
	}
	if fi.Mode().Perm()&othersWrite != 0 {
		return fmt.Errorf("cache directory %q can be written by others (mode %#o)", dir, fi.Mode().Perm())
	}
	return nil
}
