package splice

import (
	"bytes"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
)

func (t *jsonTree) set(path []string, entry []Member) ([]edit, error) {
	if t.empty {
		return []edit{t.fresh(path, entry)}, nil
	}
	at, rest, err := t.walk(path)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return t.insert(at, []Member{wrap(rest, entry)}), nil
	case !t.isObject(at):
		return nil, t.noObject(at, path)
	}
	return t.update(at, entry)
}

// verbatim is a value that is written as it is.
type verbatim string

func (t *jsonTree) setRaw(path []string, raw []byte) ([]edit, error) {
	if t.empty {
		return []edit{t.fresh(path, verbatim(raw))}, nil
	}
	at, rest, err := t.walk(path)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return t.insert(at, []Member{wrap(rest, verbatim(raw))}), nil
	case bytes.Equal(t.text(at), raw):
		return nil, nil
	}
	return []edit{{at.Start, at.End, string(raw)}}, nil
}

// wrap is the member that leads to a value by a path.
func wrap(path []string, v any) Member {
	m := Member{path[len(path)-1], v}
	for i := len(path) - 2; i >= 0; i-- {
		m = Member{path[i], []Member{m}}
	}
	return m
}

// fresh makes a document of an empty one, and keeps the comments that it has.
func (t *jsonTree) fresh(path []string, v any) edit {
	text := t.layout.render([]Member{wrap(path, v)}, "") + t.layout.newline
	kept := len(bytes.TrimRight(t.src, " \t\r\n"))
	if kept == 0 {
		return edit{0, len(t.src), text}
	}
	if !bytes.HasSuffix(t.src, []byte("\n")) {
		text = t.layout.newline + text
	}
	return edit{len(t.src), len(t.src), text}
}

// update sets members of the object at v.
func (t *jsonTree) update(v textpos.Span, set []Member) ([]edit, error) {
	var edits []edit
	var missing []Member
	ms := t.members(v)
	for _, it := range set {
		m, count := named(ms, it.Key)
		table, isTable := it.Value.([]Member)
		switch {
		case count > 1:
			return nil, t.twice(m)
		case count == 0:
			missing = append(missing, it)
		case isTable && t.isObject(m.value):
			inner, err := t.update(m.value, table)
			if err != nil {
				return nil, err
			}
			edits = append(edits, inner...)
		case !sameJSON(t.text(m.value), it.Value):
			edits = append(edits, t.replace(m.value, it.Value))
		}
	}
	if len(missing) > 0 {
		edits = append(edits, t.insert(v, missing)...)
	}
	return edits, nil
}

// replace writes a value in the place of another, on one line if that was. Comments in the old one are put
// before the new one.
func (t *jsonTree) replace(old textpos.Span, v any) edit {
	indent := textpos.Indentation(t.src, old.Start)
	l := t.layout
	if bytes.IndexByte(t.text(old), '\n') < 0 {
		l.oneLine = true
	}
	var b strings.Builder
	for _, c := range t.comments(old) {
		b.WriteString(c)
		if strings.HasPrefix(c, "//") {
			b.WriteString(t.layout.newline + indent)
		} else {
			b.WriteString(" ")
		}
	}
	b.WriteString(l.render(v, indent))
	return edit{old.Start, old.End, b.String()}
}

// insert adds members behind those that the object at v has.
func (t *jsonTree) insert(v textpos.Span, add []Member) []edit {
	ms := t.members(v)
	if len(ms) == 0 {
		return []edit{t.fill(v, add)}
	}
	last := ms[len(ms)-1]
	if !bytes.ContainsRune(t.src[spaceBefore(t.src, last.key.Start):last.key.Start], '\n') {
		return []edit{t.append(last, add)}
	}
	var edits []edit
	indent := textpos.Indentation(t.src, last.key.Start)
	end := spaceBefore(t.src, v.End-1) // comments behind the last member stay with it
	if last.comma < 0 {
		edits = append(edits, edit{last.value.End, last.value.End, ","})
	}
	var b strings.Builder
	for i, m := range add {
		b.WriteString(t.layout.newline + indent + t.layout.member(m, indent))
		if i < len(add)-1 || last.comma >= 0 {
			b.WriteString(",")
		}
	}
	return append(edits, edit{end, end, b.String()})
}

