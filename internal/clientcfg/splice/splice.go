// Package splice edits other programs' configuration files as text: of JSON, TOML and YAML it changes the
// bytes of one entry and leaves every other byte, comments and layout included, as its owner wrote it.
// It never opens a file, never re-serialises one, and returns no result that it has not read again and
// compared with what was asked; what it cannot edit so, it refuses with the place and the reason.
// There is nothing to close: a Document is a value over the bytes it was given, which stay the caller's.
package splice

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"
)

// A Format is how a file is written.
type Format string

const (
	JSON      Format = "json"       // the program rejects comments and trailing commas
	JSONC     Format = "jsonc"      // both are allowed
	TOML      Format = "toml"       // one table an entry: [mcp_servers.NAME]
	TOMLArray Format = "toml-array" // one item an entry: [[mcp_servers]] with name = "NAME"
	YAML      Format = "yaml"       // a block mapping of entries
	YAMLList  Format = "yaml-list"  // a block sequence of entries with name: NAME, which are removed and put back alone
)

// MaxSize is how large a file may be.
const MaxSize = 64 << 20

const byteOrderMark = "\xef\xbb\xbf"

// A Member is a key of an entry and its value: a string, a bool, an int, a []string, or a []Member for a table.
type Member struct {
	Key   string
	Value any
}

// A RefusedError says why a document is not edited. Line and Column count from 1 and are 0 where there is no
// one place. Reason has no value of the file in it.
type RefusedError struct {
	Line, Column int
	Reason       string
}

