// Package store keeps what servers said of their tools on disk, so that nothing needs starting to search them.
//
// It owns one directory of the cache, with a file or two for each server; any number of processes may use it at once,
// because every file is written aside and renamed into place. It never keeps what a server is started with, nor any
// value of a result: a file's name is a hash, its contents are tool definitions and shapes. Nothing needs closing.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/quota"
)

// Store is a directory of tool lists.
type Store struct {
	dir  string
	disk *quota.Budget
}

// New returns the store in a directory, which is made when there is something to keep. What is kept takes its room from
// a budget; nil is none.
func New(dir string, disk *quota.Budget) *Store { return &Store{dir, disk} }

// Entry is what is kept of one server.
type Entry struct {
	Saved  time.Time                 // when the server said it
	Fresh  time.Duration             // for how long it said that it is good; 0 is not said
	Tools  []json.RawMessage         // the entries of its tools/list, compacted
	Shapes map[string]*catalog.Shape // what the tools' results have looked like, by their real names
}

// Age is how long ago the server said it. Of what was said in the future nobody knows that: it is as old as can be.
func (e Entry) Age(now time.Time) time.Duration {
	if age := now.Sub(e.Saved); age >= 0 {
		return age
	}
	return math.MaxInt64
}

// Key names the entry of a server by everything it is defined by. Where there is anything secret in that, no other
// tenant has the same entry: what a server lists may depend on who asks. Secrets are hashed in and cannot be had back.
func Key(definition []byte, tenant string, secrets ...string) string {
	parts := [][]byte{definition}
	if len(secrets) > 0 {
		parts = append(parts, []byte(tenant))
		for _, s := range secrets {
			parts = append(parts, []byte(s))
		}
	}
	h := sha256.New()
	h.Write([]byte("codemode tool list 1\n"))
	for _, p := range parts { // with their lengths, so that no two lists of parts read alike
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The two files of an entry. Shapes have one of their own so that learning from a result never writes an old tool
// list over a newer one.
const (
	toolsSuffix  = ".tools"
	shapesSuffix = ".shapes"
	tempPrefix   = ".new-"
)

// ErrTooLarge is why a list of tools is not kept.
var ErrTooLarge = errors.New("larger than the cache keeps")

// Load returns an entry. A damaged one, or one of another version, is not there; the next Save replaces it.
func (s *Store) Load(key string) (Entry, bool) {
	content, about, ok := s.read(key, toolsSuffix)
	if !ok {
		return Entry{}, false
	}
	e := Entry{Saved: about.Saved, Fresh: about.Fresh}
	if shapes, _, ok := s.read(key, shapesSuffix); ok {
		e.Shapes = parseShapes(shapes)
	}
	for line := range bytes.Lines(content) {
		e.Tools = append(e.Tools, json.RawMessage(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return e, true
}

// Save keeps the tools a server has just listed. Shapes stay as they are: see Learn.
func (s *Store) Save(key string, tools []json.RawMessage, now time.Time, fresh time.Duration) error {
	var content bytes.Buffer
	for i, tool := range tools {
		if err := json.Compact(&content, tool); err != nil {
			return fmt.Errorf("tool %d of the list is no JSON: %w; the list was not kept", i+1, err)
		}
		content.WriteByte('\n')
	}
	return s.write(key, toolsSuffix, content.Bytes(), now, fresh)
}

// Learn adds what results of a server's tools have looked like to what is kept of it. Of two processes that learn at
// the same moment one may be forgotten; it will see the like again.
func (s *Store) Learn(key string, shapes map[string]*catalog.Shape, now time.Time) error {
	before, _, _ := s.read(key, shapesSuffix)
	all := parseShapes(before)
	if all == nil {
		all = map[string]*catalog.Shape{}
	}
	for tool, shape := range shapes {
		if shape != nil {
			all[tool] = catalog.Either(all[tool], shape)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(all))[min(len(all), maxShapes):] {
		delete(all, tool)
	}
	content, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("shapes of results: %w", err)
	}
	if bytes.Equal(content, before) {
		return nil
	}
	return s.write(key, shapesSuffix, content, now, 0)
}

// maxShapes bounds the tools of a server whose results are learned.
const maxShapes = 1000

func parseShapes(content []byte) (shapes map[string]*catalog.Shape) {
	if json.Unmarshal(content, &shapes) != nil {
		return nil
	}
	maps.DeleteFunc(shapes, func(_ string, shape *catalog.Shape) bool { return shape == nil })
	return shapes
}

// Forget removes an entry.
func (s *Store) Forget(key string) error {
	var errs []error
	for _, suffix := range []string{toolsSuffix, shapesSuffix} {
		path, err := s.path(key, suffix)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// What the whole store may grow to, and how old it may get.
const (
	maxEntry = 8 << 20
	maxStore = 64 << 20
	maxAge   = 90 * 24 * time.Hour
	maxTemp  = time.Hour // a file still being written is younger
)

// Prune removes what is older than maxAge, what other processes left half written, and of the rest the oldest until the
// store is no larger than maxStore. A file that is gone meanwhile was pruned by another process.
func (s *Store) Prune(now time.Time) error {
	return s.prune(now, maxStore)
}

// Damaged lists the files that cannot be read, which the next Save would replace.
func (s *Store) Damaged() (names []string) {
	entries, _ := os.ReadDir(s.dir) // what is not there is not damaged
	for _, e := range entries {
		key := strings.TrimSuffix(strings.TrimSuffix(e.Name(), toolsSuffix), shapesSuffix)
		if !isEntry(e.Name()) {
			continue
		}
		if _, _, ok := s.read(key, strings.TrimPrefix(e.Name(), key)); !ok {
			names = append(names, filepath.Join(s.dir, e.Name()))
		}
	}
	return names
}

func (s *Store) prune(now time.Time, most int64) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	var errs []error
	remove := func(name string) {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, e := range entries {
		temp := strings.HasPrefix(e.Name(), tempPrefix)
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !temp && !isEntry(e.Name()) {
			continue // gone, or none of ours
		}
		switch age := now.Sub(info.ModTime()); {
		case temp && age > maxTemp, !temp && age > maxAge:
			remove(e.Name())
		case !temp:
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var total int64
	for _, info := range kept {
		if total += info.Size(); total > most {
			remove(info.Name())
		}
	}
	return errors.Join(errs...)
}
