package clientcfg

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML into the tree that JSON makes, so that entries are read one way.
func parseTOML(data []byte) (node, place, error) {
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil { // the parser below does not know what may not be twice
		var at place
		var de *toml.DecodeError
		if errors.As(err, &de) {
			at.line, at.column = de.Position()
		}
		return node{}, at, errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	t := tomlTree{cursor: cursor{data: data}}
	root := node{value: &object{}, place: place{1, 1}}
	table := root
	t.parser.Reset(data)
	for t.parser.NextExpression() {
		switch e := t.parser.Expression(); e.Kind {
		case unstable.Table:
			table = t.descend(root, e, false)
		case unstable.ArrayTable:
			table = t.descend(root, e, true)
		case unstable.KeyValue:
			t.set(table, e)
		}
	}
	return root, place{}, t.parser.Error()
}

type tomlTree struct {
	parser unstable.Parser
	cursor cursor
}

// descend finds or makes the table that a header names. The last name of an array's header makes an item.
func (t *tomlTree) descend(n node, e *unstable.Node, array bool) node {
	for it := e.Key(); it.Next(); {
		var fresh any = &object{}
		if array && it.IsLast() {
			fresh = &list{}
		}
		n = t.child(n, it.Node(), fresh)
		l, ok := n.value.(*list)
		if !ok {
			continue
		}
		if array && it.IsLast() {
			l.items = append(l.items, node{value: &object{}, place: t.place(it.Node())})
		}
		n = l.items[len(l.items)-1]
	}
	return n
}

// child is the member of that name; it is made where there is none.
func (t *tomlTree) child(n node, key *unstable.Node, fresh any) node {
	name := string(key.Data)
	if c, ok := n.get(name); ok {
		return c
	}
	at := t.place(key)
	c := node{value: fresh, place: at}
	if o, ok := n.value.(*object); ok {
		o.members = append(o.members, member{name, at, c})
	}
	return c
}

func (t *tomlTree) set(n node, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		if !it.IsLast() {
			n = t.child(n, it.Node(), &object{})
			continue
		}
		at := t.place(it.Node())
		value := t.value(e.Value(), at)
		if o, ok := n.value.(*object); ok {
			o.members = append(o.members, member{string(it.Node().Data), at, value})
		}
	}
}

func (t *tomlTree) value(e *unstable.Node, at place) node {
	n := node{place: at}
	if e.Raw.Length > 0 {
		n.place = t.place(e)
	}
	switch e.Kind {
	case unstable.InlineTable:
		n.value = &object{}
		for it := e.Children(); it.Next(); {
			t.set(n, it.Node())
		}
	case unstable.Array:
		l := &list{}
		for it := e.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				l.items = append(l.items, t.value(it.Node(), n.place))
			}
		}
		n.value = l
	case unstable.Bool:
		n.value = string(e.Data) == "true"
	case unstable.Integer, unstable.Float:
		n.value = json.Number(strings.ReplaceAll(string(e.Data), "_", ""))
	default: // strings and times
		n.value = string(e.Data)
	}
	return n
}

func (t *tomlTree) place(e *unstable.Node) place { return t.cursor.place(int(e.Raw.Offset)) }
