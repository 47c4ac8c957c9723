package splice

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/clientcfg/textpos"
	"codemode/internal/lazyregexp"

	"go.yaml.in/yaml/v3"
)

func (y *yamlTree) set(path []string, members []Member) ([]edit, error) {
	if y.root == nil {
		return []edit{y.fresh(wrap(path, members))}, nil
	}
	at, rest, err := y.walk(path)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return y.add(at, []Member{wrap(rest, members)})
	}
	return y.update(at, path, members)
}

func (y *yamlTree) setRaw(path []string, raw []byte) ([]edit, error) {
	if y.root == nil {
		return []edit{y.fresh(wrap(path, verbatim(raw)))}, nil
	}
	at, rest, err := y.walk(path)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return y.add(at, []Member{wrap(rest, verbatim(raw))})
	}
	if err := y.usable(at, path); err != nil {
		return nil, err
	}
	if old, ok := y.raw(path); ok && bytes.Equal(old, raw) {
		return nil, nil
	}
	end := y.endOf(at)
	text := reindent(string(raw), textpos.Indentation(y.src, y.Offset(at.key)))
	if end == len(y.src) && y.src[end-1] != '\n' {
		text = unended(text)
	}
	return []edit{{at.start, end, text}}, nil
}

// fresh makes the root of an empty document.
func (y *yamlTree) fresh(m Member) edit {
	return insertLines(y.src, y.end, y.lines([]Member{m}, ""), y.newline)
}

// add puts pairs behind those of the mapping at p, which may have none.
func (y *yamlTree) add(p yamlPair, members []Member) ([]edit, error) {
	if !isBlock(p.value) {
		return y.fill(p, members), nil
	}
	pairs := y.pairs(p.value, p.bound)
	last := pairs[len(pairs)-1]
	if at := y.Offset(last.key); !onlySpaces(y.src[last.start:at]) {
		return nil, refuse(y.src, at, "the key does not begin its line; write it so by hand")
	}
	lines := y.lines(members, strings.Repeat(" ", last.key.Column-1))
	return []edit{insertLines(y.src, y.endOf(last), lines, y.newline)}, nil
}

// fill puts pairs into a mapping that is null or {}.
func (y *yamlTree) fill(p yamlPair, members []Member) []edit {
	if p.key == nil { // of the document itself
		at := y.Offset(p.value)
		return []edit{{at, y.FlowEnd(at, y.comments), strings.TrimSuffix(y.lines(members, ""), y.newline)}}
	}
	colon, _ := y.Colon(p.key)
	var edits []edit
	if p.value.Kind == yaml.MappingNode {
		edits = append(edits, edit{colon, y.FlowEnd(y.Offset(p.value), y.comments), ""})
	} else if p.value.Value != "" {
		edits = append(edits, edit{colon, y.Offset(p.value) + len(p.value.Value), ""})
	}
	lines := y.lines(members, strings.Repeat(" ", p.key.Column-1+y.step))
	return append(edits, insertLines(y.src, y.endOf(p), lines, y.newline))
}

// update sets keys of the mapping at p.
func (y *yamlTree) update(p yamlPair, path []string, members []Member) ([]edit, error) {
	if same(p.value, members) {
		return nil, nil
	}
	if err := y.usable(p, path); err != nil {
		return nil, err
	}
	switch {
	case isEmpty(p.value):
		return y.fill(p, members), nil
	case !isBlock(p.value):
		return nil, y.noBlock(p.value, path)
	}
	var edits []edit
	var missing []Member
	pairs := y.pairs(p.value, p.bound)
	for _, m := range members {
		old := find(pairs, m.Key)
		if old.key == nil {
			missing = append(missing, m)
			continue
		}
		inner, err := y.change(old, join(path, m.Key), m.Value)
		if err != nil {
			return nil, err
		}
		edits = append(edits, inner...)
	}
	if len(missing) == 0 {
		return edits, nil
	}
	added, err := y.add(p, missing)
	return append(edits, added...), err
}

// change sets the value of a pair.
func (y *yamlTree) change(p yamlPair, path []string, v any) ([]edit, error) {
	if table, ok := v.([]Member); ok {
		return y.update(p, path, table)
	}
	if same(p.value, v) {
		return nil, nil
	}
	if err := y.usable(p, path); err != nil {
		return nil, err
	}
	return y.replace(p, yamlValue(v)), nil
}

// same says whether a value equals the one to set; of a table, whether it holds all members to set.
func same(n *yaml.Node, v any) bool {
	var is any
	if n.Decode(&is) != nil {
		return false
	}
	is = copied(is)
	if table, ok := v.([]Member); ok {
		m, isMap := is.(map[string]any)
		return isMap && reflect.DeepEqual(m, merged(m, table))
	}
	return reflect.DeepEqual(is, plain(v))
}

