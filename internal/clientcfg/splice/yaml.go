package splice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
	"codemode/internal/clientcfg/yamldoc"

	"go.yaml.in/yaml/v3"
)

// yamlTree is a YAML document of one block mapping.
type yamlTree struct {
	*yamldoc.Document
	src      []byte
	root     *yaml.Node // nil where the document is empty
	doc      any
	end      int // where the document ends
	step     int // of indentation
	newline  string
	comments []textpos.Span
}

func parseYAML(src []byte) (*yamlTree, error) {
	if at := oddLineEnd(src); at >= 0 {
		return nil, refuse(src, at, "a line ends with something else than LF or CRLF")
	}
	doc, err := yamldoc.Parse(src)
	if err != nil {
		return nil, noYAML(err)
	}
	values, err := doc.Values()
	switch {
	case err != nil:
		return nil, noYAML(err)
	case doc.More:
		return nil, &RefusedError{Reason: "it has more than one document"}
	}
	y := &yamlTree{
		Document: doc, src: src, root: doc.Root, doc: copied(values),
		end: doc.End(), step: 2, newline: lineEnd(src), comments: doc.Comments(),
	}
	if r := y.root; r != nil {
		y.findStep(r)
		if r.Kind == yaml.ScalarNode && r.Value == "" && r.Anchor == "" && r.Style == 0 {
			y.root = nil
		}
	}
	return y, nil
}

