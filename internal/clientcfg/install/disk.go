package install

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
)

// hooks let tests stand where only another program or a full disk could.
type hooks struct {
	planned  func()                       // between the plan and the write
	compared func()                       // between the last look at what is there and its exchange
	write    func(*os.File, []byte) error // instead of writing
	remove   func(*os.Root, string) error // instead of removing what was there
}

// sum is how contents are compared and recorded.
func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// tempMark is in the name of every file that is on its way to another name.
const tempMark = ".codemode-"

// temp writes a file beside the one it will become, whole and on the disk.
func (i *Installer) temp(
	dir *os.Root, base string, data []byte, mode fs.FileMode, like fs.FileInfo,
) (name string, err error) {
	name = "." + base + tempMark + rand.Text()[:8]
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fileerr.Cause(err)
	}
	defer func() {
		if err != nil {
			dir.Remove(name)
		}
	}()
	if i.hooks.write != nil {
		err = i.hooks.write(f, data)
	} else {
		_, err = f.Write(data)
	}
	if err == nil && like != nil {
		err = errors.Join(keepOwner(f, like), keepAttributes(f, dir, base))
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return name, fileerr.Cause(errors.Join(err, f.Close()))
}

// put writes a file of codemode's own in place of an older one. The caller holds the lock.
func (i *Installer) put(path string, data []byte) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fileerr.Cause(err)
	}
	defer dir.Close()
	sweep(dir, filepath.Base(path))
	tmp, err := i.temp(dir, filepath.Base(path), data, private, nil)
	if err != nil {
		return err
	}
	return fileerr.Cause(errors.Join(rename(dir, tmp, filepath.Base(path)), syncDir(dir)))
}

// sweep removes what a codemode that was killed has left beside a file. The caller holds the lock.
func sweep(dir *os.Root, base string) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+base+tempMark) {
			dir.Remove(e.Name())
		}
	}
}

// sweepBeside does so where nothing is written.
func sweepBeside(f file) {
	if dir, err := f.folder(0); err == nil {
		sweep(dir, filepath.Base(f.path))
		dir.Close()
	}
}

// replace writes a file whose content is still the one that was read, and fails with errChanged else. Where the system
// can exchange two names at once, what another program has written up to that moment is seen and put back.
func (i *Installer) replace(f file, data []byte, scope fs.FileMode) error {
	dir, err := f.folder(scope)
	if err != nil {
		return err
	}
	defer dir.Close()
	mode, base := scope, filepath.Base(f.path)
	if !f.missing() {
		mode = f.info.Mode().Perm()
	}
	sweep(dir, base)
	tmp, err := i.temp(dir, base, data, mode, f.info)
	if err != nil {
		return err
	}
	if i.hooks.planned != nil {
		i.hooks.planned()
	}
	if f.missing() {
		err = create(dir, tmp, base)
	} else if was, errRead := readRegular(dir, base); errRead != nil || !bytes.Equal(was, f.data) {
		err = errChanged
	} else {
		if i.hooks.compared != nil {
			i.hooks.compared()
		}
		err = i.exchange(dir, tmp, base, f.data)
		tmp = "" // exchange has seen to it
	}
	if tmp != "" {
		dir.Remove(tmp) // fails once it has its name
	}
	if err == nil {
		err = syncDir(dir)
	}
	return fileerr.Cause(err)
}

// create gives a new file its name, unless there is one by now.
func create(dir *os.Root, tmp, base string) error {
	err := dir.Link(tmp, base)
	switch {
	case errors.Is(err, fs.ErrExist):
		return errChanged
	case err != nil: // a file system without links
		if _, err := dir.Lstat(base); err == nil {
			return errChanged
		}
		return rename(dir, tmp, base)
	}
	return nil
}

