package install

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// hooks let tests stand where only another program or a full disk could.
type hooks struct {
	planned func()                       // between the plan and the write
	write   func(*os.File, []byte) error // instead of writing
}

// sum is how contents are compared and recorded.
func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause drops the path from a file error, which whoever tells it names.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// tempMark is in the name of every file that is on its way to another name.
const tempMark = ".codemode-"

// temp writes a file beside the one it will become, whole and on the disk.
func (i *Installer) temp(path string, data []byte, mode fs.FileMode, like fs.FileInfo) (name string, err error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+tempMark+rand.Text()[:8]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", cause(err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if i.hooks.write != nil {
		err = i.hooks.write(f, data)
	} else {
		_, err = f.Write(data)
	}
	if err == nil {
		err = keepOwner(f, like)
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return f.Name(), cause(errors.Join(err, f.Close()))
}

// sweep removes what a codemode that was killed has left beside a file. The caller holds the lock.
func sweep(path string) {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+globQuote(filepath.Base(path))+tempMark+"*"))
	for _, name := range names {
		os.Remove(name)
	}
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(s)
}

// replace writes a file whose content is still the one that was read, and fails with errChanged else. Where the system
// can exchange two names at once, what another program has written up to that moment is seen and put back.
func (i *Installer) replace(f file, data []byte, scope fs.FileMode) error {
	mode := scope
	if !f.missing() {
		mode = f.info.Mode().Perm()
	} else if err := makeDirs(f.above, scope); err != nil {
		return err
	}
	tmp, err := i.temp(f.path, data, mode, f.info)
	if err != nil {
		return err
	}
	defer os.Remove(tmp) // fails once it has its name
	if i.hooks.planned != nil {
		i.hooks.planned()
	}
	if f.missing() {
		err = create(tmp, f.path)
	} else if err = unchanged(f); err == nil {
		err = exchange(tmp, f)
	}
	if err == nil {
		err = syncDir(filepath.Dir(f.path))
	}
	return cause(err)
}

// create gives a new file its name, unless there is one by now.
func create(tmp, path string) error {
	err := os.Link(tmp, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return errChanged
	case err != nil: // a file system without links
		if exists(path) {
			return errChanged
		}
		return rename(tmp, path)
	}
	return nil
}

// unchanged compares a file with what was read of it.
func unchanged(f file) error {
	data, err := os.ReadFile(f.path)
	if err != nil || !bytes.Equal(data, f.data) {
		return errChanged
	}
	return nil
}

// exchange puts a new file in the place of the one that was read.
func exchange(tmp string, f file) error {
	if err := swap(tmp, f.path); err != nil {
		return rename(tmp, f.path)
	}
	// What was there is in tmp now, and is what was read, unless somebody was quicker.
	for {
		was, err := os.ReadFile(tmp)
		if err != nil || bytes.Equal(was, f.data) {
			return nil
		}
		ours, err := os.ReadFile(f.path)
		if err != nil {
			return errChanged
		}
		if err := swap(tmp, f.path); err != nil {
			return err
		}
		if now, err := os.ReadFile(tmp); err == nil && bytes.Equal(now, ours) {
			return errChanged
		}
		f.data = ours // it was written again between the two, on top of ours: that is the newest, put it back
	}
}

// remove removes a file whose content is still the one that was read.
func remove(f file) error {
	tmp := filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+tempMark+rand.Text()[:8])
	if err := os.Rename(f.path, tmp); err != nil {
		return cause(err)
	}
	data, err := os.ReadFile(tmp)
	if err == nil && bytes.Equal(data, f.data) {
		return cause(os.Remove(tmp))
	}
	if err := create(tmp, f.path); err != nil && !errors.Is(err, errChanged) {
		return cause(err)
	}
	os.Remove(tmp)
	return errChanged
}

// makeDirs makes the folders above a new file: for the user alone, but in a project as the umask has it.
func makeDirs(above []string, scope fs.FileMode) error {
	mode := fs.FileMode(0o700)
	if scope != private {
		mode = 0o755
	}
	for _, dir := range above {
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return cause(err)
		}
	}
	return nil
}

// Modes of new files.
const (
	private fs.FileMode = 0o600
	shared  fs.FileMode = 0o644
)

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
