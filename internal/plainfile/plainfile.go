// Package plainfile reads a regular file of bounded size, and waits for no other: what stands in a file's place may be
// a FIFO that nobody writes to, a device without an end, or a link that leads elsewhere. It opens folders to write in
// through no link, too, which whoever has asked for them closes, and tells where a path leads.
//
// It keeps nothing else open and nothing in mind. Errors are without the path, which the message around them names.
package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"codemode/internal/fileerr"
)

// ErrLeadsOut is a file that is not in the folder in which it was to be.
var ErrLeadsOut = errors.New("it leads out of the project, where it is not followed")

// without waiting for the writer of a pipe
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// Read reads a file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, flags, 0)
	return read(f, err, limit)
}

// maxShebang is what the kernel reads of a script to find its interpreter: BINPRM_BUF_SIZE, execve(2).
const maxShebang = 256

// Shebang is what the first line of a script says that executes it: a path and arguments. Of what is no script, or
// cannot be read, it is nothing.
func Shebang(name string) []string {
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	head := make([]byte, maxShebang)
	n, _ := io.ReadFull(f, head) // a shorter one is all there is
	first, _, _ := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(first, "#!")
	if !script {
		return nil
	}
	return strings.Fields(line)
}

// ReadIn is Read of a file in a folder that no link may lead out of.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.OpenFile(name, flags, 0)
	if err != nil && strings.Contains(err.Error(), "escapes from parent") {
		err = ErrLeadsOut // they are os.Root's words, which has no error for it
	}
	return read(f, err, limit)
}

// ReadWithin is ReadIn of a folder by its path. The file may be named from the root, too.
func ReadWithin(folder, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fileerr.Cause(err)
	}
	defer root.Close()
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(folder, name); err != nil {
			return nil, err
		}
	}
	return ReadIn(root, name, limit)
}

func read(f *os.File, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, fileerr.Cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fileerr.Cause(err)
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, tooLarge(limit)
	}
	return Bounded(f, info.Size(), limit)
}

// Bounded reads to the end of what has about so many bytes, whether it is a file or not.
func Bounded(from io.Reader, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, limit)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit) // it grew, or is no file
	}
	return b.Bytes(), fileerr.Cause(err)
}

func tooLarge(limit int64) error {
	switch {
	case limit >= 1<<20 && limit%(1<<20) == 0:
		return fmt.Errorf("it is larger than %d MiB", limit>>20)
	case limit >= 1<<10 && limit%(1<<10) == 0:
		return fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return fmt.Errorf("it is larger than %d bytes", limit)
}
