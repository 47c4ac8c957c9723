package clientcfg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth is how deep values may be nested. Parsers call themselves for each level.
const maxDepth = 1000

// parseJSON reads JSON with comments and trailing commas. Of a large file, only what keep wants is looked
// at; data is overwritten.
func parseJSON(data []byte, keep keeper) (node, place, error) {
	if at := tooDeep(data); at >= 0 {
		return node{}, (&cursor{data: data}).place(at), fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	if len(data) > largeFile {
		thin(data, keep)
	}
	v, err := hujson.Parse(data)
	if err != nil {
		var at place
		if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &at.line, &at.column); scan == nil {
			err = errors.Unwrap(err) // hujson tells the place in its message only
		}
		if strings.HasPrefix(err.Error(), "invalid literal: ") {
			err = errors.New("invalid literal") // what follows is the literal
		}
		return node{}, at, err
	}
	return jsonNode(v, &cursor{data: data}), place{}, nil
}

func jsonNode(v hujson.Value, c *cursor) node {
	n := node{place: c.place(v.StartOffset)}
	switch v := v.Value.(type) {
	case *hujson.Object:
		o := &object{members: make([]member, 0, len(v.Members))}
		for _, m := range v.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			o.members = append(o.members, member{literal(name), c.place(m.Name.StartOffset), jsonNode(m.Value, c)})
		}
		n.value = o
	case *hujson.Array:
		l := &list{items: make([]node, 0, len(v.Elements))}
		for _, e := range v.Elements {
			l.items = append(l.items, jsonNode(e, c))
		}
		n.value = l
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			n.value = literal(v)
		case '0':
			n.value = json.Number(string(v))
		case 't', 'f':
			n.value = v.Bool()
		}
	}
	return n
}

// literal is the text of a JSON string.
func literal(l hujson.Literal) string {
	if len(l) >= 2 && bytes.IndexByte(l, '\\') < 0 {
		return string(l[1 : len(l)-1]) // most of them, and much quicker than decoding
	}
	return l.String()
}

// notStrict finds where a file stops being JSON as its standard has it: the first comment or trailing comma.
func notStrict(data []byte) (offset int, found bool) {
	var syntax *json.SyntaxError
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); errors.As(err, &syntax) {
		return max(0, int(syntax.Offset)-1), true
	}
	return 0, false
}
