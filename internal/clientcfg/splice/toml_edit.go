package splice

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
	"codemode/internal/clientcfg/tomldoc"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

func (t *tomlTree) set(path []string, members []Member) ([]edit, error) {
	if err := cmp.Or(t.refuseInline(path), t.once(path)); err != nil {
		return nil, err
	}
	if found := t.find(path); len(found) == 1 && (t.array || slices.Equal(found[0][0].Name, path)) {
		return t.update(found[0], found[0][0], members)
	}
	header := "[" + tomlKey(path) + "]"
	if t.array {
		header = "[[" + tomlKey(path[:len(path)-1]) + "]]"
	}
	return append(t.makeRoom(path), t.append(header+t.newline+t.pairs(members, ""))), nil
}

// makeRoom removes an empty array that is written as one.
func (t *tomlTree) makeRoom(path []string) []edit {
	var edits []edit
	for _, s := range t.Sections {
		for _, p := range s.Pairs {
			if t.isEmptyList(p) && slices.Equal(slices.Concat(s.Name, p.Name), path[:len(path)-1]) {
				edits = append(edits, t.cutPair(p))
			}
		}
	}
	return edits
}

// append puts a section at the end, behind an empty line.
func (t *tomlTree) append(text string) edit {
	if len(bytes.TrimSpace(t.src)) > 0 {
		newline := lineEnd([]byte(text))
		if t.src[len(t.src)-1] != '\n' {
			return edit{len(t.src), len(t.src), newline + newline + unended(text)}
		}
		text = newline + text
	}
	return edit{len(t.src), len(t.src), text}
}

// update sets keys of a section of an entry.
func (t *tomlTree) update(e entry, s *tomldoc.Section, members []Member) ([]edit, error) {
	var edits []edit
	var missing []Member
	for _, m := range members {
		p, dotted := pairOf(s.Pairs, m.Key)
		table, isTable := m.Value.([]Member)
		sub := t.subsection(e, join(s.Name, m.Key))
		var inner []edit
		var err error
		switch {
		case isTable && sub != nil && !sub.Array:
			inner, err = t.update(e, sub, table)
		case sub != nil, dotted:
			err = refuse(
				t.src, s.Header.Start,
				fmt.Sprintf("%q in it is written in a way that is not edited; change it by hand", m.Key),
			)
		case p == nil:
			missing = append(missing, m)
		case isTable && p.Value.Kind == unstable.InlineTable:
			inner, err = t.updateInline(p, table)
		case !t.holds(p, m.Value):
			inner = t.replace(*p, m.Value)
		}
		if err != nil {
			return nil, err
		}
		edits = append(edits, inner...)
	}
	if len(missing) == 0 {
		return edits, nil
	}
	after := s.Header
	if n := len(s.Pairs); n > 0 {
		after = s.Pairs[n-1].Whole
	}
	lines := t.pairs(missing, textpos.Indentation(t.src, after.Start))
	return append(edits, insertLines(t.src, textpos.NextLine(t.src, after.End), lines, t.newline)), nil
}

// subsection is the first section of an entry with a name or one that begins so.
func (t *tomlTree) subsection(e entry, name []string) *tomldoc.Section {
	for _, s := range e {
		if hasPrefix(s.Name, name) {
			return s
		}
	}
	return nil
}

// updateInline sets keys of an inline table.
func (t *tomlTree) updateInline(p *tomldoc.Pair, members []Member) ([]edit, error) {
	var edits []edit
	var missing []string
	for _, m := range members {
		old, dotted := pairOf(p.Value.Pairs, m.Key)
		table, isTable := m.Value.([]Member)
		switch {
		case dotted:
			return nil, refuse(
				t.src, p.Whole.Start, fmt.Sprintf("%q in it is written with a dot; change it by hand", m.Key),
			)
		case old == nil:
			missing = append(missing, t.pairText(m))
		case isTable && old.Value.Kind == unstable.InlineTable:
			inner, err := t.updateInline(old, table)
			if err != nil {
				return nil, err
			}
			edits = append(edits, inner...)
		case !t.holds(old, m.Value):
			edits = append(edits, t.replace(*old, m.Value)...)
		}
	}
	if len(missing) == 0 {
		return edits, nil
	}
	text := strings.Join(missing, ", ")
	if n := len(p.Value.Pairs); n > 0 {
		end := p.Value.Pairs[n-1].Whole.End
		return append(edits, edit{end, end, ", " + text}), nil
	}
	return append(edits, edit{p.At.Start, p.At.End, "{ " + text + " }"}), nil
}

