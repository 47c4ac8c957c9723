package splice

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlTree is a TOML document as the sections that its headers make. The first has no header.
type tomlTree struct {
	src      []byte
	array    bool // an entry is an item of an array of tables
	doc      map[string]any
	sections []section
	names    [][]string // all that is defined, in the order of the file
	comments []span
	newline  string
}

// section is a header and the keys under it.
type section struct {
	name   []string
	array  bool
	header span // from bracket to bracket
	pairs  []pair
}

type pair struct {
	key   []string
	whole span // from the key to the end of the value
	value span
	kind  unstable.Kind
	inner []pair // of an inline table
}

func parseTOML(src []byte, array bool) (*tomlTree, error) {
	t := &tomlTree{src: src, array: array, newline: lineEnd(src), sections: make([]section, 1)}
	if err := toml.Unmarshal(src, &t.doc); err != nil { // the parser below does not know what may not be twice
		re := &RefusedError{Reason: "it is not TOML"}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			re.Line, re.Column = de.Position()
		}
		return nil, re
	}
	p := unstable.Parser{KeepComments: true}
	p.Reset(src)
	for p.NextExpression() {
		e := p.Expression()
		t.addComments(e)
		last := &t.sections[len(t.sections)-1]
		switch e.Kind {
		case unstable.KeyValue:
			last.pairs = append(last.pairs, t.pair(last.name, e))
		case unstable.Table, unstable.ArrayTable:
			name, at := keys(e)
			s := section{name: name, array: e.Kind == unstable.ArrayTable, header: t.brackets(at)}
			t.sections = append(t.sections, s)
			t.names = append(t.names, name)
		}
	}
	if p.Error() != nil {
		return nil, &RefusedError{Reason: "it is not TOML"}
	}
	return t, nil
}

// keys are the parts of a dotted key, and where it is.
func keys(e *unstable.Node) (names []string, at span) {
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if names == nil {
			at.start = int(k.Raw.Offset)
		}
		at.end = int(k.Raw.Offset + k.Raw.Length)
		names = append(names, string(k.Data))
	}
	return names, at
}

// brackets extends the place of a header's key to the brackets around it.
func (t *tomlTree) brackets(key span) span {
	start := len(bytes.TrimRight(t.src[:key.start], " \t["))
	rest := t.src[key.end:]
	end := key.end + len(rest) - len(bytes.TrimLeft(rest, " \t]"))
	return span{
		start + bytes.IndexByte(t.src[start:], '['),
		key.end + bytes.LastIndexByte(t.src[key.end:end], ']') + 1,
	}
}

func (t *tomlTree) pair(table []string, e *unstable.Node) pair {
	names, at := keys(e)
	p := pair{key: names, kind: e.Value().Kind}
	p.whole = span{int(e.Raw.Offset), int(e.Raw.Offset + e.Raw.Length)}
	p.value = span{at.end + bytes.IndexByte(t.src[at.end:], '=') + 1, p.whole.end}
	p.value.start += len(t.text(p.value)) - len(bytes.TrimLeft(t.src[p.value.start:p.value.end], " \t"))
	full := slices.Concat(table, names)
	t.names = append(t.names, full)
	if p.kind == unstable.InlineTable {
		for it := e.Value().Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				p.inner = append(p.inner, t.pair(full, it.Node()))
			}
		}
	}
	return p
}

func (t *tomlTree) text(v span) []byte { return t.src[v.start:v.end] }

