package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// unneeded is what no guest needs of the embedded distribution, as patterns of paths in it: installers,
// headers, the library for programs that embed Python (the interpreter itself is linked statically),
// Tk, and Python's own tests.
var unneeded = []string{
	"bin/idle*", "bin/pip*", "bin/pydoc*", "bin/python*-config", "bin/2to3*",
	"include", "share",
	"lib/libpython*", "lib/libtcl*", "lib/libtk*", "lib/tcl*", "lib/tk*", "lib/itcl*", "lib/thread*", "lib/pkgconfig",
	"lib/python*/config-*", "lib/python*/ensurepip", "lib/python*/idlelib", "lib/python*/lib2to3",
	"lib/python*/site-packages", "lib/python*/test", "lib/python*/tkinter", "lib/python*/turtle.py",
	"lib/python*/turtledemo", "lib/python*/venv",
	"lib/python*/lib-dynload/_*test*", "lib/python*/lib-dynload/_tkinter*", "lib/python*/lib-dynload/xx*",
}

const (
	unpackedSize = 151e6           // bytes of the whole distribution; only for showing progress
	showEvery    = time.Second / 5 // how often progress is shown
	unpackShare  = 60              // percent of the time that unpacking takes; compiling takes the rest
)

// fill makes a whole distribution in dir, which does not exist yet: unpacked, pruned, byte-compiled,
// durable and, last, marked.
func (d distribution) fill(ctx context.Context, dir string) error {
	err := d.unpack(ctx, dir)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	if err := prune(dir); err != nil {
		return err
	}
	err = compileTree(ctx, embeddedExe(dir), dir, embeddedDir, func(done, total int) {
		d.progress(unpackShare+(100-unpackShare)*done/total, 100, "compiling python")
	})
	if err != nil {
		return err
	}
	if err := openModes(dir); err != nil {
		return err
	}
	sum, err := listing(dir)
	if err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil { // writing to disk may take as long as all the rest
		return cause
	}
	if err := syncTree(dir); err != nil {
		return fmt.Errorf("writing %q to disk: %w", dir, err)
	}
	return os.WriteFile(filepath.Join(dir, markerName), []byte(sum), 0o644)
}

// unpack extracts the distribution to dir, and shows how far it is by the bytes that have arrived. What extracts knows
// no context: when that ends, the directory is taken from under it, and the next file it opens is its last.
func (d distribution) unpack(ctx context.Context, dir string) error {
	barred := make(chan struct{})
	finished := context.AfterFunc(ctx, func() {
		defer close(barred)
		bar(dir)
	})
	defer func() {
		if !finished() {
			<-barred
		}
	}()
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.progress(int(min(1, float64(treeSize(dir))/unpackedSize)*unpackShare), 100, "unpacking python")
			case <-stop:
				return
			}
		}
	})
	defer watch.Wait()
	defer close(stop)
	d.progress(0, 100, "unpacking python")
	return d.extract(dir)
}

// bar puts a file in a directory's place, in which nothing can be made then.
func bar(dir string) {
	for range barTries {
		_ = os.Rename(dir, dir+".stopped") // beside it, where all is temporary; fails where it is not there yet
		if f, err := os.OpenFile(dir, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			f.Close()
			return
		}
		_ = os.RemoveAll(dir + ".stopped")
	}
}

// barTries is more often than what extracts makes a directory anew between two calls of ours.
const barTries = 100

// prune removes what is unneeded below dir, and makes the copies of the interpreter into links again.
func prune(dir string) error {
	for _, pattern := range unneeded {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	exe := embeddedExe(dir)
	for _, name := range []string{"python", "python3"} {
		link := filepath.Join(filepath.Dir(exe), name)
		if err := os.Remove(link); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Base(exe), link); err != nil {
			return err
		}
	}
	return nil
}

// openModes lets every user read the tree, whatever the umask: a guest may have another user id.
func openModes(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type() == fs.ModeSymlink {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if e.IsDir() || info.Mode()&0o100 != 0 {
			mode = openMode
		}
		return os.Chmod(path, mode)
	})
}

// openMode is the mode of folders and programs that every guest may use.
const openMode fs.FileMode = 0o755

// listing is a digest of the names, modes and contents of everything below dir but the marker. Contents are summed
// for what disks and cleaners do to files; nobody else can write here, see trustCache.
func listing(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir || e.Name() == markerName {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		if e.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		sum, name := crc32.ChecksumIEEE(content), strings.TrimPrefix(path, dir)
		fmt.Fprintf(h, "%v %d %08x %q\n", info.Mode(), len(content), sum, name)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// treeSize is the size of what is below dir by now.
func treeSize(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // it is being written to: what is missing now counts next time
	})
	return size
}