// oddLineEnd is where there is a line end of YAML 1.1 that other programs do not take for one, or -1.
func oddLineEnd(src []byte) int {
	for at := bytes.IndexByte(src, '\r'); at >= 0; {
		if !bytes.HasPrefix(src[at:], []byte("\r\n")) {
			return at
		}
		next := bytes.IndexByte(src[at+1:], '\r')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return bytes.IndexAny(src, "\u0085\u2028\u2029")
}

func noYAML(err error) error {
	re := &RefusedError{Reason: "it is not YAML, or has a key twice"}
	var ye *yamldoc.Error
	if errors.As(err, &ye) && ye.Line > 0 {
		re.Line, re.Column = ye.Line, 1
	}
	return re
}

// findStep sets the step of indentation to that of the first mapping inside another.
func (y *yamlTree) findStep(m *yaml.Node) {
	if !isBlock(m) {
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if v := m.Content[i+1]; isBlock(v) && v.Content[0].Column > m.Content[i].Column {
			y.step = v.Content[0].Column - m.Content[i].Column
			return
		}
	}
}

func isBlock(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// isEmpty says whether a value is null or an empty mapping.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" || n.Kind == yaml.MappingNode && len(n.Content) == 0
}

// yamlPair is a key, its value, and the lines that they may have.
type yamlPair struct {
	key, value *yaml.Node
	start      int // of the line of the key
	bound      int // where the lines of what follows begin
}

// pairs are those of a block mapping that ends before an offset.
func (y *yamlTree) pairs(m *yaml.Node, bound int) []yamlPair {
	var all []yamlPair
	for i := 0; i+1 < len(m.Content); i += 2 {
		p := yamlPair{m.Content[i], m.Content[i+1], y.lineOf(m.Content[i]), bound}
		if i+2 < len(m.Content) {
			p.bound = y.lineOf(m.Content[i+2])
		}
		all = append(all, p)
	}
	return all
}

func (y *yamlTree) lineOf(n *yaml.Node) int { return textpos.LineStart(y.src, y.Offset(n)) }

// find is the pair of a name; its key is nil where there is none.
func find(pairs []yamlPair, name string) yamlPair {
	for _, p := range pairs {
		if p.key.Kind == yaml.ScalarNode && p.key.Value == name {
			return p
		}
	}
	return yamlPair{}
}

// walk follows a path through block mappings. It stops at the pair whose value is none, or at the mapping that
// has no pair of the next name.
func (y *yamlTree) walk(path []string) (at yamlPair, rest []string, err error) {
	at = yamlPair{value: y.root, bound: y.end}
	if y.root.Kind != yaml.MappingNode {
		return at, nil, refuse(y.src, y.Offset(y.root), "the document is not a mapping")
	}
	for i, name := range path {
		if at.key != nil {
			if err := y.usable(at, path[:i]); err != nil {
				return at, nil, err
			}
		}
		switch v := at.value; {
		case isEmpty(v):
			return at, path[i:], nil
		case !isBlock(v):
			return at, nil, y.noBlock(v, path[:i])
		}
		next := find(y.pairs(at.value, at.bound), name)
		if next.key == nil {
			return at, path[i:], nil
		}
		at = next
	}
	return at, nil, nil
}

func (y *yamlTree) noBlock(v *yaml.Node, path []string) error {
	what := "is not a mapping"
	if v.Kind == yaml.MappingNode {
		what = "is written in braces; write it on lines of its own"
	}
	if len(path) == 0 {
		return refuse(y.src, y.Offset(v), "the document "+what)
	}
	return refuse(y.src, y.Offset(v), fmt.Sprintf("the value of %s %s", quoted(path), what))
}

// usable refuses a pair that is not alone on its lines, or whose value is shared with others.
func (y *yamlTree) usable(p yamlPair, path []string) error {
	at := y.Offset(p.key)
	_, ok := y.Colon(p.key)
	switch {
	case p.value.Kind == yaml.AliasNode, p.value.Anchor != "", p.key.Anchor != "":
		return refuse(y.src, at, fmt.Sprintf("%s has an anchor or is an alias; write it out by hand", quoted(path)))
	case !ok, !onlySpaces(y.src[p.start:at]), p.value.Style&yaml.TaggedStyle != 0:
		return refuse(
			y.src, at, fmt.Sprintf("%s is written in a way that is not edited; change it by hand", quoted(path)),
		)
	}
	return nil
}

func (y *yamlTree) entries(path []string) ([]string, error) {
	if _, ok := lookup(y.doc, path); !ok || y.root == nil {
		return nil, nil
	}
	n := y.root
	for _, name := range path {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		p := find(y.pairs(n, 0), name)
		if p.key == nil {
			return nil, nil // it is merged from elsewhere
		}
		n = p.value
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode && !isEmpty(n) {
		return nil, y.noBlock(n, path)
	}
	names := []string{}
	for _, p := range y.pairs(n, 0) {
		if p.key.ShortTag() != "!!merge" {
			names = append(names, p.key.Value)
		}
	}
	return names, nil
}

func (y *yamlTree) once([]string) error { return nil } // a key that is there twice is no YAML

func (y *yamlTree) get(path []string) (any, bool) {
	v, ok := lookup(y.doc, path)
	return copied(v), ok
}

func (y *yamlTree) commentCount() int { return len(y.comments) }

func (y *yamlTree) differs(other tree, path, names []string) string {
	return differsBeside(y, other.(*yamlTree), path, names)
}

func (y *yamlTree) without(path, names []string) any {
	doc, ok := copied(y.doc).(map[string]any)
	if !ok && y.root != nil {
		return y.doc
	}
	strip(doc, path, names)
	if len(doc) == 0 {
		return nil
	}
	return doc
}

// commentsBeside counts the comments outside of the entries.
func (y *yamlTree) commentsBeside(path, names []string) int {
	n := len(y.comments)
	if y.root == nil {
		return n
	}
	for _, name := range names {
		p, rest, err := y.walk(join(path, name))
		if err != nil || len(rest) > 0 {
			continue
		}
		n -= len(y.commentsIn(textpos.Between(p.start, y.endOf(p))))
	}
	return n
}

func (y *yamlTree) commentsIn(r textpos.Span) []textpos.Span {
	outside := func(c textpos.Span) bool { return c.Start < r.Start || c.End > r.End }
	return slices.DeleteFunc(slices.Clone(y.comments), outside)
}

func (y *yamlTree) raw(path []string) ([]byte, bool) {
	if y.root == nil || len(path) == 0 {
		return nil, false
	}
	p, rest, err := y.walk(path)
	if err != nil || len(rest) > 0 || y.usable(p, path) != nil {
		return nil, false
	}
	text := string(y.src[p.start:y.endOf(p)])
	if !strings.HasSuffix(text, "\n") {
		text += y.newline
	}
	return []byte(text), true
}

// endOf is behind the lines of a pair: those of its value, and comments right below that are indented further
// than its key.
func (y *yamlTree) endOf(p yamlPair) int {
	end := min(textpos.NextLine(y.src, y.LeafEnd(p.key, p.value)), max(p.bound, textpos.NextLine(y.src, p.start)))
	for line := end; line < p.bound; line = textpos.NextLine(y.src, line) {
		next := textpos.NextLine(y.src, line)
		if !textpos.IsBlank(y.src[line:next]) && y.src[textpos.FirstText(y.src, line)] != '#' {
			end = next
		}
	}
	for end < p.bound {
		at := textpos.FirstText(y.src, end)
		if at == len(y.src) || y.src[at] != '#' || at-end < p.key.Column {
			break
		}
		end = textpos.NextLine(y.src, end)
	}
	return end
}
