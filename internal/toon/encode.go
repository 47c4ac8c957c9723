package toon

import (
	"slices"
	"strconv"
	"strings"
)

// An encoder writes a document. The caller has begun the line of a value; depth is that of the line.
type encoder struct {
	opts      Options
	delimiter string
	out       []byte
}

// root writes the whole document. An empty object is an empty document.
func (e *encoder) root(n *node) {
	switch {
	case !n.composite():
		e.primitive(n)
	case n.kind == array && len(n.nodes) == 0:
		e.put("[]")
	case n.kind == array:
		e.array(n, 0, true)
	default:
		if cols, ok := keyed(n); ok {
			e.entries(n, cols, 0)
			return
		}
		e.fields(n, 0)
	}
}

// fields writes the fields of the object n, each on a line of its own.
func (e *encoder) fields(n *node, depth int) {
	for i, key := range n.keys {
		e.line(depth)
		e.field(key, n.nodes[i], depth)
	}
}

// field writes a field of an object.
func (e *encoder) field(key string, n *node, depth int) {
	e.key(key)
	switch {
	case !n.composite():
		e.put(": ")
		e.primitive(n)
	case n.kind == array && len(n.nodes) == 0:
		e.put(": []")
	case n.kind == array:
		e.array(n, depth, true)
	default:
		if cols, ok := keyed(n); ok {
			e.entries(n, cols, depth)
			return
		}
		e.put(":")
		e.fields(n, depth+1)
	}
}

// keyed says whether the object n is a table whose rows have names, and returns its columns.
func keyed(n *node) ([]column, bool) {
	if len(n.nodes) < 2 {
		return nil, false
	}
	return columns(n.nodes)
}

// entries writes the object n as a table whose rows have names.
func (e *encoder) entries(n *node, cols []column, depth int) {
	e.length(len(n.nodes), ":")
	e.header(cols)
	e.put(":")
	for i, key := range n.keys {
		e.line(depth + 1)
		e.key(key)
		e.put(":")
		e.cells(n.nodes[i], cols, " ")
	}
}

// array writes the array n: in one line, or as a table where one may stand here, or as a list.
func (e *encoder) array(n *node, depth int, table bool) {
	e.length(len(n.nodes), "")
	if !slices.ContainsFunc(n.nodes, (*node).composite) {
		e.put(":")
		separator := " "
		for _, v := range n.nodes {
			e.put(separator)
			e.primitive(v)
			separator = e.delimiter
		}
		return
	}
	var cols []column
	if table {
		cols, table = columns(n.nodes)
	}
	if table {
		e.header(cols)
	}
	e.put(":")
	for _, v := range n.nodes {
		e.line(depth + 1)
		if table {
			e.cells(v, cols, "")
		} else {
			e.item(v, depth+1)
		}
	}
}

// item writes an element of a list. An object's first field shares the line of the hyphen.
func (e *encoder) item(n *node, depth int) {
	e.put("-")
	if n.kind == object && len(n.keys) == 0 {
		return
	}
	e.put(" ")
	switch n.kind {
	case array:
		e.array(n, depth, false)
	case object:
		for i, key := range n.keys {
			if i > 0 {
				e.line(depth + 1)
			}
			e.field(key, n.nodes[i], depth+1)
		}
	default:
		e.primitive(n)
	}
}

// length writes how many values follow, and by what they are delimited unless by commas.
func (e *encoder) length(n int, mark string) {
	if e.opts.Delimiter != ',' {
		mark += e.delimiter
	}
	e.put("[" + strconv.Itoa(n) + mark + "]")
}

// line begins a line.
func (e *encoder) line(depth int) {
	if e.full() {
		return // without making the indentation
	}
	if len(e.out) > 0 {
		e.put("\n")
	}
	e.put(strings.Repeat(" ", depth*e.opts.IndentSize))
}

func (e *encoder) put(s string) {
	if !e.full() {
		e.out = append(e.out, s...)
	}
}

func (e *encoder) full() bool { return e.opts.MaxSize > 0 && len(e.out) > e.opts.MaxSize }
