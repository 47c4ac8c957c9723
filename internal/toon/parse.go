package toon

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// A node is a JSON value.
type node struct {
	kind  kind
	value string         // of a string, what it says; of a literal, how TOON writes it
	nodes []*node        // of an array; of an object, in the order of keys
	keys  []string       // of an object
	index map[string]int // of an object: where its keys are
}

type kind uint8

const (
	literal kind = iota // a number, true, false or null
	text
	array
	object
)

// parse reads one JSON value.
func parse(data []byte) (*node, error) {
	// The token stream is lenient about what follows the value, and does not bound nesting.
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return next(d), nil
}

// next reads the next value of the stream, which is known to be valid.
func next(d *json.Decoder) *node {
	token, _ := d.Token()
	switch t := token.(type) {
	case string:
		return &node{kind: text, value: t}
	case json.Number:
		return &node{kind: literal, value: canonical(t.String())}
	case bool:
		return &node{kind: literal, value: strconv.FormatBool(t)}
	case json.Delim:
		n := &node{kind: array}
		if t == '{' {
			n.kind, n.index = object, map[string]int{}
		}
		for d.More() {
			if n.kind == array {
				n.nodes = append(n.nodes, next(d))
				continue
			}
			key, _ := d.Token()
			n.set(key.(string), next(d))
		}
		d.Token() // the closing bracket
		return n
	default:
		return &node{kind: literal, value: "null"}
	}
}

// set gives the object n a field. A key that is there already keeps its place.
func (n *node) set(key string, value *node) {
	if i, ok := n.index[key]; ok {
		n.nodes[i] = value
		return
	}
	n.index[key] = len(n.keys)
	n.keys = append(n.keys, key)
	n.nodes = append(n.nodes, value)
}

// field is the value of key in the object n, nil if it is not there. It is likely to be the i-th.
func (n *node) field(i int, key string) *node {
	if i < len(n.keys) && n.keys[i] == key {
		return n.nodes[i]
	}
	if i, ok := n.index[key]; ok {
		return n.nodes[i]
	}
	return nil
}

func (n *node) composite() bool { return n.kind == array || n.kind == object }
