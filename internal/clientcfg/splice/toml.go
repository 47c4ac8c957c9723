package splice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
	"codemode/internal/clientcfg/tomldoc"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlTree is a TOML document.
type tomlTree struct {
	*tomldoc.Document
	src     []byte
	array   bool // an entry is an item of an array of tables
	newline string
}

func parseTOML(src []byte, array bool) (*tomlTree, error) {
	doc, err := tomldoc.Parse(src)
	if err != nil {
		re := &RefusedError{Reason: "it is not TOML"}
		var te *tomldoc.Error
		if errors.As(err, &te) {
			re.Line, re.Column = te.Line, te.Column
		}
		return nil, re
	}
	return &tomlTree{doc, src, array, lineEnd(src)}, nil
}

// names are all that is defined, in the order of the file.
func (t *tomlTree) names() (all [][]string) {
	var add func(table []string, pairs []tomldoc.Pair)
	add = func(table []string, pairs []tomldoc.Pair) {
		for _, p := range pairs {
			full := slices.Concat(table, p.Name)
			all = append(all, full)
			add(full, p.Value.Pairs)
		}
	}
	for i, s := range t.Sections {
		if i > 0 {
			all = append(all, s.Name)
		}
		add(s.Name, s.Pairs)
	}
	return all
}

func (t *tomlTree) text(v textpos.Span) []byte { return t.src[v.Start:v.End] }

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// entry is an entry's sections; the first has its own keys, the others are tables in it.
type entry []*tomldoc.Section

// find returns the entries at a path, of which there are several only in an array. Their first section may
// be one of a table in it.
func (t *tomlTree) find(path []string) []entry {
	if !t.array {
		var e entry
		for i := range t.Sections {
			if s := &t.Sections[i]; hasPrefix(s.Name, path) {
				e = append(e, s)
			}
		}
		if e == nil {
			return nil
		}
		slices.SortStableFunc(e, func(a, b *tomldoc.Section) int { return len(a.Name) - len(b.Name) })
		return []entry{e}
	}
	container, name := path[:len(path)-1], path[len(path)-1]
	return slices.DeleteFunc(t.items(container), func(e entry) bool { return t.nameOf(e) != name })
}

// items are the items of an array of tables.
func (t *tomlTree) items(container []string) []entry {
	var all []entry
	for i := range t.Sections {
		s := &t.Sections[i]
		switch {
		case s.Array && slices.Equal(s.Name, container):
			all = append(all, entry{s})
		case len(all) > 0 && hasPrefix(s.Name, container):
			all[len(all)-1] = append(all[len(all)-1], s)
		}
	}
	return all
}

// nameOf is what an item of an array calls itself.
func (t *tomlTree) nameOf(e entry) string {
	p, _ := pairOf(e[0].Pairs, "name")
	if p != nil && p.Value.Kind == unstable.String {
		return p.Value.Text
	}
	return ""
}

// pairOf is the pair of a key, and whether there are pairs that the key only begins.
func pairOf(pairs []tomldoc.Pair, key string) (p *tomldoc.Pair, dotted bool) {
	for i := range pairs {
		if k := pairs[i].Name; k[0] == key {
			if len(k) > 1 {
				return nil, true
			}
			return &pairs[i], false
		}
	}
	return nil, false
}

func (t *tomlTree) entries(path []string) ([]string, error) {
	v, ok := lookup(t.Values, path)
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
	for _, name := range t.names() {
		if hasPrefix(name, path) && len(name) > len(path) && !slices.Contains(found, name[len(path)]) {
			found = append(found, name[len(path)])
		}
	}
	return found, nil
}

func (t *tomlTree) once(path []string) error {
	if found := t.find(path); len(found) > 1 {
		return refuseTwice(t.src, found[1][0].Header.Start, path)
	}
	return nil
}

func (t *tomlTree) get(path []string) (any, bool) {
	if v, ok := lookup(t.Values, path); ok {
		return copied(v), true
	}
	if !t.array || len(path) == 0 {
		return nil, false
	}
	last := len(path) - 1
	v, _ := lookup(t.Values, path[:last])
	list, _ := v.([]any)
	for _, item := range slices.Backward(list) {
		if m, ok := item.(map[string]any); ok && m["name"] == path[last] {
			return copied(m), true
		}
	}
	return nil, false
}

func (t *tomlTree) commentCount() int { return len(t.Comments) }

func (t *tomlTree) differs(other tree, path, names []string) string {
	return differsBeside(t, other.(*tomlTree), path, names)
}

// commentsBeside counts the comments outside of the entries.
func (t *tomlTree) commentsBeside(path, names []string) int {
	n := len(t.Comments)
	for _, name := range names {
		for _, e := range t.find(join(path, name)) {
			for _, lines := range t.lines(e) {
				for _, c := range t.Comments {
					if c.Start >= lines.Start && c.End <= lines.End {
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
	doc := copied(t.Values).(map[string]any)
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
func (t *tomlTree) lines(e entry) []textpos.Span {
	var found []textpos.Span
	joined := false
	for i := range t.Sections {
		s := &t.Sections[i]
		if !slices.Contains(e, s) {
			joined = false
			continue
		}
		end := s.Header.End
		if n := len(s.Pairs); n > 0 {
			end = s.Pairs[n-1].Whole.End
		}
		end = textpos.NextLine(t.src, end)
		if joined {
			found[len(found)-1].End = end
		} else {
			found = append(found, textpos.Between(textpos.LineStart(t.src, s.Header.Start), end))
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
		b.Write(t.src[l.Start:l.End])
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
	for i := range t.Sections {
		s := &t.Sections[i]
		ours := i > 0 && hasPrefix(s.Name, path)
		isItem := t.array && s.Array && slices.Equal(s.Name, path)
		inItem = inItem || isItem
		if s.Array && hasPrefix(path, s.Name) && !isItem || ours && !inItem {
			return refuse(t.src, s.Header.Start, fmt.Sprintf("this does not go together with %s", header))
		}
		for _, p := range s.Pairs {
			full := slices.Concat(s.Name, p.Name)
			inTheWay := hasPrefix(path, full) || hasPrefix(full, path) && !ours
			if inTheWay && !(t.isEmptyList(p) && slices.Equal(full, path)) {
				return refuse(
					t.src, p.Whole.Start, fmt.Sprintf("this is not written as %s; write it so by hand", header),
				)
			}
		}
	}
	return nil
}

// isEmptyList says whether a pair is of an array that headers may take the place of.
func (t *tomlTree) isEmptyList(p tomldoc.Pair) bool {
	text := t.text(p.At)
	return t.array && strings.Join(strings.Fields(string(text)), "") == "[]"
}
