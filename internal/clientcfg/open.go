package clientcfg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"unicode/utf16"
	"unicode/utf8"

	"codemode/internal/plainfile"
)

// Sizes that no file people configure servers in has. ~/.claude.json holds history, too, most of which is passed
// over; of anything else, and of a stranger's file above all, parsers keep many times its size in memory.
const (
	maxJSON  = 64 << 20
	maxOther = 1 << 20
	// The parser of TOML takes four times as long for twice as many keys.
	maxForeignTOML = 64 << 10
)

// load reads a file of bounded size. root, where there is one, is a project's folder, which name is in and no symbolic
// link may lead out of. Only a file that the user named for this very start may be a pipe.
func load(root *os.Root, name string, named bool) ([]byte, error) {
	limit := int64(maxOther)
	switch {
	case root == nil && isJSON(name):
		limit = maxJSON
	case root != nil && filepath.Ext(name) == ".toml":
		limit = maxForeignTOML
	}
	switch {
	case named:
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return plainfile.Bounded(f, 0, limit)
	case root != nil:
		return plainfile.ReadIn(root, name, limit)
	}
	return plainfile.Read(name, limit)
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