// readRegular reads a regular file: a link is not followed, a pipe not waited for.
func readRegular(dir *os.Root, base string) ([]byte, error) {
	f, info, err := openRegular(dir, base)
	for n := 1; n < attempts && errors.Is(err, errChanged); n++ { // it was exchanged between the look and the opening
		f, info, err = openRegular(dir, base)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > splice.MaxSize {
		return nil, errTooLarge
	}
	return io.ReadAll(io.LimitReader(f, splice.MaxSize+1))
}

// openRegular opens the very file that was looked at.
func openRegular(dir *os.Root, base string) (*os.File, fs.FileInfo, error) {
	was, err := dir.Lstat(base)
	switch {
	case err != nil:
		return nil, nil, fileerr.Cause(err)
	case was.IsDir():
		return nil, nil, errors.New("it is a directory")
	case !was.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	}
	f, err := dir.OpenFile(base, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, fileerr.Cause(err)
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		f.Close()
		return nil, nil, errChanged
	}
	return f, was, nil
}

// exchange puts a new file in the place of the one that was read, and sees to it that nothing is lost of what was
// there. After errChanged, what others wrote is back; only a program that has read the new file in that moment, and
// goes on from it, may have kept what is new in it.
func (i *Installer) exchange(dir *os.Root, tmp, base string, read []byte) error {
	if err := swap(dir, tmp, base); err != nil {
		return rename(dir, tmp, base)
	}
	// What was there is in tmp now, and is what was read, unless another program wrote in between.
	for {
		was, err := readRegular(dir, tmp)
		if err == nil && bytes.Equal(was, read) {
			return i.discard(dir, tmp, func() error { return swap(dir, tmp, base) })
		}
		ours, errOurs := readRegular(dir, base)
		if errSwap := swap(dir, tmp, base); errSwap != nil {
			return aside(dir, tmp, base, errSwap)
		}
		now, errNow := readRegular(dir, tmp)
		switch {
		case errOurs != nil || errNow != nil:
			return aside(dir, tmp, base, cmp.Or(errOurs, errNow))
		case bytes.Equal(now, ours) && err != nil:
			return errors.Join(fmt.Errorf("what was there cannot be read back: %w", err), dir.Remove(tmp))
		case bytes.Equal(now, ours):
			return errors.Join(errChanged, dir.Remove(tmp))
		}
		read = ours // it was written again between the two, on top of ours: that is the newest, put it back
	}
}

// discard removes what was in a file, or has it put back.
func (i *Installer) discard(dir *os.Root, tmp string, back func() error) error {
	remove := (*os.Root).Remove
	if i.hooks.remove != nil {
		remove = i.hooks.remove
	}
	err := remove(dir, tmp)
	if err == nil || fileerr.IsMissing(err) {
		return nil
	}
	if errBack := back(); errBack != nil {
		return fmt.Errorf("%w; what was there is in %q beside it",
			errors.Join(fileerr.Cause(err), fileerr.Cause(errBack)), tmp)
	}
	return err
}

// aside keeps what another program may have written, under a name that no clean-up removes.
func aside(dir *os.Root, tmp, base string, why error) error {
	kept := strings.Replace(tmp, tempMark, ".kept-", 1)
	if err := dir.Rename(tmp, kept); err != nil {
		kept = tmp
	}
	return fmt.Errorf(
		"it was changed by others meanwhile (%w); what was there is kept beside %q as %q", why, base, kept,
	)
}

// remove removes a file whose content is still the one that was read.
func (i *Installer) remove(f file) error {
	dir, err := f.folder(0)
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(f.path)
	sweep(dir, base)
	tmp := "." + base + tempMark + rand.Text()[:8]
	if err := dir.Rename(base, tmp); err != nil {
		return fileerr.Cause(err)
	}
	data, err := readRegular(dir, tmp)
	if err == nil && bytes.Equal(data, f.data) {
		return fileerr.Cause(i.discard(dir, tmp, func() error { return create(dir, tmp, base) }))
	}
	switch err := create(dir, tmp, base); {
	case errors.Is(err, errChanged):
		return aside(dir, tmp, base, err)
	case err != nil:
		return fileerr.Cause(err)
	}
	dir.Remove(tmp)
	return errChanged
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
