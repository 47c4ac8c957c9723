package clientcfg

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// node is a value in a file of any format, and where it is.
type node struct {
	value any // *object, *list, string, json.Number, bool or nil
	place
}

// place is counted from 1, columns in characters.
type place struct{ line, column int }

type list struct{ items []node }

// object keeps its members in the order of the file, those of one name included.
type object struct{ members []member }

type member struct {
	name string
	place
	value node
}

// get returns the value of a name; of several the last, as the programs that these files belong to take it.
func (n node) get(name string) (node, bool) {
	o, _ := n.value.(*object)
	if o == nil {
		return node{}, false
	}
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].name == name {
			return o.members[i].value, true
		}
	}
	return node{}, false
}

// at follows names downward.
func (n node) at(names ...string) (node, bool) {
	for _, name := range names {
		var ok bool
		if n, ok = n.get(name); !ok {
			return node{}, false
		}
	}
	return n, true
}

// text is the text of what can be written as one: people write "PORT": 3000.
func (n node) text() (string, bool) {
	switch v := n.value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// isEmpty says whether there is nothing in it.
func (n node) isEmpty() bool {
	switch v := n.value.(type) {
	case *object:
		return len(v.members) == 0
	case *list:
		return len(v.items) == 0
	}
	return n.value == nil
}

// texts are the texts of a list; ok is false where it is none, or has something else in it.
func (n node) texts() (texts []string, ok bool) {
	l, ok := n.value.(*list)
	if !ok {
		return nil, false
	}
	texts = make([]string, 0, len(l.items))
	for _, item := range l.items {
		s, ok := item.text()
		if !ok {
			return nil, false
		}
		texts = append(texts, s)
	}
	return texts, true
}

// cursor turns offsets into places. It is quick where they ascend.
type cursor struct {
	data         []byte
	at           int
	line, column int // of at, counted from 0
}

func (c *cursor) place(offset int) place {
	if offset < c.at {
		*c = cursor{data: c.data}
	}
	passed := c.data[c.at:offset]
	if lines := bytes.Count(passed, []byte("\n")); lines > 0 {
		c.line += lines
		c.column = 0
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	c.column += utf8.RuneCount(passed)
	c.at = offset
	return place{c.line + 1, c.column + 1}
}

// allTexts are all texts in it, but for names.
func (n node) allTexts() (texts []string) {
	switch v := n.value.(type) {
	case string:
		texts = append(texts, v)
	case *list:
		for _, item := range v.items {
			texts = append(texts, item.allTexts()...)
		}
	case *object:
		for _, m := range v.members {
			texts = append(texts, m.value.allTexts()...)
		}
	}
	return texts
}
