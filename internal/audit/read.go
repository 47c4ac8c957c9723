package audit

import (
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
	lines := &splitter{each: each}
	err = lines.read(r)
	lines.line() // the last may be without an end
	return lines.skipped, err
}

// splitter makes records of what it reads. It keeps a line whose end has not come yet.
type splitter struct {
	each    func(Record, []byte)
	skipped int
	rest    []byte
	long    bool // rest was more than a line of ours has, and let go
	buf     []byte
}

// read reads to the end of what there is now.
func (s *splitter) read(r io.Reader) error {
	if s.buf == nil {
		s.buf = make([]byte, 64<<10)
	}
	for {
		n, err := r.Read(s.buf)
		s.add(s.buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *splitter) add(data []byte) {
	for {
		line, more, ended := bytes.Cut(data, []byte("\n"))
		if s.rest = append(s.rest, line...); len(s.rest) > maxLine {
			s.rest, s.long = s.rest[:0], true
		}
		if !ended {
			return
		}
		s.line()
		data = more
	}
}

// line is called at the end of a line.
func (s *splitter) line() {
	var record Record
	switch {
	case s.long:
		s.skipped++
	case len(s.rest) == 0:
	case json.Unmarshal(s.rest, &record) != nil || record.Event == "":
		s.skipped++
	default:
		s.each(record, s.rest)
	}
	s.rest, s.long = s.rest[:0], false
}
