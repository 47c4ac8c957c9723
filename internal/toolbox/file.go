package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"codemode/internal/atomicfile"
	"codemode/internal/quota"
)

// file is a tool's file. The hash tells of a disk that has lost what a rename kept.
type file struct {
	Version int             `json:"codemode"` // fileVersion
	Hash    string          `json:"hash"`     // of the tool's bytes
	Tool    json.RawMessage `json:"tool"`
}

// fileVersion changes with the meaning of what is written; a file of another one is not read.
const fileVersion = 1

// maxFile bounds a file: JSON may take six bytes for one of the source, and all that is said of a tool is bounded.
const maxFile = 8 * MaxSource

// read returns the tool of a file that is whole.
func (b *Box) read(name string) (Tool, error) {
	fail := func(why any) (Tool, error) {
		return Tool{}, &DiskError{
			fmt.Sprintf("the saved tool %q cannot be read", name), fmt.Errorf("%q: %v", b.path(name), why),
		}
	}
	info, err := os.Lstat(b.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Tool{}, ErrNone
	case err != nil:
		return fail(err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return fail("it is no file of a tool")
	}
	data, err := readAll(b.path(name))
	if err != nil {
		return fail(err)
	}
	var f file
	var t Tool
	if err := json.Unmarshal(data, &f); err != nil {
		return fail(err)
	}
	switch sum := sha256.Sum256(f.Tool); {
	case f.Version != fileVersion:
		return fail(fmt.Sprintf("it is of version %d, and this codemode knows version %d", f.Version, fileVersion))
	case f.Hash != hex.EncodeToString(sum[:]):
		return fail("it is not as it was written")
	}
	if err := json.Unmarshal(f.Tool, &t); err != nil {
		return fail(err)
	}
	if t.Name != name || len(t.Source) > MaxSource {
		return fail("it is not that tool's")
	}
	return t, nil
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// write replaces the file of a tool atomically. When it returns nil, the new one is synced to the disk.
func (b *Box) write(ctx context.Context, t Tool) error {
	what := fmt.Sprintf("saving the tool %q", t.Name)
	tool, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	sum := sha256.Sum256(tool)
	data, err := json.Marshal(file{fileVersion, hex.EncodeToString(sum[:]), tool})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case len(data) >= maxFile:
		return fmt.Errorf("%s: what is said of it takes %d bytes; at most %d are kept", what, len(data), maxFile)
	}
	data = append(data, '\n')
	err = b.disk.Add(ctx, int64(len(data)), "", func() error { return b.put(t.Name, data) })
	switch {
	case errors.As(err, new(*quota.FullError)):
		return fmt.Errorf("%s: %w", what, err)
	case err != nil:
		return &DiskError{what, err}
	}
	return nil
}

func (b *Box) put(name string, data []byte) error {
	if err := atomicfile.Write(b.path(name), tempPrefix+"*", data); err != nil {
		return err
	}
	return syncDir(b.dir)
}

// syncDir syncs a directory, so that a rename or a removal in it survives a crash. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
