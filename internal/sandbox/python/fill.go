package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
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

const showEvery = time.Second / 5 // how often progress is shown

// A file is one of a distribution.
type file struct {
	name       string // its path in the distribution, with slashes
	size       int64
	executable bool
	link       string // what it leads to, beside it; empty unless it is a symbolic link
	open       func() (io.ReadCloser, error)
}

// fill makes a whole distribution in dir, which does not exist yet: written, durable and, last, marked.
func (d distribution) fill(ctx context.Context, dir string) error {
	files, err := d.files()
	if err != nil {
		return err
	}
	lines, err := makeFolders(dir, files)
	if err != nil {
		return err
	}
	written, err := d.write(ctx, dir, files)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	if err := syncTree(dir); err != nil {
		return fmt.Errorf("writing %q to disk: %w", dir, err)
	}
	return os.WriteFile(filepath.Join(dir, markerName), []byte(digest(append(lines, written...))), 0o644)
}

// makeFolders makes dir and the folders that files are in, and returns their lines of the digest.
func makeFolders(dir string, files []file) (lines []string, err error) {
	folders := []string{"."}
	for _, f := range files {
		for parent := filepath.Dir(f.name); parent != "."; parent = filepath.Dir(parent) {
			folders = append(folders, parent)
		}
	}
	slices.Sort(folders) // parents come first
	for _, name := range slices.Compact(folders) {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, openMode); err != nil {
			return nil, err
		}
		if err := os.Chmod(path, openMode); err != nil { // whatever the umask
			return nil, err
		}
		if name != "." {
			lines = append(lines, line(name, fs.ModeDir|openMode, 0, 0))
		}
	}
	return lines, nil
}

// write writes the files below dir, the largest first and several at once, shows how far that is, and returns their
// lines of the digest.
func (d distribution) write(ctx context.Context, dir string, files []file) ([]string, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return int(b.size - a.size) })
	var total int64
	for _, f := range files {
		total += f.size
	}
	p := &counter{ctx: ctx}
	defer d.show(p, total)()
	lines := make([]string, len(files))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), 4))
	for i, f := range files {
		g.Go(func() (err error) {
			if gctx.Err() == nil {
				lines[i], err = f.write(dir, p)
			}
			return err
		})
	}
	return lines, g.Wait()
}

// show tells at intervals how many of total bytes are written, until the function it returns is called.
func (d distribution) show(p *counter, total int64) (stop func()) {
	const what = "unpacking python"
	d.progress(0, 100, what)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.progress(int(p.written.Load()*100/max(1, total)), 100, what)
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		watch.Wait()
	}
}

// A counter counts what is written to it, until its context ends.
type counter struct {
	ctx     context.Context
	written atomic.Int64
}

func (p *counter) Write(b []byte) (int, error) {
	p.written.Add(int64(len(b)))
	return len(b), context.Cause(p.ctx)
}

// write writes the file below dir and returns its line of the digest.
func (f file) write(dir string, p *counter) (string, error) {
	path := filepath.Join(dir, f.name)
	if f.link != "" {
		return line(f.name, fs.ModeSymlink|fs.ModePerm, 0, 0), os.Symlink(f.link, path)
	}
	mode := fs.FileMode(0o644)
	if f.executable {
		mode = openMode
	}
	r, err := f.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer w.Close()
	sum := crc32.NewIEEE()
	n, err := io.Copy(io.MultiWriter(w, sum, p), r)
	switch {
	case err != nil:
		return "", err
	case n != f.size:
		return "", fmt.Errorf("%q has %d bytes in this binary, and should have %d", f.name, n, f.size)
	}
	if err := w.Chmod(mode); err != nil { // whatever the umask: a guest may have another user id
		return "", err
	}
	return line(f.name, mode, n, sum.Sum32()), w.Close()
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

// line is what a digest has of one file or folder. Contents are summed for what disks and cleaners do to files; nobody
// else can write here, see package cachedir.
func line(name string, mode fs.FileMode, size int64, sum uint32) string {
	return fmt.Sprintf("%v %d %08x %q\n", mode, size, sum, filepath.ToSlash(name))
}

// digest is one of lines, in whatever order they come.
func digest(lines []string) string {
	slices.Sort(lines)
	h := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(h[:])
}

// listing is the digest of everything below dir but the marker.
func listing(dir string) (string, error) {
	var lines []string
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
		name := strings.TrimPrefix(path, dir+string(filepath.Separator))
		lines = append(lines, line(name, info.Mode(), int64(len(content)), crc32.ChecksumIEEE(content)))
		return nil
	})
	return digest(lines), err
}