// holds says whether a pair has a value already.
func (t *tomlTree) holds(p *tomldoc.Pair, v any) bool {
	var doc map[string]any
	if toml.Unmarshal(slices.Concat([]byte("v = "), t.text(p.At)), &doc) != nil {
		return false
	}
	return reflect.DeepEqual(doc["v"], plain(v))
}

// replace writes another value. Comments in the old one are put on lines before it.
func (t *tomlTree) replace(p tomldoc.Pair, v any) []edit {
	start := textpos.LineStart(t.src, p.Whole.Start)
	indent := textpos.Indentation(t.src, p.Whole.Start)
	var edits []edit
	for _, c := range t.Comments {
		if c.Start >= p.At.Start && c.End <= p.At.End {
			edits = append(edits, edit{start, start, indent + string(t.text(c)) + t.newline})
		}
	}
	return append(edits, edit{p.At.Start, p.At.End, tomlValue(v)})
}

func (t *tomlTree) setRaw(path []string, raw []byte) ([]edit, error) {
	if err := t.refuseInline(path); err != nil {
		return nil, err
	}
	if old, ok := t.raw(path); ok && bytes.Equal(old, raw) {
		return nil, nil
	}
	edits, err := t.remove(path[:len(path)-1], path[len(path)-1:], false)
	return slices.Concat(edits, t.makeRoom(path), []edit{t.append(string(raw))}), err
}

func (t *tomlTree) drop(path, keys []string) ([]edit, error) {
	table := path
	if t.array {
		table = path[:len(path)-1]
	}
	var edits []edit
	for _, e := range t.find(path) {
		for _, key := range keys {
			var tables entry
			for _, s := range e {
				for _, p := range s.Pairs {
					if slices.Equal(s.Name, table) && p.Name[0] == key {
						edits = append(edits, t.cutPair(p))
					}
				}
				if hasPrefix(s.Name, join(table, key)) {
					tables = append(tables, s)
				}
			}
			edits = append(edits, t.cut(tables)...)
		}
	}
	return edits, t.refuseInline(path)
}

// cutPair removes the line of a pair, but for a comment behind it.
func (t *tomlTree) cutPair(p tomldoc.Pair) edit {
	end := textpos.NextLine(t.src, p.Whole.End)
	for _, c := range t.Comments {
		if c.Start >= p.Whole.End && c.End <= end {
			return edit{p.Whole.Start, c.Start, ""}
		}
	}
	return cutLines(t.src, textpos.LineStart(t.src, p.Whole.Start), end)
}

// remove takes out whole sections. The tables that they are in need no header of their own, and where one has
// it, it is the user's: there is nothing to prune.
func (t *tomlTree) remove(path, names []string, _ bool) ([]edit, error) {
	var all []entry
	for _, name := range names {
		at := join(path, name)
		found := t.find(at)
		if _, there := t.get(at); there {
			if err := t.refuseInline(at); err != nil {
				return nil, err
			}
		}
		all = append(all, found...)
	}
	return t.cut(all...), nil
}

// cut removes the sections of entries, each with the empty line before it.
func (t *tomlTree) cut(entries ...entry) []edit {
	var all []textpos.Span
	for _, e := range entries {
		all = append(all, t.lines(e)...)
	}
	for i, l := range all {
		if before := textpos.LineStart(t.src, max(0, l.Start-1)); textpos.IsBlank(t.src[before:l.Start]) {
			all[i].Start = before
		}
	}
	return cutAll(t.src, all)
}

// pairs are the lines of members. A table is written inline, so that what it belongs to is one section.
func (t *tomlTree) pairs(members []Member, indent string) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString(indent + t.pairText(m) + t.newline)
	}
	return b.String()
}

func (t *tomlTree) pairText(m Member) string {
	return tomlKey([]string{m.Key}) + " = " + tomlValue(m.Value)
}

func tomlKey(path []string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = name
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			parts[i] = tomlString(name)
		}
	}
	return strings.Join(parts, ".")
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = tomlString(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []Member:
		if len(v) == 0 {
			return "{}"
		}
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = tomlKey([]string{m.Key}) + " = " + tomlValue(m.Value)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v)
}

// tomlString is a literal string where that spares doubling the backslashes of a Windows path.
func tomlString(s string) string {
	if strings.Contains(s, `\`) && !strings.Contains(s, "'") && !strings.ContainsFunc(s, isControl) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
