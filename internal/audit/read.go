package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLine bounds a line that is read; what is longer was not written by a Log.
const maxLine = 4 << 20

// Read calls each with every record of a log, the oldest first, and the line it is from. Lines that are none, such as
// half of one that a full disk has cut, are skipped and counted.
func Read(dir string, each func(Record, []byte)) (skipped int, err error) {
	names, err := files(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, err := readFile(filepath.Join(dir, name), each)
		skipped += n
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // rotated away meanwhile
			return skipped, err
		}
	}
	return skipped, nil
}

func readFile(name string, each func(Record, []byte)) (skipped int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return scan(f, each)
}

func scan(r io.Reader, each func(Record, []byte)) (skipped int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		var record Record
		switch {
		case len(lines.Bytes()) == 0:
		case json.Unmarshal(lines.Bytes(), &record) != nil || record.Event == "":
			skipped++
		default:
			each(record, lines.Bytes())
		}
	}
	return skipped, lines.Err()
}
