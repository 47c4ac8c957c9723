package yamldoc

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/clientcfg/textpos"

	"go.yaml.in/yaml/v3"
)

// Offset is where a node begins; the parser counts columns in characters.
func (d *Document) Offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(d.starts) {
		return len(d.src)
	}
	at := d.starts[n.Line-1]
	for range n.Column - 1 {
		if at >= len(d.src) {
			break
		}
		_, size := utf8.DecodeRune(d.src[at:])
		at += size
	}
	return at
}

// Colon is the place behind the colon of a key on one line.
func (d *Document) Colon(key *yaml.Node) (int, bool) {
	end, ok := d.ScalarEnd(key)
	if !ok {
		return 0, false
	}
	end += len(d.src[end:]) - len(bytes.TrimLeft(d.src[end:], " \t"))
	if end == len(d.src) || d.src[end] != ':' {
		return 0, false
	}
	return end + 1, true
}

// ScalarEnd is where a scalar ends that is in quotes, or on one line.
func (d *Document) ScalarEnd(n *yaml.Node) (int, bool) {
	start := d.Offset(n)
	switch {
	case n.Kind != yaml.ScalarNode, n.Anchor != "", n.Style&yaml.TaggedStyle != 0:
		return 0, false
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return d.quotedEnd(start), true
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, false
	}
	end := start + len(n.Value)
	return end, bytes.HasPrefix(d.src[start:], []byte(n.Value))
}

// Scalar is where the text of a scalar stands, with its quotes, or all its lines.
func (d *Document) Scalar(n *yaml.Node) textpos.Span {
	start := d.Offset(n)
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return textpos.Between(start, d.quotedEnd(start))
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return textpos.Between(textpos.NextLine(d.src, start), d.blockEnd(start))
	}
	const space = " \t\r\n"
	end := start
	for end < len(d.src) && (d.src[end] == '&' || d.src[end] == '!') { // an anchor or a tag
		end += max(1, bytes.IndexAny(d.src[end:], space))
		end = len(d.src) - len(bytes.TrimLeft(d.src[end:], space))
	}
	for _, word := range strings.Fields(n.Value) { // nothing but white space may be between them
		end += max(0, bytes.Index(d.src[end:], []byte(word))) + len(word)
	}
	return textpos.Between(start, min(end, len(d.src)))
}

// quotedEnd is behind the closing quote of what begins at an offset, be it with a tag.
func (d *Document) quotedEnd(at int) int {
	n := bytes.IndexAny(d.src[at:], `"'`)
	if n < 0 {
		return len(d.src)
	}
	at += n
	quote := d.src[at]
	for at++; at < len(d.src); at++ {
		switch c := d.src[at]; {
		case c == '\\' && quote == '"':
			at++
		case c == quote && quote == '\'' && at+1 < len(d.src) && d.src[at+1] == quote:
			at++
		case c == quote:
			return at + 1
		}
	}
	return len(d.src)
}

// blockEnd is behind the lines of a block scalar that begins at an offset.
func (d *Document) blockEnd(at int) int {
	header := d.src[at:textpos.NextLine(d.src, at)]
	least := len(textpos.Indentation(d.src, textpos.FirstText(d.src, textpos.LineStart(d.src, at)))) + 1
	explicit := bytes.ContainsAny(bytes.SplitN(header, []byte("#"), 2)[0], "123456789")
	end := textpos.NextLine(d.src, at)
	for line := end; line < len(d.src); line = textpos.NextLine(d.src, line) {
		next := textpos.NextLine(d.src, line)
		text := d.src[line:next]
		if textpos.IsBlank(text) {
			if bytes.ContainsRune(bytes.SplitN(header, []byte("#"), 2)[0], '+') {
				end = next
			}
			continue
		}
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		if indent < least {
			break
		}
		if !explicit { // the first line tells
			least, explicit = indent, true
		}
		end = next
	}
	return end
}

// LeafEnd is a place that the value of a key reaches to: more than its last line may look like a comment, where
// that is of a string.
func (d *Document) LeafEnd(key, value *yaml.Node) int {
	switch {
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return d.quotedEnd(d.Offset(value))
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return max(d.Offset(value), d.blockEnd(d.Offset(value))-1)
	case value.Kind == yaml.ScalarNode && value.Value == "" && key != nil:
		return d.Offset(key) // where nothing is, the parser gives no place
	case len(value.Content) == 0:
		return d.Offset(value)
	}
	n := len(value.Content)
	if value.Kind == yaml.MappingNode {
		return d.LeafEnd(value.Content[n-2], value.Content[n-1])
	}
	return max(d.Offset(value), d.LeafEnd(nil, value.Content[n-1]))
}

// FlowEnd is behind the closing bracket of the flow collection that begins at an offset, given the comments.
func (d *Document) FlowEnd(at int, comments []textpos.Span) int {
	depth := 0
	for at < len(d.src) {
		if i, found := slices.BinarySearchFunc(
			comments, at, func(c textpos.Span, at int) int { return c.Start - at },
		); found {
			at = comments[i].End
			continue
		}
		switch d.src[at] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"', '\'':
			if bytes.IndexByte([]byte(" \t\r\n,[{:"), d.src[at-1]) >= 0 {
				at = d.quotedEnd(at)
				continue
			}
		}
		at++
	}
	return len(d.src)
}

// Comments are those of the document: a # after white space, outside of what is quoted.
func (d *Document) Comments() []textpos.Span {
	strings := d.strings(d.Root, nil)
	var found []textpos.Span
	for at := 0; at < len(d.src); at++ {
		if len(strings) > 0 && at >= strings[0].Start {
			at = max(at, strings[0].End) - 1
			strings = strings[1:]
			continue
		}
		if d.src[at] != '#' || at > 0 && bytes.IndexByte([]byte(" \t\n"), d.src[at-1]) < 0 {
			continue
		}
		end := at + len(bytes.TrimRight(d.src[at:textpos.NextLine(d.src, at)], "\r\n"))
		found = append(found, textpos.Between(at, end))
		at = end
	}
	return found
}

// strings adds the places of the strings below a node that may have a # in them; they ascend.
func (d *Document) strings(n *yaml.Node, into []textpos.Span) []textpos.Span {
	if n == nil {
		return into
	}
	start := d.Offset(n)
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		into = append(into, textpos.Between(start, d.quotedEnd(start)))
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		into = append(into, textpos.Between(textpos.NextLine(d.src, start), d.blockEnd(start)))
	}
	for _, c := range n.Content {
		into = d.strings(c, into)
	}
	return into
}