// addComments notes the comments that a part of the syntax tree has.
func (t *tomlTree) addComments(e *unstable.Node) {
	for ; e != nil; e = e.Next() {
		if e.Kind == unstable.Comment {
			t.comments = append(t.comments, span{int(e.Raw.Offset), int(e.Raw.Offset + e.Raw.Length)})
		}
		t.addComments(e.Child())
	}
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// entry is an entry's sections; the first has its own keys, the others are tables in it.
type entry []*section

// find returns the entries at a path, of which there are several only in an array. Their first section may
// be one of a table in it.
func (t *tomlTree) find(path []string) []entry {
	if !t.array {
		var e entry
		for i := range t.sections {
			if s := &t.sections[i]; hasPrefix(s.name, path) {
				e = append(e, s)
			}
		}
		if e == nil {
			return nil
		}
		slices.SortStableFunc(e, func(a, b *section) int { return len(a.name) - len(b.name) })
		return []entry{e}
	}
	container, name := path[:len(path)-1], path[len(path)-1]
	return slices.DeleteFunc(t.items(container), func(e entry) bool { return t.nameOf(e) != name })
}

// items are the items of an array of tables.
func (t *tomlTree) items(container []string) []entry {
	var all []entry
	for i := range t.sections {
		s := &t.sections[i]
		switch {
		case s.array && slices.Equal(s.name, container):
			all = append(all, entry{s})
		case len(all) > 0 && hasPrefix(s.name, container):
			all[len(all)-1] = append(all[len(all)-1], s)
		}
	}
	return all
}

// nameOf is what an item of an array calls itself.
func (t *tomlTree) nameOf(e entry) string {
	p, _ := e[0].pair("name")
	var v struct{ Name any }
	if p != nil && toml.Unmarshal(t.text(p.whole), &v) == nil {
		name, _ := v.Name.(string)
		return name
	}
	return ""
}

// pair is the pair of a key, and whether there are pairs that the key only begins.
func (s *section) pair(key string) (p *pair, dotted bool) {
	for i := range s.pairs {
		if k := s.pairs[i].key; k[0] == key {
			if len(k) > 1 {
				return nil, true
			}
			return &s.pairs[i], false
		}
	}
	return nil, false
}

func (t *tomlTree) entries(path []string) ([]string, error) {
	v, ok := lookup(t.doc, path)
	if !ok {
		return nil, nil
	}
	found := []string{}
	if list, isList := v.([]any); t.array && isList {
		for _, item := range list {
			if m, ok := item.(map[string]any); ok {
				name, _ := m["name"].(string)
				found = append(found, name)
			}
		}
		return found, nil
	}
	if _, isTable := v.(map[string]any); !isTable || t.array {
		return nil, &RefusedError{Reason: fmt.Sprintf("the value of %s does not hold entries", quoted(path))}
	}
	for _, name := range t.names {
		if hasPrefix(name, path) && len(name) > len(path) && !slices.Contains(found, name[len(path)]) {
			found = append(found, name[len(path)])
		}
	}
	return found, nil
}

func (t *tomlTree) get(path []string) (any, bool) {
	if v, ok := lookup(t.doc, path); ok {
		return copied(v), true
	}
	if !t.array || len(path) == 0 {
		return nil, false
	}
	last := len(path) - 1
	v, _ := lookup(t.doc, path[:last])
	list, _ := v.([]any)
	for _, item := range slices.Backward(list) {
		if m, ok := item.(map[string]any); ok && m["name"] == path[last] {
			return copied(m), true
		}
	}
	return nil, false
}

func (t *tomlTree) commentCount() int { return len(t.comments) }

func (t *tomlTree) differs(other tree, path, names []string) string {
	after := other.(*tomlTree)
	if t.commentsBeside(path, names) > after.commentsBeside(path, names) {
		return "a comment outside of the entry is lost"
	}
	if !reflect.DeepEqual(t.without(path, names), after.without(path, names)) {
		return "a value beside the entry has changed"
	}
	return ""
}

// commentsBeside counts the comments outside of the entries.
func (t *tomlTree) commentsBeside(path, names []string) int {
	n := len(t.comments)
	for _, name := range names {
		for _, e := range t.find(join(path, name)) {
			for _, lines := range t.lines(e) {
				for _, c := range t.comments {
					if c.start >= lines.start && c.end <= lines.end {
						n--
					}
				}
			}
		}
	}
	return n
}

// without is the document without some entries, and without containers that then have none.
func (t *tomlTree) without(path, names []string) any {
	doc := copied(t.doc).(map[string]any)
	if !t.array || len(path) == 0 {
		strip(doc, path, names)
		return doc
	}
	last := len(path) - 1
	v, _ := lookup(doc, path)
	list, _ := v.([]any)
	list = slices.DeleteFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		return ok && slices.Contains(names, name)
	})
	if at, ok := lookup(doc, path[:last]); ok && len(list) > 0 {
		at.(map[string]any)[path[last]] = list
	} else {
		strip(doc, path[:last], path[last:])
	}
	return doc
}

// lines are the whole lines of an entry: from a header to the last key of the sections that follow each other.
func (t *tomlTree) lines(e entry) []span {
	var found []span
	joined := false
	for i := range t.sections {
		s := &t.sections[i]
		if !slices.Contains(e, s) {
			joined = false
			continue
		}
		end := s.header.end
		if n := len(s.pairs); n > 0 {
			end = s.pairs[n-1].whole.end
		}
		end = nextLine(t.src, end)
		if joined {
			found[len(found)-1].end = end
		} else {
			found = append(found, span{lineStart(t.src, s.header.start), end})
		}
		joined = true
	}
	return found
}

func (t *tomlTree) raw(path []string) ([]byte, bool) {
	found := t.find(path)
	if len(found) == 0 {
		return nil, false
	}
	var b bytes.Buffer
	for _, l := range t.lines(found[len(found)-1]) {
		b.Write(t.text(l))
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteString(t.newline)
	}
	return b.Bytes(), true
}

// refuseInline refuses to edit what is not written as sections.
func (t *tomlTree) refuseInline(path []string) error {
	header := "[" + tomlKey(path) + "]"
	if t.array {
		path = path[:len(path)-1]
		header = "[[" + tomlKey(path) + "]]"
	}
	inItem := !t.array
	for i := range t.sections {
		s := &t.sections[i]
		ours := i > 0 && hasPrefix(s.name, path)
		isItem := t.array && s.array && slices.Equal(s.name, path)
		inItem = inItem || isItem
		if s.array && hasPrefix(path, s.name) && !isItem || ours && !inItem {
			return refuse(t.src, s.header.start, fmt.Sprintf("this does not go together with %s", header))
		}
		for _, p := range s.pairs {
			full := slices.Concat(s.name, p.key)
			inTheWay := hasPrefix(path, full) || hasPrefix(full, path) && !ours
			if inTheWay && !(t.isEmptyList(p) && slices.Equal(full, path)) {
				return refuse(
					t.src, p.whole.start, fmt.Sprintf("this is not written as %s; write it so by hand", header),
				)
			}
		}
	}
	return nil
}

// isEmptyList says whether a pair is of an array that headers may take the place of.
func (t *tomlTree) isEmptyList(p pair) bool {
	text := t.text(p.value)
	return t.array && strings.Join(strings.Fields(string(text)), "") == "[]"
}
