package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/catalog"
)

var monday = time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)

func raw(tools ...string) (list []json.RawMessage) {
	for _, t := range tools {
		list = append(list, json.RawMessage(t))
	}
	return list
}

func TestSaveAndLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "tools")
	s, key := New(dir, nil), Key([]byte("npx server"), "default")
	if _, ok := s.Load(key); ok {
		t.Error("there is an entry before the first was saved")
	}
	if err := s.Prune(monday); err != nil {
		t.Errorf("pruning what is not there: %v", err)
	}
	if err := s.Save(key, raw("{\n  \"name\": \"a\\n\",\n  \"n\": 1.0}", `{"name":"b"}`), monday, 0); err != nil {
		t.Fatal(err)
	}
	e, ok := New(dir, nil).Load(key)
	if !ok || len(e.Tools) != 2 || string(e.Tools[0]) != `{"name":"a\n","n":1.0}` ||
		string(e.Tools[1]) != `{"name":"b"}` {
		t.Errorf("loaded %s, %v", e.Tools, ok)
	}
	if age := e.Age(monday.Add(time.Hour)); age != time.Hour {
		t.Errorf("age %v, want an hour", age)
	}
	if age := e.Age(monday.Add(-time.Hour)); age < 100*365*24*time.Hour {
		t.Errorf("age %v of what was said in the future", age)
	}
	if err := s.Save(key, nil, monday.Add(time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if e, ok := s.Load(key); !ok || len(e.Tools) != 0 || !e.Saved.Equal(monday.Add(time.Hour)) {
		t.Errorf("after an empty list: %v, %v", e, ok)
	}
	if err := errors.Join(s.Forget(key), s.Forget(key)); err != nil {
		t.Error(err)
	}
	if _, ok := s.Load(key); ok {
		t.Error("forgotten, and still there")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "tools")
	if err := New(dir, nil).Save(Key(nil, ""), raw(`{}`), monday, 0); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	s, key := New(t.TempDir(), nil), Key(nil, "")
	for title, err := range map[string]error{
		"no JSON":           s.Save(key, raw(`{"name":`), monday, 0),
		"no key":            s.Save("../../elsewhere", raw(`{}`), monday, 0),
		"a key in capitals": s.Save(strings.ToUpper(Key(nil, "A")), raw(`{}`), monday, 0),
		"too large":         s.Save(key, raw(`"`+strings.Repeat("x", maxEntry)+`"`), monday, 0),
		"forget no key":     s.Forget("x"),
	} {
		if err == nil {
			t.Errorf("%s: no error", title)
		}
	}
	if _, ok := s.Load("../x"); ok {
		t.Error("loaded what is no key")
	}
	if left, _ := os.ReadDir(s.dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDamage(t *testing.T) {
	s, key := New(t.TempDir(), nil), Key(nil, "")
	path := filepath.Join(s.dir, key+toolsSuffix)
	if err := s.Save(key, raw(`{"name":"whole"}`), monday, 0); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for title, damaged := range map[string][]byte{
		"empty":           {},
		"cut short":       whole[:len(whole)-3],
		"the first line":  whole[:bytes.IndexByte(whole, '\n')],
		"a letter other":  bytes.Replace(whole, []byte("whole"), []byte("whale"), 1),
		"zeros":           make([]byte, len(whole)),
		"another version": bytes.Replace(whole, []byte(`"codemode":1`), []byte(`"codemode":2`), 1),
		"longer":          append(bytes.Clone(whole), '\n'),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if e, ok := s.Load(key); ok {
			t.Errorf("%s: loaded %s", title, e.Tools)
		}
		if err := s.Save(key, raw(`{"name":"new"}`), monday, 0); err != nil {
			t.Fatal(err)
		}
		if e, ok := s.Load(key); !ok || string(e.Tools[0]) != `{"name":"new"}` {
			t.Errorf("%s: not replaced", title)
		}
	}
}

func TestLearn(t *testing.T) {
	s, key := New(t.TempDir(), nil), Key(nil, "")
	learn := func(tool, value string) {
		shape, _ := catalog.Seen(nil, []byte(value))
		if err := s.Learn(key, map[string]*catalog.Shape{tool: shape, "none": nil}, monday); err != nil {
			t.Fatal(err)
		}
	}
	learn("a", `{"token":"sk-secret"}`)
	if err := s.Save(key, raw(`{"name":"a"}`), monday, 0); err != nil {
		t.Fatal(err)
	}
	learn("a", `null`)
	learn("b", `[7]`)
	e, _ := s.Load(key)
	if got, _ := json.Marshal(e.Shapes); string(
		got,
	) != `{"a":{"type":["null","object"],"properties":{"token":{"type":["string"]}},"required":["token"]},`+
		`"b":{"type":["array"],"items":{"type":["integer"]}}}` {
		t.Errorf("learned %s", got)
	}
	written, err := os.ReadFile(filepath.Join(s.dir, key+shapesSuffix))
	if err != nil || strings.Contains(string(written), "secret") {
		t.Errorf("written: %s, %v", written, err)
	}
}

func TestKey(t *testing.T) {
	d := []byte("npx server")
	keys := map[string]string{}
	for title, key := range map[string]string{
		"plain": Key(d, "work"), "other": Key([]byte("npx other"), "work"), "secret": Key(d, "work", "s"), "two": Key(d, "work", "s", "t"),
		"joined": Key(d, "work", "st"), "of another tenant": Key(d, "home", "s"), "other secret": Key(d, "work", "z"),
	} {
		if other, again := keys[key]; again {
			t.Errorf("%s and %s have one key", title, other)
		}
		keys[key] = title
		if !isEntry(key + toolsSuffix) {
			t.Errorf("%s: %q is no key", title, key)
		}
	}
	if Key(d, "work") != Key(d, "home") {
		t.Error("two tenants do not share what holds nothing secret")
	}
}

// TestHalfWritten has a list be saved beside what a killed process left, and what another is still writing.
func TestHalfWritten(t *testing.T) {
	s, key := New(t.TempDir(), nil), Key([]byte("x"), "")
	for name, at := range map[string]time.Time{
		tempPrefix + "young": monday, tempPrefix + "dead": monday.Add(-2 * maxTemp),
	} {
		path := filepath.Join(s.dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save(key, raw("1"), monday, 0); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, tempPrefix+"*"))
	if len(left) != 1 || filepath.Base(left[0]) != tempPrefix+"young" {
		t.Errorf("there are %v", left)
	}
}

func TestPrune(t *testing.T) {
	s := New(t.TempDir(), nil)
	var keys []string
	for i := range 4 {
		key := Key(fmt.Append(nil, i), "")
		keys = append(keys, key)
		if err := s.Save(key, raw(`"`+strings.Repeat("x", 1000)+`"`), monday, 0); err != nil {
			t.Fatal(err)
		}
		at := monday.Add(-time.Duration(i) * time.Hour)
		if i == 3 {
			at = monday.Add(-2 * maxAge)
		}
		if err := os.Chtimes(filepath.Join(s.dir, key+toolsSuffix), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]time.Time{
		tempPrefix + "1": monday, tempPrefix + "2": monday.Add(-2 * maxTemp), "README": monday.Add(-2 * maxAge),
	} {
		path := filepath.Join(s.dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.prune(monday, 2500); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := len(left); got != 4 { // the two newest, what is being written, and what is none of ours
		t.Errorf("left: %q", left)
	}
	for i, want := range []bool{true, true, false, false} {
		if _, ok := s.Load(keys[i]); ok != want {
			t.Errorf("entry %d is there: %v, want %v", i, ok, want)
		}
	}
}

// TestSideBySide has writers, readers and pruners work at once, each with a store of its own as processes have.
func TestSideBySide(t *testing.T) {
	dir, key := t.TempDir(), Key(nil, "")
	shape, _ := catalog.Seen(nil, []byte(`{"a":1}`))
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			s := New(dir, nil)
			for range 20 {
				tool := fmt.Sprintf(`{"name":"t%d","description":"%s"}`, i, strings.Repeat("x", i*1000))
				if err := s.Save(key, raw(tool, tool), monday, 0); err != nil && runtime.GOOS != "windows" {
					t.Error(err) // Windows does not replace a file that is being read
				}
				if e, ok := s.Load(key); ok && (len(e.Tools) != 2 || !bytes.Equal(e.Tools[0], e.Tools[1])) {
					t.Error("loaded something half written")
				} else if !ok && runtime.GOOS != "windows" {
					t.Error("not there, though it was saved before")
				}
				if err := errors.Join(
					s.Learn(key, map[string]*catalog.Shape{"t": shape}, monday), s.Prune(monday),
				); err != nil &&
					runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func BenchmarkLoad(b *testing.B) {
	s := New(b.TempDir(), nil)
	var keys []string
	for i := range 70 { // 527 tools of about 1 kB each, as real servers have
		var tools []json.RawMessage
		for j := range 8 {
			tools = append(
				tools,
				raw(fmt.Sprintf(`{"name":"tool_%d","description":"%s"}`, j, strings.Repeat("word ", 200)))...)
		}
		keys = append(keys, Key(fmt.Append(nil, i), ""))
		if err := s.Save(keys[i], tools, monday, 0); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for _, key := range keys {
			if _, ok := s.Load(key); !ok {
				b.Fatal("not there")
			}
		}
	}
}
