package splice

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// offset is where a node begins; the parser counts columns in characters.
func (y *yamlTree) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(y.starts) {
		return len(y.src)
	}
	at := y.starts[n.Line-1]
	for range n.Column - 1 {
		if at >= len(y.src) {
			break
		}
		_, size := utf8.DecodeRune(y.src[at:])
		at += size
	}
	return at
}

// colon is the place behind the colon of a key on one line.
func (y *yamlTree) colon(key *yaml.Node) (int, bool) {
	end, ok := y.scalarEnd(key)
	if !ok {
		return 0, false
	}
	end += len(y.src[end:]) - len(bytes.TrimLeft(y.src[end:], " \t"))
	if end == len(y.src) || y.src[end] != ':' {
		return 0, false
	}
	return end + 1, true
}

// scalarEnd is where a scalar ends that is in quotes, or on one line.
func (y *yamlTree) scalarEnd(n *yaml.Node) (int, bool) {
	start := y.offset(n)
	switch {
	case n.Kind != yaml.ScalarNode, n.Anchor != "", n.Style&yaml.TaggedStyle != 0:
		return 0, false
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return y.quotedEnd(start), true
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, false
	}
	end := start + len(n.Value)
	return end, bytes.HasPrefix(y.src[start:], []byte(n.Value))
}

// quotedEnd is behind the closing quote of what begins at an offset, be it with a tag.
func (y *yamlTree) quotedEnd(at int) int {
	n := bytes.IndexAny(y.src[at:], `"'`)
	if n < 0 {
		return len(y.src)
	}
	at += n
	quote := y.src[at]
	for at++; at < len(y.src); at++ {
		switch c := y.src[at]; {
		case c == '\\' && quote == '"':
			at++
		case c == quote && quote == '\'' && at+1 < len(y.src) && y.src[at+1] == quote:
			at++
		case c == quote:
			return at + 1
		}
	}
	return len(y.src)
}

// blockEnd is behind the lines of a block scalar that begins at an offset.
func (y *yamlTree) blockEnd(at int) int {
	header := y.src[at:nextLine(y.src, at)]
	least := len(indentation(y.src, firstText(y.src, lineStart(y.src, at)))) + 1
	explicit := bytes.ContainsAny(bytes.SplitN(header, []byte("#"), 2)[0], "123456789")
	end := nextLine(y.src, at)
	for line := end; line < len(y.src); line = nextLine(y.src, line) {
		next := nextLine(y.src, line)
		text := y.src[line:next]
		if isBlank(text) {
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

// firstText is where the text of the line that begins at an offset begins.
func firstText(src []byte, at int) int {
	for at < len(src) && src[at] == ' ' {
		at++
	}
	return at
}

// leafEnd is a place that the value of a key reaches to: more than its last line may look like a comment, where
// that is of a string.
func (y *yamlTree) leafEnd(key, value *yaml.Node) int {
	switch {
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return y.quotedEnd(y.offset(value))
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return max(y.offset(value), y.blockEnd(y.offset(value))-1)
	case value.Kind == yaml.ScalarNode && value.Value == "" && key != nil:
		return y.offset(key) // where nothing is, the parser gives no place
	case len(value.Content) == 0:
		return y.offset(value)
	}
	n := len(value.Content)
	if value.Kind == yaml.MappingNode {
		return y.leafEnd(value.Content[n-2], value.Content[n-1])
	}
	return max(y.offset(value), y.leafEnd(nil, value.Content[n-1]))
}

// endOf is behind the lines of a pair: those of its value, and comments right below that are indented further
// than its key.
func (y *yamlTree) endOf(p yamlPair) int {
	end := min(nextLine(y.src, y.leafEnd(p.key, p.value)), max(p.bound, nextLine(y.src, p.start)))
	for line := end; line < p.bound; line = nextLine(y.src, line) {
		if at := firstText(y.src, line); !isBlank(y.src[line:nextLine(y.src, line)]) && y.src[at] != '#' {
			end = nextLine(y.src, line)
		}
	}
	for end < p.bound {
		at := firstText(y.src, end)
		if at == len(y.src) || y.src[at] != '#' || at-end < p.key.Column {
			break
		}
		end = nextLine(y.src, end)
	}
	return end
}

// flowEnd is behind the closing bracket of the flow collection that begins at an offset.
func (y *yamlTree) flowEnd(at int) int {
	depth := 0
	for at < len(y.src) {
		if i, found := slices.BinarySearchFunc(
			y.comments, at, func(c span, at int) int { return c.start - at },
		); found {
			at = y.comments[i].end
			continue
		}
		switch y.src[at] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"', '\'':
			if bytes.IndexByte([]byte(" \t\r\n,[{:"), y.src[at-1]) >= 0 {
				at = y.quotedEnd(at)
				continue
			}
		}
		at++
	}
	return len(y.src)
}

// findComments finds the comments of a document: a # after white space, outside of what is quoted.
func (y *yamlTree) findComments(root *yaml.Node) []span {
	strings := y.strings(root, nil)
	var found []span
	for at := 0; at < len(y.src); at++ {
		if len(strings) > 0 && at >= strings[0].start {
			at = max(at, strings[0].end) - 1
			strings = strings[1:]
			continue
		}
		if y.src[at] != '#' || at > 0 && bytes.IndexByte([]byte(" \t\n"), y.src[at-1]) < 0 {
			continue
		}
		end := at + len(bytes.TrimRight(y.src[at:nextLine(y.src, at)], "\r\n"))
		found = append(found, span{at, end})
		at = end
	}
	return found
}

// strings adds the places of the strings below a node that may have a # in them; they ascend.
func (y *yamlTree) strings(n *yaml.Node, into []span) []span {
	if n == nil {
		return into
	}
	start := y.offset(n)
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		into = append(into, span{start, y.quotedEnd(start)})
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		into = append(into, span{nextLine(y.src, start), y.blockEnd(start)})
	}
	for _, c := range n.Content {
		into = y.strings(c, into)
	}
	return into
}
