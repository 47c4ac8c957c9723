package splice

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"codemode/internal/clientcfg/jsonc"
	"codemode/internal/clientcfg/textpos"
)

// jsonTree is a JSON document, of which the members of the root are known, and those of others once asked for:
// of tens of megabytes, those of a few objects are all that is asked for.
type jsonTree struct {
	src    []byte
	plain  []byte        // without comments and trailing commas, which are blank
	extras []jsonc.Extra // those, in order
	empty  bool          // it has no value
	root   textpos.Span
	known  map[textpos.Span][]member
	layout layout
}

// member is a member of a JSON object.
type member struct {
	name  string
	key   textpos.Span
	value textpos.Span
	comma int // where the comma behind it is, or -1
}

func parseJSON(src []byte, strict bool) (*jsonTree, error) {
	t := &jsonTree{src: src, plain: src, known: map[textpos.Span][]member{}}
	err := t.check()
	if err != nil { // most large files are plain as they are
		t.plain, t.extras = jsonc.Plain(src)
		err = t.check()
	}
	switch {
	case err != nil:
		at, reason := jsonc.Explain(src, err)
		return nil, refuse(src, at, reason)
	case strict && len(t.extras) > 0:
		return nil, refuse(src, t.extras[0].Start, "the program that reads this rejects comments and trailing commas")
	}
	t.layout = layoutOf(t)
	return t, nil
}

// check holds the document to the grammar, and learns the members of the root.
func (t *jsonTree) check() (err error) {
	t.root = textpos.Between(len(t.src)-len(bytes.TrimLeft(t.plain, " \t\r\n")), spaceBefore(t.plain, len(t.src)))
	if t.empty = t.root.Start >= t.root.End; t.empty {
		t.root = textpos.Span{}
		return nil
	}
	d := jsonc.NewDecoder(t.plain, 0, len(t.src))
	if t.isObject(t.root) {
		t.known[t.root], err = t.read(d)
	} else {
		_, _, err = d.Next()
	}
	return cmp.Or(err, d.End())
}

// read reads the members of the object that a decoder stands before.
func (t *jsonTree) read(d jsonc.Decoder) (ms []member, err error) {
	if _, err := d.Bracket(); err != nil {
		return nil, err
	}
	for d.PeekKind() != '}' {
		var m member
		if m.key.Start, m.key.End, err = d.Next(); err != nil {
			return nil, err
		}
		if m.value.Start, m.value.End, err = d.Next(); err != nil {
			return nil, err
		}
		m.name = jsonc.Unquote(t.src[m.key.Start:m.key.End])
		m.comma = t.commaBehind(m.value)
		ms = append(ms, m)
	}
	_, err = d.Bracket()
	return ms, err
}

// commaBehind is where the comma behind a value is, or -1.
func (t *jsonTree) commaBehind(v textpos.Span) int {
	rest := bytes.TrimLeft(t.plain[v.End:], " \t\r\n")
	next := len(t.plain) - len(rest)
	if len(rest) > 0 && rest[0] == ',' {
		return next
	}
	for _, e := range t.extrasIn(textpos.Between(v.End, next)) {
		if t.src[e.Start] == ',' {
			return e.Start
		}
	}
	return -1
}

// extrasIn are the comments and trailing commas in a part of the document.
func (t *jsonTree) extrasIn(v textpos.Span) []jsonc.Extra {
	from := func(at int) int {
		i, _ := slices.BinarySearchFunc(t.extras, at, func(e jsonc.Extra, at int) int { return e.Start - at })
		return i
	}
	return t.extras[from(v.Start):from(v.End)]
}

// comments are those in a part of the document.
func (t *jsonTree) comments(v textpos.Span) (texts []string) {
	for _, e := range t.extrasIn(v) {
		if t.src[e.Start] == '/' {
			texts = append(texts, string(bytes.TrimRight(t.src[e.Start:e.End], "\r")))
		}
	}
	return texts
}

