package clientcfg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf16"
	"unicode/utf8"
)

// Sizes that no file people configure servers in has. ~/.claude.json holds history, too, most of which is passed
// over; of anything else, and of a stranger's file above all, parsers keep many times its size in memory.
const (
	maxJSON  = 64 << 20
	maxOther = 1 << 20
)

var errNotRegular = errors.New("it is not a regular file")

// open opens a file to read. Opening a pipe that nobody writes to must not wait; only a file that the user
// named for this very start may be one.
func open(root *os.Root, name string, named bool) (*os.File, error) {
	if named {
		return os.Open(name)
	}
	if root != nil {
		return root.OpenFile(name, os.O_RDONLY|noWait, 0)
	}
	return os.OpenFile(name, os.O_RDONLY|noWait, 0)
}

// load reads a file of bounded size. root, where there is one, is a project's folder, which name is in
// and no symbolic link may lead out of.
func load(root *os.Root, name string, named bool) ([]byte, error) {
	f, err := open(root, name, named)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := int64(maxOther)
	if root == nil && isJSON(name) {
		limit = maxJSON
	}
	tooLarge := fmt.Errorf("it is larger than %d MiB", limit>>20)
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !named && !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > limit:
		return nil, tooLarge
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = tooLarge // it grew, or is no file
	}
	return b.Bytes(), err
}

func isJSON(name string) bool {
	switch filepath.Ext(name) {
	case ".toml", ".yaml", ".yml":
		return false
	}
	return true
}

// decodeText makes UTF-8 of a file's bytes. It says whether they begin with a byte order mark, and whether they
// are UTF-16.
func decodeText(data []byte) (text []byte, marked, wide bool, err error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data, marked = data[3:], true
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		data, wide = fromUTF16(data[2:], binary.LittleEndian), true
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		data, wide = fromUTF16(data[2:], binary.BigEndian), true
	}
	if !utf8.Valid(data) {
		return nil, false, false, errors.New("it is not in UTF-8")
	}
	return data, marked, wide, nil
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
