package splice

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"

	"go.yaml.in/yaml/v3"
)

// yamlList is a YAML document whose entries are the items of a block sequence, each with its name in "name". Entries
// are taken out of it and put back; none is made or changed.
type yamlList struct{ *yamlTree }

func parseYAMLList(src []byte) (tree, error) {
	y, err := parseYAML(src)
	if err != nil {
		return nil, err
	}
	return &yamlList{y}, nil
}

// yamlItem is an item of the sequence, and the lines it has.
type yamlItem struct {
	name string
	textpos.Span
}

// items are those of the sequence at a path, and the pair that it is the value of.
func (y *yamlList) items(path []string) (items []yamlItem, at yamlPair, err error) {
	if y.root == nil || len(path) == 0 {
		return nil, at, nil
	}
	at, rest, err := y.walk(path)
	if err != nil || len(rest) > 0 {
		return nil, yamlPair{}, err
	}
	switch v := at.value; {
	case isEmpty(v), v.Kind == yaml.SequenceNode && len(v.Content) == 0:
		return nil, at, nil
	case v.Kind != yaml.SequenceNode:
		return nil, at, refuse(y.src, y.Offset(v), fmt.Sprintf("the value of %s is not a list", quoted(path)))
	case v.Style&yaml.FlowStyle != 0:
		why := "the list %s is written in brackets; write it on lines of its own"
		return nil, at, refuse(y.src, y.Offset(v), fmt.Sprintf(why, quoted(path)))
	}
	if err := y.usable(at, path); err != nil {
		return nil, at, err
	}
	for _, n := range at.value.Content {
		start := y.lineOf(n)
		if n.Kind != yaml.MappingNode || y.src[textpos.FirstText(y.src, start)] != '-' {
			const why = "an item of the list is written in a way that is not edited; change it by hand"
			return nil, at, refuse(y.src, y.Offset(n), why)
		}
		items = append(items, yamlItem{find(y.pairs(n, 0), "name").text(), textpos.Between(start, 0)})
	}
	for i := range items {
		end := y.endOf(at)
		if i+1 < len(items) {
			end = items[i+1].Start
		}
		items[i].End = y.before(end, items[i].Start)
	}
	return items, at, nil
}

// text is the value of a pair that is one.
func (p yamlPair) text() string {
	if p.value == nil || p.value.Kind != yaml.ScalarNode {
		return ""
	}
	return p.value.Value
}

// before is where the empty lines and comments begin that stand before an offset: they belong to what follows.
func (y *yamlList) before(end, start int) int {
	for {
		line := textpos.LineStart(y.src, end-1)
		at := textpos.FirstText(y.src, line)
		comment := slices.ContainsFunc(y.comments, func(c textpos.Span) bool { return c.Start == at })
		if line <= start || !comment && !textpos.IsBlank(y.src[line:end]) {
			return end
		}
		end = line
	}
}

func (y *yamlList) entries(path []string) (names []string, err error) {
	items, _, err := y.items(path)
	for _, it := range items {
		if it.name != "" && !slices.Contains(names, it.name) {
			names = append(names, it.name)
		}
	}
	return names, err
}

func (y *yamlList) once(path []string) error {
	last := len(path) - 1
	items, _, err := y.items(path[:last])
	items = slices.DeleteFunc(items, func(it yamlItem) bool { return it.name != path[last] })
	if len(items) > 1 {
		return refuseTwice(y.src, items[1].Start, path)
	}
	return err
}

func (y *yamlList) get(path []string) (any, bool) {
	if v, ok := lookup(y.doc, path); ok || len(path) == 0 {
		return copied(v), ok
	}
	last := len(path) - 1
	list, _ := lookup(y.doc, path[:last])
	items, _ := list.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && m["name"] == path[last] {
			return copied(m), true
		}
	}
	return nil, false
}

func (y *yamlList) raw(path []string) ([]byte, bool) {
	last := len(path) - 1
	if last < 0 {
		return nil, false
	}
	items, _, err := y.items(path[:last])
	i := slices.IndexFunc(items, func(it yamlItem) bool { return it.name == path[last] })
	if err != nil || i < 0 {
		return nil, false
	}
	text := y.src[items[i].Start:items[i].End]
	return append(bytes.TrimRight(bytes.Clone(text), "\r\n"), y.newline...), true
}

func (y *yamlList) remove(path, names []string, _ bool) ([]edit, error) {
	items, at, err := y.items(path)
	if err != nil {
		return nil, err
	}
	var cuts []textpos.Span
	for _, it := range items {
		if slices.Contains(names, it.name) {
			cuts = append(cuts, it.Span)
		}
	}
	edits := cutAll(y.src, cuts)
	if len(cuts) == 0 || len(cuts) < len(items) {
		return edits, nil
	}
	colon, _ := y.Colon(at.key)
	return append([]edit{{colon, colon, " []"}}, edits...), nil
}

func (y *yamlList) setRaw(path []string, raw []byte) ([]edit, error) {
	last := len(path) - 1
	items, at, err := y.items(path[:last])
	switch {
	case err != nil:
		return nil, err
	case at.key == nil:
		return nil, &RefusedError{Reason: fmt.Sprintf("there is no list %s any more", quoted(path[:last]))}
	case len(items) > 0:
		text := reindent(string(raw), textpos.Indentation(y.src, textpos.FirstText(y.src, items[0].Start)))
		if i := slices.IndexFunc(items, func(it yamlItem) bool { return it.name == path[last] }); i >= 0 {
			return []edit{{items[i].Start, items[i].End, text}}, nil
		}
		return []edit{insertLines(y.src, items[len(items)-1].End, text, y.newline)}, nil
	}
	colon, _ := y.Colon(at.key)
	end := colon
	if at.value.Kind == yaml.SequenceNode {
		end = y.FlowEnd(y.Offset(at.value), y.comments)
	}
	text := reindent(string(raw), textpos.Indentation(y.src, y.Offset(at.key))+strings.Repeat(" ", y.step))
	return []edit{{colon, end, y.newline + strings.TrimRight(text, "\r\n")}}, nil
}

func (y *yamlList) set([]string, []Member) ([]edit, error) { return nil, errList }
func (y *yamlList) drop(_, _ []string) ([]edit, error)     { return nil, errList }

var errList = &RefusedError{Reason: "an item of a list is not changed; change it by hand"}

func (y *yamlList) differs(other tree, path, names []string) string {
	after := other.(*yamlList)
	if y.commentsBeside(path, names) > after.commentsBeside(path, names) {
		return "a comment outside of the entry is lost"
	}
	if !reflect.DeepEqual(y.without(path, names), after.without(path, names)) {
		return "a value beside the entry has changed"
	}
	return ""
}

// without is the document without some items; a list that is empty is as good as none.
func (y *yamlList) without(path, names []string) any {
	doc := copied(y.doc)
	last := len(path) - 1
	table, _ := lookup(doc, path[:last])
	m, ok := table.(map[string]any)
	if !ok {
		return doc
	}
	items, ok := m[path[last]].([]any)
	items = slices.DeleteFunc(items, func(item any) bool {
		entry, _ := item.(map[string]any)
		name, _ := entry["name"].(string)
		return slices.Contains(names, name)
	})
	if m[path[last]] = items; len(items) == 0 && (ok || m[path[last]] == nil) {
		delete(m, path[last])
	}
	return doc
}

func (y *yamlList) commentsBeside(path, names []string) int {
	n := len(y.comments)
	items, _, _ := y.items(path)
	for _, it := range items {
		if slices.Contains(names, it.name) {
			n -= len(y.commentsIn(it.Span))
		}
	}
	return n
}
