package packages

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
)

// collected is a wheel that was made of what is installed in a site.
type collected struct {
	name, address, sum string
}

// requirement is how pip is told to take that wheel and no other.
func (c collected) requirement() string { return c.name + " @ " + c.address + "#sha256=" + c.sum }

// collect makes wheels of what was asked for from sites, and of what that needs there. With keep, what is not in change
// stays what it is.
func (s *Store) collect(ctx context.Context, w Wish, keep *Lock, change []string) (
	list []collected, notes []string, err error,
) {
	for _, from := range w.From {
		var names []string
		for _, name := range from.Names {
			if keep == nil || slices.ContainsFunc(change, func(c string) bool { return Normal(c) == name }) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		made, told, err := s.collectFrom(ctx, from.Dir, names)
		if err != nil {
			return nil, nil, err
		}
		list, notes = append(list, made...), append(notes, told...)
	}
	return list, notes, nil
}

func (s *Store) collectFrom(ctx context.Context, dir string, names []string) (
	list []collected, notes []string, err error,
) {
	x, err := openSite(dir)
	if err != nil {
		return nil, nil, hint.New(fmt.Sprintf("--from %q: %v; nothing was added", dir, err),
			"a folder in which packages are installed is meant; it was given now, or when packages were added before")
	}
	defer x.root.Close()
	needed, err := x.needed(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	abi, err := s.Source.ABI(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(s.installed(), 0o755); err != nil {
		return nil, nil, fmt.Errorf("making a folder for packages: %w", err)
	}
	for _, d := range needed {
		files, left, err := x.files(d)
		if left > 0 {
			lacks := fmt.Sprintf("%s %s without links and files that are not there, %d", d.name, d.version, left)
			notes = append(notes, lacks)
		}
		var tag string
		if err == nil {
			tag, err = d.tag(files)
		}
		if err == nil && !fits(tag, abi) {
			return nil, nil, s.foreign(d.name+" "+d.version+" in "+hint.Word(dir), tag, abi,
				"an index may have it for this Python: without --from; or have it for another Python: --python PATH")
		}
		var c collected
		if err == nil {
			s.progress("taking " + d.name + " " + d.version)
			c, err = s.makeWheel(ctx, x, d, files, tag)
		}
		if err != nil {
			return nil, nil, fmt.Errorf(
				"%s %s in %q cannot be taken: %w; nothing was added", d.name, d.version, dir, err,
			)
		}
		list = append(list, c)
	}
	return list, notes, nil
}

// siteFile is a file of a distribution, as it is in a site.
type siteFile struct {
	path string
	size int64
}

// files are those of a distribution that a layer would have, and how many were left out: links, and what is not there,
// as long as nothing imports them.
func (x *site) files(d *distribution) (list []siteFile, left int, err error) {
	names := d.record
	if names == nil {
		if names, err = x.below(d); err != nil {
			return nil, 0, err
		}
	}
	total := int64(0)
	code := false
	for _, name := range names {
		info, err := x.root.Lstat(name)
		mode := fs.FileMode(0)
		if err == nil {
			mode = info.Mode()
		}
		switch {
		case mode.IsDir() || path.Base(path.Dir(name)) == "__pycache__" || strings.HasSuffix(name, ".pyc"):
			continue
		case err != nil && !fileerr.IsMissing(err):
			return nil, 0, fmt.Errorf("%q: %w", name, fileerr.Cause(err))
		case err != nil && importable(name):
			return nil, 0, fmt.Errorf("%q is in its RECORD, and not there", name)
		case mode&fs.ModeSymlink != 0 && importable(name):
			return nil, 0, fmt.Errorf("%q is a link", name)
		case err != nil || mode&fs.ModeSymlink != 0:
			left++
			continue
		case !mode.IsRegular():
			return nil, 0, fmt.Errorf("%q is no regular file (mode %v)", name, mode)
		case mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
			return nil, 0, fmt.Errorf("%q would run as another user (mode %v)", name, mode)
		}
		code = code || importable(name)
		list = append(list, siteFile{name, info.Size()})
		if total += info.Size(); total > maxUnpacked || len(list) > maxEntries {
			return nil, 0, fmt.Errorf("it has more than %d files or %d GiB", maxEntries, maxUnpacked>>30)
		}
	}
	if !code {
		return nil, 0, errors.New("nothing that could be imported is there, as of one that is installed editable")
	}
	slices.SortFunc(list, func(a, b siteFile) int { return strings.Compare(a.path, b.path) })
	return list, left, nil
}

// below are all files of the modules that a distribution without a RECORD says are its.
func (x *site) below(d *distribution) (names []string, err error) {
	if len(d.tops) == 0 {
		return nil, errors.New("nothing says which files are its: it has neither RECORD nor top_level.txt")
	}
	for _, top := range d.tops {
		if owners := x.owners[top]; len(owners) > 1 {
			return nil, fmt.Errorf("it has no RECORD, and nothing says which files of %q are its: it is of %s",
				top, strings.Join(slices.Sorted(slices.Values(owners)), ", "))
		}
		for _, name := range x.names {
			if rest, ok := strings.CutPrefix(name, top+"."); ok && importable("."+rest) {
				names = append(names, name)
			}
		}
		if info, err := x.root.Lstat(top); err != nil || !info.IsDir() {
			continue // a module, or none of this system's
		}
		err := fs.WalkDir(x.root.FS(), top, func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fmt.Errorf("%q: %w", name, fileerr.Cause(err))
			case len(names) > maxEntries:
				return fmt.Errorf("it has more than %d files", maxEntries)
			case e.IsDir() && e.Name() == "__pycache__":
				return fs.SkipDir
			case !e.IsDir():
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// extensionText is how extensions say what they are for: PEP 3149, and the stable ABI.
var extensionText = lazyregexp.New(`\.(?:cpython-(\d+)([a-z]*)-(\w+)-linux-gnu\w*|(abi3))\.so$`)

// tag is the tag that a wheel of these files has, by the names of those that are compiled.
func (d *distribution) tag(files []siteFile) (string, error) {
	var pythons, binaries, machine []string
	stable, plain, unsaid := false, false, ""
	for _, f := range files {
		base := path.Base(f.path)
		m := extensionText().FindStringSubmatch(base)
		switch {
		case m != nil && m[4] != "":
			stable = true
		case m != nil:
			pythons, binaries = append(pythons, "cp"+m[1]), append(binaries, "cp"+m[1]+m[2])
			machine = append(machine, m[3])
		case strings.HasSuffix(base, ".so") && !strings.HasPrefix(base, "lib"):
			unsaid = f.path
		case strings.HasSuffix(base, ".so") || strings.Contains(base, ".so."):
			plain = true
		}
	}
	machine = append(machine, machines[runtime.GOARCH])
	set := func(list []string) string {
		slices.Sort(list)
		return strings.Join(slices.Compact(list), ".")
	}
	on := "linux_" + machine[0]
	switch {
	case len(pythons) > 0:
		return set(pythons) + "-" + set(binaries) + "-" + on, nil
	case stable:
		for _, tag := range d.tags { // which says how old a Python may be
			if least, rest, _ := strings.Cut(tag, "-"); strings.HasPrefix(rest, "abi3") {
				return least + "-abi3-" + on, nil
			}
		}
		return "cp32-abi3-" + on, nil
	case unsaid != "":
		for _, tag := range d.tags {
			if parts := strings.Split(tag, "-"); len(parts) == 3 && parts[2] != "any" {
				return parts[0] + "-" + parts[1] + "-" + on, nil
			}
		}
		return "", fmt.Errorf("%q does not say which Python's it is", unsaid)
	case plain:
		return "py3-none-" + on, nil
	}
	return "py3-none-any", nil
}

// makeWheel packs a distribution, byte for byte the same each time.
func (s *Store) makeWheel(
	ctx context.Context, x *site, d *distribution, files []siteFile, tag string,
) (c collected, err error) {
	f, err := os.CreateTemp(s.installed(), tempName)
	if err != nil {
		return c, fileerr.Cause(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum := sha256.New()
	about := strings.ReplaceAll(d.name, "-", "_") + "-" + d.version
	p := &packer{zip: zip.NewWriter(io.MultiWriter(f, sum)), about: about}
	for _, file := range files {
		if err := context.Cause(ctx); err != nil {
			return c, err
		}
		if err := p.copy(x.root, file); err != nil {
			return c, fmt.Errorf("%q: %w", file.path, fileerr.Cause(err))
		}
	}
	for _, name := range []string{"entry_points.txt", "top_level.txt"} {
		if text, err := x.text(d.about + "/" + name); err == nil {
			p.text(name, text)
		}
	}
	p.text("METADATA", d.metadata())
	p.text("WHEEL", "Wheel-Version: 1.0\nGenerator: codemode\nRoot-Is-Purelib: true\nTag: "+tag+"\n")
	p.text("RECORD", p.record.String()+p.about+".dist-info/RECORD,,\n")
	if err := errors.Join(p.err, p.zip.Close(), f.Sync()); err != nil {
		return c, fileerr.Cause(err)
	}
	if _, err := openArchive(f, Package{Name: d.name, Version: d.version}); err != nil {
		return c, err
	}
	c = collected{name: d.name, sum: hex.EncodeToString(sum.Sum(nil))}
	file := filepath.Join(s.installed(), c.sum, p.about+"-"+tag+".whl")
	c.address = (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return c, fileerr.Cause(err)
	}
	return c, fileerr.Cause(os.Rename(f.Name(), file))
}

// metadata is what is said of it, with what it needs.
func (d *distribution) metadata() string {
	text := d.head
	for _, need := range d.needs {
		text += "Requires-Dist: " + need + "\n"
	}
	return text + "\n" + d.body
}

// packer writes a wheel: nothing in it is compressed, so that no version of a compressor makes another of it.
type packer struct {
	zip    *zip.Writer
	about  string // its .dist-info without that ending
	record strings.Builder
	err    error
}

func (p *packer) copy(root *os.Root, file siteFile) error {
	f, err := root.OpenFile(file.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != file.size {
		return errors.Join(err, errors.New("it has changed meanwhile"))
	}
	return p.add(file.path, io.LimitReader(f, file.size))
}

func (p *packer) text(name, text string) {
	p.err = errors.Join(p.err, p.add(p.about+".dist-info/"+name, strings.NewReader(text)))
}

func (p *packer) add(name string, content io.Reader) error {
	h := &zip.FileHeader{Name: name, Method: zip.Store}
	h.SetMode(0o644)
	to, err := p.zip.CreateHeader(h)
	if err != nil {
		return err
	}
	var sum hash.Hash = sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), content)
	fmt.Fprintf(&p.record, "%s,sha256=%s,%d\n", quoteCSV(name), base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), n)
	return err
}

// quoteCSV is a name as a field of RECORD.
func quoteCSV(name string) string {
	if !strings.ContainsAny(name, ",\"\r\n") {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