func (t *jsonTree) isObject(v textpos.Span) bool { return v.Start < v.End && t.src[v.Start] == '{' }

// members are those of the object v.
func (t *jsonTree) members(v textpos.Span) []member {
	ms, ok := t.known[v]
	if ok {
		return ms
	}
	ms, _ = t.read(jsonc.NewDecoder(t.plain, v.Start, v.End)) // it was passed before
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
func (t *jsonTree) find(path []string) (textpos.Span, bool) {
	at := t.root
	for _, name := range path {
		if !t.isObject(at) {
			return textpos.Span{}, false
		}
		m, count := named(t.members(at), name)
		if count == 0 {
			return textpos.Span{}, false
		}
		at = m.value
	}
	return at, !t.empty
}

// walk follows a path as far as there are members for it, and refuses what must not be edited.
func (t *jsonTree) walk(path []string) (at textpos.Span, rest []string, err error) {
	at = t.root
	for i, name := range path {
		if !t.isObject(at) {
			return textpos.Span{}, nil, t.noObject(at, path[:i])
		}
		m, count := named(t.members(at), name)
		switch count {
		case 0:
			return at, path[i:], nil
		case 1:
			at = m.value
		default:
			return textpos.Span{}, nil, t.twice(m)
		}
	}
	return at, nil, nil
}

func (t *jsonTree) noObject(at textpos.Span, path []string) error {
	if len(path) == 0 {
		return refuse(t.src, at.Start, "the document is not an object")
	}
	return refuse(t.src, at.Start, fmt.Sprintf("the value of %s is not an object", quoted(path)))
}

func (t *jsonTree) twice(m member) error {
	return refuseTwice(t.src, m.key.Start, []string{m.name})
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

func (t *jsonTree) once(path []string) error {
	last := len(path) - 1
	at, ok := t.find(path[:last])
	if !ok || !t.isObject(at) {
		return nil
	}
	if m, count := named(t.members(at), path[last]); count > 1 {
		return t.twice(m)
	}
	return nil
}

func (t *jsonTree) get(path []string) (any, bool) {
	at, ok := t.find(path)
	if !ok {
		return nil, false
	}
	return decodeJSON(t.text(at)), true
}

func (t *jsonTree) raw(path []string) ([]byte, bool) {
	at, ok := t.find(path)
	return bytes.Clone(t.src[at.Start:at.End]), ok
}

// decodeJSON decodes what was passed before.
func decodeJSON(text []byte) any {
	plain, _ := jsonc.Plain(text)
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
	case t.commentCount()-gone != after.commentCount()-added:
		return "a comment outside of the entry is lost"
	}
	return t.differsAt(t.root, after, after.root, path, names)
}

func (t *jsonTree) differsAt(a textpos.Span, after *jsonTree, b textpos.Span, path, names []string) string {
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
	return t.differsAt(t.child(a, path[0]), after, after.child(b, path[0]), path[1:], names)
}

func (t *jsonTree) commentCount() int { return len(t.comments(textpos.Between(0, len(t.src)))) }

func (t *jsonTree) text(v textpos.Span) []byte { return t.src[v.Start:v.End] }

// others are the members of an object that have none of the names.
func (t *jsonTree) others(v textpos.Span, names []string) []member {
	if !t.isObject(v) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.members(v)), func(m member) bool { return slices.Contains(names, m.name) })
}

// child is the value of a member, empty where there is none.
func (t *jsonTree) child(v textpos.Span, name string) textpos.Span {
	if !t.isObject(v) {
		return textpos.Span{}
	}
	m, _ := named(t.members(v), name)
	return m.value
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
			n += len(t.comments(textpos.Between(m.key.Start, m.value.End)))
		}
	}
	return n
}

func sameJSON(text []byte, v any) bool {
	return reflect.DeepEqual(decodeJSON(text), plain(v))
}
