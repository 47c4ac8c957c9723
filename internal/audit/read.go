package audit

import (
	"bufio"
	"bytes"
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
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // nothing of ours is as long
			line = nil
			_, err = lines.ReadSlice('\n')
			if !errors.Is(err, bufio.ErrBufferFull) {
				skipped++
			}
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		var record Record
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &record) != nil || record.Event == "":
			skipped++
		default:
			each(record, line)
		}
		if errors.Is(err, io.EOF) {
			return skipped, nil
		} else if err != nil {
			return skipped, err
		}
	}
}