func (e *RefusedError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// A Document is a file as it was read.
type Document struct {
	// Notes say what an edit changes besides the entry.
	Notes []string

	src    []byte
	format Format
	mark   string // the byte order mark to write
	tree   tree
}

// tree is a document of one family of formats. Its editors return what to change, and nothing where nothing is.
type tree interface {
	entries(path []string) ([]string, error)
	once(path []string) error
	get(path []string) (any, bool)
	raw(path []string) ([]byte, bool)
	set(path []string, entry []Member) ([]edit, error)
	setRaw(path []string, raw []byte) ([]edit, error)
	texts() []Text
	drop(path, keys []string) ([]edit, error)
	remove(path, names []string, prune bool) ([]edit, error)

	// commentCount is how many comments there are, or lines of them.
	commentCount() int

	// differs says how another document is different outside of the entries at path.
	differs(other tree, path, names []string) string
}

// rest is what a document has outside of the entries at path.
type rest interface {
	commentsBeside(path, names []string) int
	without(path, names []string) any
}

// differsBeside is tree.differs of documents whose values can be compared.
func differsBeside(before, after rest, path, names []string) string {
	switch {
	case before.commentsBeside(path, names) > after.commentsBeside(path, names):
		return "a comment outside of the entry is lost"
	case !reflect.DeepEqual(before.without(path, names), after.without(path, names)):
		return "a value beside the entry has changed"
	}
	return ""
}

// Parse reads a file. It fails for what must not be edited: what does not parse, is not UTF-8 or over
// MaxSize, and comments in JSON. An empty file, or one of white space, is an empty document.
func Parse(src []byte, f Format) (*Document, error) {
	switch {
	case len(src) > MaxSize:
		return nil, &RefusedError{Reason: fmt.Sprintf("it is larger than %d MiB", MaxSize>>20)}
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		return nil, &RefusedError{Reason: "it is in UTF-16; save it as UTF-8"}
	}
	text, marked := bytes.CutPrefix(src, []byte(byteOrderMark))
	if !utf8.Valid(text) {
		return nil, refuse(text, invalidUTF8(text), "it is not UTF-8")
	}
	d := &Document{src: src, format: f}
	switch {
	case marked && f == JSON:
		d.Notes = append(
			d.Notes, "the byte order mark at its beginning is removed: programs that want plain JSON reject it",
		)
	case marked:
		d.mark = byteOrderMark
	}
	var err error
	if d.tree, err = parse(text, f); err != nil {
		return nil, err
	}
	return d, nil
}

func parse(text []byte, f Format) (tree, error) {
	switch f {
	case JSON, JSONC:
		return parseJSON(text, f == JSON)
	case TOML, TOMLArray:
		return parseTOML(text, f == TOMLArray)
	case YAML:
		return parseYAML(text)
	case YAMLList:
		return parseYAMLList(text)
	}
	return nil, fmt.Errorf("splice: there is no format %q", f)
}

// Entries are the names at path in the order of the file; nil where the path does not lead anywhere.
func (d *Document) Entries(path []string) ([]string, error) { return d.tree.entries(path) }

// Once refuses an entry that is at path more than once: the others would be lost with the one that is taken for it.
func (d *Document) Once(path []string) error { return d.tree.once(path) }

// Get decodes the value at path: to a map[string]any, []any, string, bool, int64, float64 or nil, in TOML and
// YAML also to a time. Of duplicate keys the last counts.
func (d *Document) Get(path []string) (value any, ok bool) { return d.tree.get(path) }

// Raw is the text of the value at path, from which SetRaw makes it again: of JSON its exact bytes, of TOML and
// YAML the lines of the entry.
func (d *Document) Raw(path []string) ([]byte, bool) { return d.tree.raw(path) }

// Set puts an entry at path, whose last element is the entry's name, and creates what leads there. Where the
// entry is, only the members given change; the user's own keys and comments inside it stay. The result equals
// the source where nothing need change.
func (d *Document) Set(path []string, entry []Member) ([]byte, error) {
	if d.format == TOMLArray && !slices.ContainsFunc(entry, func(m Member) bool { return m.Key == "name" }) {
		entry = slices.Concat([]Member{{"name", path[len(path)-1]}}, entry)
	}
	edits, err := d.tree.set(path, entry)
	if err != nil {
		return nil, err
	}
	return d.result(edits, path, func(after tree) string {
		if d.tree.commentCount() != after.commentCount() {
			return "a comment in the entry is lost"
		}
		return holds(d.tree, after, path, entry)
	})
}

// SetRaw puts at path what Raw returned for it.
func (d *Document) SetRaw(path []string, raw []byte) ([]byte, error) {
	edits, err := d.tree.setRaw(path, raw)
	if err != nil {
		return nil, err
	}
	want, err := rawValue(raw, d.format, path)
	if err != nil {
		return nil, err
	}
	return d.result(edits, path, func(after tree) string {
		if is, _ := after.get(path); !reflect.DeepEqual(is, want) {
			return "the entry is not what was put back"
		}
		return ""
	})
}

// rawValue is what the text of an entry says by itself.
func rawValue(raw []byte, f Format, path []string) (any, error) {
	alone, err := parse(raw, f)
	if err != nil {
		return nil, err
	}
	switch f {
	case JSON, JSONC:
		path = nil
	case YAML, YAMLList:
		path = path[len(path)-1:]
	}
	v, ok := alone.get(path)
	if !ok {
		return nil, &RefusedError{Reason: fmt.Sprintf("the text to put back is not one of %s", quoted(path))}
	}
	return v, nil
}

// Drop removes keys inside the entry at path.
func (d *Document) Drop(path []string, keys ...string) ([]byte, error) {
	edits, err := d.tree.drop(path, keys)
	if err != nil || len(edits) == 0 {
		return d.src, err
	}
	return d.result(edits, path, func(after tree) string { return lacks(d.tree, after, path, keys) })
}

// Remove removes the entry at path, of which it refuses two: one may be somebody else's. With prune it also
// removes the containers that this leaves empty and without a comment.
func (d *Document) Remove(path []string, prune bool) ([]byte, error) {
	last := len(path) - 1
	return d.RemoveAll(path[:last], path[last:], prune)
}

// RemoveAll removes several entries of the container at path as Remove does, at once.
func (d *Document) RemoveAll(path, names []string, prune bool) ([]byte, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names))) // what is cut twice would be cut out of what follows
	for _, name := range names {
		if err := d.Once(join(path, name)); err != nil {
			return nil, err
		}
	}
	edits, err := d.tree.remove(path, names, prune)
	if err != nil || len(edits) == 0 {
		return d.src, err
	}
	out, after, err := d.apply(edits)
	if err != nil {
		return nil, err
	}
	if how := d.tree.differs(after, path, names); how != "" {
		return nil, bug(how)
	}
	for _, name := range names {
		if _, ok := after.get(join(path, name)); ok {
			return nil, bug("an entry is still there")
		}
	}
	return out, nil
}

// result applies edits of the entry at path, and returns what came out if it is what was wanted.
func (d *Document) result(edits []edit, path []string, wanted func(after tree) string) ([]byte, error) {
	out, after, err := d.apply(edits)
	if err != nil {
		return nil, err
	}
	last := len(path) - 1
	how := d.tree.differs(after, path[:last], path[last:])
	if how == "" {
		how = wanted(after)
	}
	if how != "" {
		return nil, bug(how)
	}
	return out, nil
}

// apply returns the text with its edits, and how it reads.
func (d *Document) apply(edits []edit) ([]byte, tree, error) {
	text := bytes.TrimPrefix(d.src, []byte(byteOrderMark))
	out := splice(d.mark, text, edits)
	after, err := parse(out[len(d.mark):], d.format)
	if err != nil {
		return nil, nil, bug(err.Error())
	}
	return out, after, nil
}

// bug is an edit that was not what it should have been, which is not the user's doing.
func bug(how string) error {
	return fmt.Errorf("splice: this edit would damage the file (%s), so it was not made; this is a bug", how)
}
