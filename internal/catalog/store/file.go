package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/atomicfile"
	"codemode/internal/plainfile"
)

// A file is a line about it and then its content.
type header struct {
	Format  int       `json:"codemode"` // formatVersion
	Saved   time.Time `json:"saved"`
	Size    int       `json:"size"` // of the content, and
	Checked uint32    `json:"crc"`  // its checksum: a disk may have lost what a rename kept

	Fresh time.Duration `json:"fresh,omitempty"`
}

// formatVersion changes with the meaning of what is written; a file of another one is not read.
const formatVersion = 1

// path returns where a key's file is. Only what Key returns is one: a name must not lead out of the directory.
func (s *Store) path(key, suffix string) (string, error) {
	if !isEntry(key + suffix) {
		return "", fmt.Errorf("%q is no key of a tool list", key)
	}
	return filepath.Join(s.dir, key+suffix), nil
}

func isEntry(name string) bool {
	key, ok := strings.CutSuffix(name, toolsSuffix)
	if !ok {
		key, ok = strings.CutSuffix(name, shapesSuffix)
	}
	return ok && len(key) == 64 && strings.Trim(key, "0123456789abcdef") == ""
}

// read returns the content of a file that is whole, and the line about it.
func (s *Store) read(key, suffix string) (content []byte, about header, ok bool) {
	path, err := s.path(key, suffix)
	if err != nil {
		return nil, about, false
	}
	all, err := plainfile.Read(path, maxEntry+1024)
	if err != nil {
		return nil, about, false
	}
	first, content, _ := bytes.Cut(all, []byte("\n"))
	if json.Unmarshal(first, &about) != nil || about.Format != formatVersion ||
		about.Size != len(content) || about.Checked != crc32.ChecksumIEEE(content) {
		return nil, about, false
	}
	return content, about, true
}

// write puts a file in place of an older one, all of it or nothing.
func (s *Store) write(key, suffix string, content []byte, now time.Time, fresh time.Duration) error {
	path, err := s.path(key, suffix)
	if err != nil {
		return err
	}
	if len(content) > maxEntry {
		return fmt.Errorf("%d bytes: %w", len(content), ErrTooLarge)
	}
	first, err := json.Marshal(header{formatVersion, now.UTC(), len(content), crc32.ChecksumIEEE(content), fresh})
	if err != nil {
		return err
	}
	first = append(first, '\n')
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.disk.Add(ctx, int64(len(first)+len(content)), "", func() error { return s.put(path, first, content, now) })
}

// patience is how long a list waits for other processes that are adding to what is kept.
const patience = 5 * time.Second

func (s *Store) put(path string, first, content []byte, now time.Time) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.sweep(now)
	return atomicfile.Write(path, tempPrefix+"*", append(first, content...))
}

// sweep removes what processes left that were killed while they wrote.
func (s *Store) sweep(now time.Time) {
	temps, _ := filepath.Glob(filepath.Join(s.dir, tempPrefix+"*"))
	for _, temp := range temps {
		if info, err := os.Lstat(temp); err == nil && now.Sub(info.ModTime()) > maxTemp {
			_ = os.Remove(temp)
		}
	}
}
