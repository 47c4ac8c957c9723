package commands

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"codemode/internal/artifact"
	"codemode/internal/bridge"
	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
)

// outFolder saves what a program leaves in sandbox.OutDir to a folder of the user's. Names are the program's: none
// leads out of the folder, nor is hidden, and nothing that is there is written over. No link in the folder is followed,
// for one that came with a clone leads by a harmless name to a hidden one, .git.
type outFolder struct {
	dir   string
	root  *os.Root
	max   int64 // bytes of all files
	ui    *ui
	count int
	bytes int64
	left  int  // what was not saved
	lost  bool // some of it was to be

	folders map[string]bool // that files were saved in
	taken   map[string]int  // how often a name was wanted, and so how many of its kind are there
}

const (
	// maxSaved bounds the files of one program.
	maxSaved = 10_000
	// maxNamed is how many of them are named.
	maxNamed = 20
)

// saveOut has req save what its program leaves in sandbox.OutDir to the folder that the user has named. Where they have
// named none, nothing is saved, and what is returned does nothing.
func (t *tenancy) saveOut(ui *ui, pictures *images, req *bridge.Request) (*outFolder, error) {
	if !pictures.named {
		return &outFolder{}, nil
	}
	saved, err := openOut(pictures.dir, t.config.Disk.MaxSize, ui)
	if err != nil {
		return nil, err
	}
	req.OutFiles, t.inputs.out = saved.save, true
	return saved, nil
}

// openOut opens a folder that is there.
func openOut(dir string, limit int64, ui *ui) (*outFolder, error) {
	root, err := plainfile.OpenFolder(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("using the folder --out %q: %w", dir, err)
	}
	return &outFolder{
		dir: dir, root: root, max: limit, ui: ui, folders: map[string]bool{}, taken: map[string]int{},
	}, nil
}

var errManySaved = fmt.Errorf("a program may leave %d files, and as many folders", maxSaved)

// save saves one file. An error is one after which no other can be saved.
func (o *outFolder) save(f sandbox.OutFile) error {
	if o.count >= maxSaved {
		o.lost = true
		return errManySaved
	}
	name, err := "", f.Err
	if err == nil && f.Size > o.max-o.bytes {
		err = fmt.Errorf("those of one program may have %d bytes (disk.max_size)", o.max)
	}
	if err == nil {
		name, err = o.write(f)
	}
	if err != nil {
		o.lost = o.lost || !errors.Is(f.Err, sandbox.ErrNotRegular)
		if o.left++; o.left <= maxNamed {
			o.ui.warn(fmt.Sprintf("%s was not saved: %v", quote(path.Join(sandbox.OutDir, f.Name)), fileerr.Cause(err)))
		}
		return nil
	}
	o.bytes += f.Size
	if o.count++; o.count <= maxNamed {
		o.ui.note("file", filepath.Join(o.dir, filepath.FromSlash(name)))
	}
	return nil
}

// write writes a file by the first name that is free, and returns that.
func (o *outFolder) write(f sandbox.OutFile) (string, error) {
	name := artifact.SafeName(f.Name)
	dir, err := o.makeFolder(path.Dir(name))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	for {
		o.taken[name]++
		free := numbered(name, o.taken[name])
		to, err := dir.OpenFile(path.Base(free), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		copied, err := io.Copy(to, io.LimitReader(f.Content, f.Size))
		if err == nil && copied < f.Size {
			err = errors.New("it became shorter meanwhile")
		}
		if err = errors.Join(err, to.Close()); err != nil {
			_ = dir.Remove(path.Base(free)) // half a file is none
		}
		return free, err
	}
}

// makeFolder makes and opens a folder for files, with those above it. They count as files do: code may leave no others.
func (o *outFolder) makeFolder(name string) (*os.Root, error) {
	for at := name; at != "."; at = path.Dir(at) {
		if len(o.folders) == maxSaved && !o.folders[at] {
			return nil, errManySaved
		}
		o.folders[at] = true
	}
	dir, err := o.root.OpenRoot(".")
	at := o.dir
	for part := range strings.SplitSeq(name, "/") {
		if err != nil || part == "." {
			break
		}
		above := dir
		at = filepath.Join(at, part)
		dir, err = plainfile.OpenIn(above, part, 0o755)
		above.Close()
	}
	if errors.Is(err, plainfile.ErrLink) {
		err = fmt.Errorf("%q is a link, and below the folder that --out names no link is followed", at)
	}
	return dir, err
}

// close tells of what has not been named.
func (o *outFolder) close() {
	if o.root == nil {
		return
	}
	if n := o.count - maxNamed; n > 0 {
		o.ui.note("file", fmt.Sprintf("and %d more in %s", n, o.dir))
	}
	if n := o.left - maxNamed; n > 0 {
		o.ui.warn(fmt.Sprintf("%d more were not saved", n))
	}
	_ = o.root.Close()
}

// maxElement is how long a file's name can be.
const maxElement = 255

// numbered is the nth name to try for a file.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	dir, file := path.Split(name)
	ext := path.Ext(file)
	if len(ext) > 20 {
		ext = ""
	}
	end := fmt.Sprintf("-%d%s", n, ext)
	base := strings.TrimSuffix(file, ext)
	return dir + strings.ToValidUTF8(base[:min(len(base), maxElement-len(end))], "") + end
}
