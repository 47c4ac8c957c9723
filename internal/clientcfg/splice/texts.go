package splice

import (
	"bytes"
	"slices"

	"codemode/internal/clientcfg/jsonc"
	"codemode/internal/clientcfg/textpos"
	"codemode/internal/clientcfg/tomldoc"

	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"
)

// A Text is a value of a document that is text, and where it stands, with the quotes that it may have.
type Text struct {
	textpos.Span
	Name  string // of the nearest member that it is in
	Item  bool   // of a list
	Value string
}

// Texts are all of a document in their order, those of members included that are there twice.
func (d *Document) Texts() []Text {
	texts := d.tree.texts()
	if bytes.HasPrefix(d.src, []byte(byteOrderMark)) {
		for i := range texts {
			texts[i].Start += len(byteOrderMark)
			texts[i].End += len(byteOrderMark)
		}
	}
	return texts
}

func (t *jsonTree) texts() []Text {
	if t.empty {
		return nil
	}
	r := jsonTexts{tree: t, d: jsonc.NewDecoder(t.plain, 0, len(t.src))}
	r.value("", false)
	return r.found
}

// jsonTexts reads a document that was passed before.
type jsonTexts struct {
	tree  *jsonTree
	d     jsonc.Decoder
	found []Text
}

func (r *jsonTexts) value(name string, item bool) {
	kind := r.d.PeekKind()
	if kind != '{' && kind != '[' {
		start, end, err := r.d.Next()
		if at := textpos.Between(start, end); err == nil && kind == '"' {
			r.found = append(r.found, Text{at, name, item, jsonc.Unquote(r.tree.text(at))})
		}
		return
	}
	_, err := r.d.Bracket()
	for next := r.d.PeekKind(); err == nil && next != '}' && next != ']'; next = r.d.PeekKind() {
		if kind == '{' {
			var at textpos.Span
			if at.Start, at.End, err = r.d.Next(); err != nil {
				return
			}
			name = jsonc.Unquote(r.tree.text(at))
		}
		r.value(name, kind == '[')
	}
	_, _ = r.d.Bracket()
}

func (t *tomlTree) texts() (found []Text) {
	for _, s := range t.Sections {
		found = append(found, t.textsOf(s.Pairs)...)
	}
	return found
}

func (t *tomlTree) textsOf(pairs []tomldoc.Pair) (found []Text) {
	for _, p := range pairs {
		found = append(found, t.textsIn(p.Name[len(p.Name)-1], p.Value, p.At, false)...)
	}
	return found
}

func (t *tomlTree) textsIn(name string, v tomldoc.Value, at textpos.Span, item bool) (found []Text) {
	switch v.Kind {
	case unstable.InlineTable:
		return t.textsOf(v.Pairs)
	case unstable.Array:
		end := at.End
		for _, it := range slices.Backward(v.Items) { // where one ends is not known, but where the next begins
			found = append(t.textsIn(name, it, textpos.Between(it.Start, end), true), found...)
			if it.Start > 0 && it.Start < end {
				end = it.Start
			}
		}
	case unstable.String:
		if item {
			at.End = at.Start + len(bytes.TrimRight(t.text(at), " \t\r\n,]"))
		}
		found = append(found, Text{at, name, item, v.Text})
	}
	return found
}

func (y *yamlTree) texts() []Text { return y.textsOf(y.root, "", false) }

func (y *yamlTree) textsOf(n *yaml.Node, name string, item bool) (found []Text) {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			found = append(found, y.textsOf(n.Content[i+1], n.Content[i].Value, false)...)
		}
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			found = append(found, y.textsOf(c, name, true)...)
		}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		found = append(found, Text{y.Scalar(n), name, item, n.Value})
	}
	return found
}
