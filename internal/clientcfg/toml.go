package clientcfg

import (
	"encoding/json"
	"errors"
	"strings"

	"codemode/internal/clientcfg/tomldoc"

	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML makes of TOML the tree that JSON makes, so that entries are read one way.
func parseTOML(data []byte) (node, place, error) {
	doc, err := tomldoc.Parse(data)
	if err != nil {
		var at place
		var te *tomldoc.Error
		if errors.As(err, &te) {
			at = place{te.Line, te.Column}
		}
		return node{}, at, err
	}
	t := tomlTree{cursor: cursor{data: data}}
	root := node{value: &object{}, place: place{1, 1}}
	for _, s := range doc.Sections {
		table := t.descend(root, s)
		for _, p := range s.Pairs {
			t.set(table, p)
		}
	}
	return root, place{}, nil
}

type tomlTree struct{ cursor cursor }

// descend finds or makes the table that a header names. The last name of an array's header makes an item.
func (t *tomlTree) descend(n node, s tomldoc.Section) node {
	for i, name := range s.Name {
		item := s.Array && i == len(s.Name)-1
		var fresh any = &object{}
		if item {
			fresh = &list{}
		}
		n = t.child(n, name, s.Starts[i], fresh)
		l, ok := n.value.(*list)
		if !ok {
			continue
		}
		if item {
			l.items = append(l.items, node{value: &object{}, place: t.cursor.place(s.Starts[i])})
		}
		n = l.items[len(l.items)-1]
	}
	return n
}

// child is the member of that name; it is made where there is none.
func (t *tomlTree) child(n node, name string, start int, fresh any) node {
	if c, ok := n.get(name); ok {
		return c
	}
	at := t.cursor.place(start)
	c := node{value: fresh, place: at}
	if o, ok := n.value.(*object); ok {
		o.members = append(o.members, member{name, at, c})
	}
	return c
}

func (t *tomlTree) set(n node, p tomldoc.Pair) {
	last := len(p.Name) - 1
	for i, name := range p.Name[:last] {
		n = t.child(n, name, p.Starts[i], &object{})
	}
	at := t.cursor.place(p.Starts[last])
	value := t.value(p.Value, at)
	if o, ok := n.value.(*object); ok {
		o.members = append(o.members, member{p.Name[last], at, value})
	}
}

// value is placed where it begins; an array, where its key does.
func (t *tomlTree) value(v tomldoc.Value, at place) node {
	n := node{place: at}
	if v.Start >= 0 {
		n.place = t.cursor.place(v.Start)
	}
	switch v.Kind {
	case unstable.InlineTable:
		n.value = &object{}
		for _, p := range v.Pairs {
			t.set(n, p)
		}
	case unstable.Array:
		l := &list{}
		for _, item := range v.Items {
			l.items = append(l.items, t.value(item, n.place))
		}
		n.value = l
	case unstable.Bool:
		n.value = v.Text == "true"
	case unstable.Integer, unstable.Float:
		n.value = json.Number(strings.ReplaceAll(v.Text, "_", ""))
	default: // strings and times
		n.value = v.Text
	}
	return n
}
