//go:build amd64 || arm64

package python

import (
	"archive/zip"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	_ "unsafe" // for linkname

	_ "github.com/kluctl/go-embed-python/python" // has the distribution linked
	"golang.org/x/sys/unix"
)

// embeddedRelease is the release of the CPython in the binary: version of Python, date of
// python-build-standalone, build of go-embed-python. It ends the version that go.mod names.
const embeddedRelease = "3.14.6-20260610-1"

// release is the distribution as go-embed-python has it: files, some of them compressed, and a list of them. What that
// module exports writes all of it, three times what is needed, in one thread that cannot be stopped. Were this
// variable called otherwise in a later release, linking would fail.
//
//go:linkname release github.com/kluctl/go-embed-python/python/internal/data.Data
var release fs.FS

// compiled is the bytecode of the distribution's modules, which is the same on all processors. It is made by
// `go test ./internal/sandbox/python -run TestCompiled -fix`; without -fix, that test compares it with what the
// interpreter itself compiles.
//
//go:embed compiled.zip
var compiled string

// embeddedFiles lists what guests need of the embedded distribution, with its bytecode.
func embeddedFiles() ([]file, error) {
	list, err := fs.ReadFile(release, "files.json")
	if err != nil {
		return nil, err
	}
	var all struct {
		Files []struct {
			Name, Symlink string
			Size          int64
			Mode          fs.FileMode `json:"perm"`
			Compressed    bool
		}
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, err
	}
	var files []file
	for _, f := range all.Files {
		if f.Mode.IsDir() || isUnneeded(f.Name) {
			continue
		}
		open := func() (io.ReadCloser, error) { return release.Open(f.Name) }
		if f.Compressed {
			open = func() (io.ReadCloser, error) { return openCompressed(f.Name + ".gz") }
		}
		files = append(files, file{f.Name, f.Size, f.Mode&0o100 != 0, f.Symlink, open})
	}
	bytecode, err := zip.NewReader(strings.NewReader(compiled), int64(len(compiled)))
	if err != nil {
		return nil, err
	}
	for _, f := range bytecode.File {
		files = append(files, file{name: f.Name, size: int64(f.UncompressedSize64), open: f.Open})
	}
	return files, nil
}

// openCompressed opens a file of the release that gzip has compressed.
func openCompressed(name string) (io.ReadCloser, error) {
	f, err := release.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// isUnneeded tells whether a pattern names the file, or a folder it is in.
func isUnneeded(name string) bool {
	for _, pattern := range unneeded {
		depth := strings.Count(pattern, "/") + 1
		parts := strings.SplitN(name, "/", depth+1)
		if len(parts) < depth {
			continue
		}
		if ok, _ := path.Match(pattern, strings.Join(parts[:depth], "/")); ok { // the patterns are well-formed
			return true
		}
	}
	return false
}

// syncTree makes everything below dir durable. One call for the file system costs less than one for
// each of a thousand files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