// append adds members to an object whose members are on one line.
func (t *jsonTree) append(last member, add []Member) edit {
	l := t.layout
	l.oneLine = true
	texts := make([]string, len(add))
	for i, m := range add {
		texts[i] = l.member(m, "")
	}
	text := strings.Join(texts, l.comma)
	if last.comma >= 0 {
		return edit{last.comma + 1, last.comma + 1, l.comma[1:] + text + ","}
	}
	return edit{last.value.End, last.value.End, l.comma + text}
}

// fill puts members into the object at v, which has none.
func (t *jsonTree) fill(v textpos.Span, add []Member) edit {
	inner := textpos.Between(v.Start+1, v.End-1)
	kept := spaceBefore(t.src, inner.End) // behind its comments
	text := t.layout.render(add, textpos.Indentation(t.src, v.Start))
	text = text[1 : len(text)-1]
	return edit{max(kept, inner.Start), inner.End, text}
}

func (t *jsonTree) drop(path, keys []string) ([]edit, error) {
	if t.empty {
		return nil, nil
	}
	at, rest, err := t.walk(path)
	switch {
	case err != nil, len(rest) > 0:
		return nil, err
	case !t.isObject(at):
		return nil, t.noObject(at, path)
	}
	return t.cut(at, keys), nil
}

func (t *jsonTree) remove(path, names []string, prune bool) ([]edit, error) {
	if t.empty {
		return nil, nil
	}
	at, rest, err := t.walk(path)
	if err != nil || len(rest) > 0 || !t.isObject(at) {
		return nil, err
	}
	for prune && len(path) > 0 && t.isEmptyWithout(at, names) && t.uncommented(path) {
		last := len(path) - 1
		path, names = path[:last], path[last:]
		at, _ = t.find(path)
	}
	return t.cut(at, names), nil
}

// isEmptyWithout says whether the object at v would have neither a member nor a comment without those of the names,
// of which it has at least one.
func (t *jsonTree) isEmptyWithout(v textpos.Span, names []string) bool {
	ms := t.members(v)
	if len(ms) == 0 {
		return false
	}
	at := v.Start
	for _, m := range ms {
		if !slices.Contains(names, m.name) || bytes.IndexByte(t.src[at:m.key.Start], '/') >= 0 {
			return false
		}
		at = m.value.End
	}
	return bytes.IndexByte(t.src[at:v.End], '/') < 0
}

// uncommented says whether no comment stands between the name of the member at path and its value.
func (t *jsonTree) uncommented(path []string) bool {
	last := len(path) - 1
	at, _ := t.find(path[:last])
	m, _ := named(t.members(at), path[last])
	return bytes.IndexByte(t.src[m.key.End:m.value.Start], '/') < 0
}

// cut removes the members of those names from the object at v: each with its comma and the white space before
// it, and without the comments that stand around it.
func (t *jsonTree) cut(v textpos.Span, names []string) []edit {
	if t.isEmptyWithout(v, names) {
		return []edit{{v.Start + 1, v.End - 1, ""}}
	}
	var cuts []textpos.Span
	ms := t.members(v)
	var kept *member
	for i := range ms {
		m := &ms[i]
		if !slices.Contains(names, m.name) {
			kept = m
			continue
		}
		cuts = append(cuts, textpos.Between(spaceBefore(t.src, m.key.Start), m.value.End))
		if m.comma >= 0 && textpos.IsBlank(t.src[m.value.End:m.comma]) {
			cuts[len(cuts)-1].End = m.comma + 1
		} else if m.comma >= 0 {
			cuts = append(cuts, textpos.Between(m.comma, m.comma+1))
		}
	}
	if n := len(ms); kept != nil && kept.key != ms[n-1].key && ms[n-1].comma < 0 {
		cuts = append(cuts, textpos.Between(kept.comma, kept.comma+1))
	}
	cuts = joined(cuts)
	edits := make([]edit, len(cuts))
	for i, c := range cuts {
		edits[i] = edit{t.cutFrom(c), c.End, ""}
	}
	return edits
}

// cutFrom is where to begin a cut, so that a comment that ends with its line does not reach over what follows.
func (t *jsonTree) cutFrom(c textpos.Span) int {
	space := len(t.text(c)) - len(bytes.TrimLeft(t.text(c), " \t\r\n"))
	newline := bytes.IndexByte(t.src[c.Start:c.Start+space], '\n')
	comment := bytes.Contains(t.src[textpos.LineStart(t.src, c.Start):c.Start], []byte("//"))
	following := bytes.TrimLeft(t.src[c.End:], " \t\r")
	if newline < 0 || !comment || len(following) > 0 && following[0] == '\n' {
		return c.Start
	}
	return c.Start + newline + 1
}
