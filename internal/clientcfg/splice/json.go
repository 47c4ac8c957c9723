package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"
)

// jsonTree is a JSON document, of which the members of the root are known, and those of others once asked for.
type jsonTree struct {
	src      []byte
	empty    bool // it has no value
	root     span
	known    map[span][]member
	comments int
	layout   layout
}

func parseJSON(src []byte, strict bool) (*jsonTree, error) {
	t := &jsonTree{src: src, known: map[span][]member{}}
	s := &scanner{src: src, loose: -1}
	if err := s.space(); err != nil {
		return nil, err
	}
	if t.empty = s.at == len(src); !t.empty {
		t.root.start = s.at
		var top []member
		if err := s.value(&top); err != nil {
			return nil, err
		}
		t.root.end = s.at
		t.known[t.root] = top
		if err := s.space(); err != nil {
			return nil, err
		}
	}
	switch {
	case s.at < len(src):
		return nil, s.fail(s.at, "there is more behind the end of the document")
	case strict && s.loose >= 0:
		return nil, s.fail(s.loose, "the program that reads this rejects comments and trailing commas")
	}
	t.comments = s.comments
	t.layout = layoutOf(t)
	return t, nil
}

func (t *jsonTree) isObject(v span) bool { return v.start < v.end && t.src[v.start] == '{' }

// members are those of the object v.
func (t *jsonTree) members(v span) []member {
	ms, ok := t.known[v]
	if ok {
		return ms
	}
	s := scanner{src: t.src[:v.end], at: v.start, loose: -1}
	_ = s.value(&ms) // it was passed before
	t.known[v] = ms
	return ms
}

// named is the last member of a name, and how many there are.
func named(ms []member, name string) (m member, count int) {
	for _, it := range ms {
		if it.name == name {
			m = it
			count++
		}
	}
	return m, count
}

// find follows a path to a value; of duplicates it takes the last, as programs do.
func (t *jsonTree) find(path []string) (span, bool) {
	at := t.root
	for _, name := range path {
		if !t.isObject(at) {
			return span{}, false
		}
		m, count := named(t.members(at), name)
		if count == 0 {
			return span{}, false
		}
		at = m.value
	}
	return at, !t.empty
}

// walk follows a path as far as there are members for it, and refuses what must not be edited.
func (t *jsonTree) walk(path []string) (at span, rest []string, err error) {
	at = t.root
	for i, name := range path {
		if !t.isObject(at) {
			return span{}, nil, t.noObject(at, path[:i])
		}
		m, count := named(t.members(at), name)
		switch count {
		case 0:
			return at, path[i:], nil
		case 1:
			at = m.value
		default:
			return span{}, nil, t.twice(m)
		}
	}
	return at, nil, nil
}

func (t *jsonTree) noObject(at span, path []string) error {
	if len(path) == 0 {
		return refuse(t.src, at.start, "the document is not an object")
	}
	return refuse(t.src, at.start, fmt.Sprintf("the value of %s is not an object", quoted(path)))
}

func (t *jsonTree) twice(m member) error {
	return refuse(t.src, m.key.start, fmt.Sprintf("%q is there twice; remove one by hand", m.name))
}

func (t *jsonTree) entries(path []string) ([]string, error) {
	if t.empty {
		return nil, nil
	}
	at, rest, err := t.walk(path)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	if !t.isObject(at) {
		return nil, t.noObject(at, path)
	}
	names := []string{}
	for _, m := range t.members(at) {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names, nil
}

func (t *jsonTree) get(path []string) (any, bool) {
	at, ok := t.find(path)
	if !ok {
		return nil, false
	}
	return decodeJSON(t.src[at.start:at.end]), true
}

func (t *jsonTree) raw(path []string) ([]byte, bool) {
	at, ok := t.find(path)
	return bytes.Clone(t.src[at.start:at.end]), ok
}

// decodeJSON decodes what the scanner has passed.
func decodeJSON(text []byte) any {
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var v any
	_ = d.Decode(&v)
	return simplify(v)
}

// differs compares what is outside of the entries by its bytes, and counts the comments. Where a container is
// only in one of the two, it may hold nothing.
func (t *jsonTree) differs(other tree, path, names []string) string {
	after := other.(*jsonTree)
	gone, added := 0, 0
	for _, name := range names {
		gone += t.commentsOf(join(path, name))
		added += after.commentsOf(join(path, name))
	}
	switch {
	case !t.empty && !t.isObject(t.root):
		return "the document is not an object"
	case t.comments-gone != after.comments-added:
		return "a comment outside of the entry is lost"
	}
	return t.differsAt(t.root, after, after.root, path, names)
}

func (t *jsonTree) differsAt(a span, after *jsonTree, b span, path, names []string) string {
	skip := names
	if len(path) > 0 {
		skip = path[:1]
	}
	x, y := t.others(a, skip), after.others(b, skip)
	if len(x) != len(y) {
		return "a member is lost or new"
	}
	for i := range x {
		if x[i].name != y[i].name || !bytes.Equal(t.text(x[i].value), after.text(y[i].value)) {
			return "a value beside the entry has changed"
		}
	}
	if len(path) == 0 {
		return ""
	}
	inA, _ := t.child(a, path[0])
	inB, _ := after.child(b, path[0])
	return t.differsAt(inA, after, inB, path[1:], names)
}

func (t *jsonTree) commentCount() int { return t.comments }

func (t *jsonTree) text(v span) []byte { return t.src[v.start:v.end] }

// others are the members of an object that have none of the names.
func (t *jsonTree) others(v span, names []string) []member {
	if !t.isObject(v) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.members(v)), func(m member) bool { return slices.Contains(names, m.name) })
}

func (t *jsonTree) child(v span, name string) (span, bool) {
	if !t.isObject(v) {
		return span{}, false
	}
	m, count := named(t.members(v), name)
	return m.value, count > 0
}

// commentsOf counts the comments inside all the members that path names.
func (t *jsonTree) commentsOf(path []string) int {
	last := len(path) - 1
	at, ok := t.find(path[:last])
	if !ok || !t.isObject(at) {
		return 0
	}
	n := 0
	for _, m := range t.members(at) {
		if m.name == path[last] {
			n += len(comments(t.src[m.key.start:m.value.end]))
		}
	}
	return n
}

// comments are the comments of a part of a document that begins outside of strings.
func comments(src []byte) []string {
	if bytes.IndexByte(src, '/') < 0 {
		return nil
	}
	var found []string
	s := scanner{src: src}
	for s.at < len(src) {
		switch src[s.at] {
		case '"':
			if s.string() != nil {
				return found
			}
		case '/':
			end := commentEnd(src, s.at)
			if end < 0 {
				return found
			}
			found = append(found, string(bytes.TrimRight(src[s.at:end], "\r")))
			s.at = end
		default:
			s.at++
		}
	}
	return found
}

func sameJSON(text []byte, v any) bool {
	return reflect.DeepEqual(decodeJSON(text), plain(v))
}