// replace writes another value. Comments in the old one are put on lines before it.
func (y *yamlTree) replace(p yamlPair, text string) []edit {
	start, _ := y.Colon(p.key)
	end, oneLine := y.ScalarEnd(p.value)
	switch {
	case p.value.Kind == yaml.ScalarNode && p.value.Value == "" && p.value.Style == 0:
		return []edit{{start, start, " " + text}}
	case p.value.Style&yaml.FlowStyle != 0:
		end, oneLine = y.FlowEnd(y.Offset(p.value), y.comments), true
	}
	if !oneLine {
		end = len(bytes.TrimRight(y.src[:y.endOf(p)], " \t\r\n"))
	}
	if oneLine && textpos.LineStart(y.src, y.Offset(p.value)) == p.start {
		start = y.Offset(p.value)
	} else {
		text = " " + text
	}
	var edits []edit
	indent := textpos.Indentation(y.src, y.Offset(p.key))
	for _, c := range y.commentsIn(textpos.Between(start, end)) {
		edits = append(edits, edit{p.start, p.start, indent + string(y.src[c.Start:c.End]) + y.newline})
	}
	return append(edits, edit{start, end, text})
}

func (y *yamlTree) drop(path, keys []string) ([]edit, error) { return y.remove(path, keys, false) }

func (y *yamlTree) remove(path, names []string, prune bool) ([]edit, error) {
	if y.root == nil {
		return nil, nil
	}
	at, rest, err := y.walk(path)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	var cuts []textpos.Span
	kept := 0
	for _, name := range names {
		if _, there := lookup(y.doc, join(path, name)); there && !isBlock(at.value) {
			return nil, y.noBlock(at.value, path)
		}
	}
	for _, p := range y.pairs(at.value, at.bound) {
		if find([]yamlPair{p}, p.key.Value).key == nil || !slices.Contains(names, p.key.Value) {
			kept++
			continue
		}
		if err := y.usable(p, join(path, p.key.Value)); err != nil && p.value.Kind != yaml.AliasNode {
			return nil, err
		}
		end := y.endOf(p)
		if keeping().Match(y.src[:p.start]) {
			end += emptyLines(y.src[end:])
		}
		cuts = append(cuts, textpos.Between(p.start, end))
	}
	edits := cutAll(y.src, cuts)
	if kept > 0 || len(cuts) == 0 || len(path) == 0 {
		return edits, nil
	}
	if err := y.usable(at, path); err != nil {
		return nil, err
	}
	if prune && y.isEmptyWithout(at, cuts) {
		return y.remove(path[:len(path)-1], path[len(path)-1:], prune)
	}
	colon, _ := y.Colon(at.key)
	return append([]edit{{colon, colon, " {}"}}, edits...), nil
}

// keeping is the head of a block of text that has the empty lines behind it, too: |+ or >+. When what stands between is
// removed, others must not become part of it.
var keeping = lazyregexp.New(`[|>]\d?\+`)

// emptyLines is the length of the empty lines that a text begins with.
func emptyLines(text []byte) (n int) {
	for {
		line, _, whole := bytes.Cut(text[n:], []byte("\n"))
		if !whole || len(bytes.TrimSpace(line)) > 0 {
			return n
		}
		n += len(line) + 1
	}
}

// isEmptyWithout says whether a container has no comment outside of the parts that are cut.
func (y *yamlTree) isEmptyWithout(p yamlPair, cuts []textpos.Span) bool {
	n := len(y.commentsIn(textpos.Between(p.start, y.endOf(p))))
	for _, c := range cuts {
		n -= len(y.commentsIn(c))
	}
	return n == 0
}

// lines are those of members in block style.
func (y *yamlTree) lines(members []Member, indent string) string {
	var b strings.Builder
	for _, m := range members {
		switch v := m.Value.(type) {
		case verbatim:
			b.WriteString(reindent(string(v), indent))
		case []Member:
			if len(v) > 0 {
				b.WriteString(
					indent + yamlKey(m.Key) + ":" + y.newline + y.lines(v, indent+strings.Repeat(" ", y.step)),
				)
				continue
			}
			b.WriteString(indent + yamlKey(m.Key) + ": {}" + y.newline)
		default:
			b.WriteString(indent + yamlKey(m.Key) + ": " + yamlValue(v) + y.newline)
		}
	}
	return b.String()
}

// reindent moves lines sideways, so that the first is indented as given.
func reindent(text, indent string) string {
	old := len(text) - len(strings.TrimLeft(text, " "))
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch spaces := len(line) - len(strings.TrimLeft(line, " ")); {
		case textpos.IsBlank([]byte(line)):
			b.WriteString(line)
		default:
			b.WriteString(indent + line[min(old, spaces):])
		}
	}
	return b.String()
}

var bareKey = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// yamlKey leaves a key bare where that is the string that it says.
func yamlKey(s string) string {
	var v any
	if bareKey().MatchString(s) && yaml.Unmarshal([]byte(s), &v) == nil && v == any(s) {
		return s
	}
	return strconv.Quote(s)
}

func yamlValue(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}
