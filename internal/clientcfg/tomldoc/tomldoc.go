// Package tomldoc reads TOML: what it says, and where each header, key, value and comment is, for those who read it and
// for those who edit it. It never writes, and makes nothing of what is said. There is nothing to close: a Document is a
// value over the bytes it was read from.
package tomldoc

import (
	"bytes"
	"errors"
	"strings"

	"codemode/internal/clientcfg/textpos"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A Document is TOML as the sections that its headers make.
type Document struct {
	Values   map[string]any // all that it says, as the library decodes it
	Sections []Section      // the first has no header
	Comments []textpos.Span
}

// A Section is a header and the keys under it.
type Section struct {
	Key
	Array  bool
	Header textpos.Span // from bracket to bracket
	Pairs  []Pair
}

// A Key is a dotted key: its parts, and where each begins.
type Key struct {
	Name   []string
	Starts []int
}

// A Pair is a key and its value.
type Pair struct {
	Key
	Whole textpos.Span // from the key to the end of the value
	At    textpos.Span // of the value
	Value Value
}

// A Value is what a pair, or a place in an array, has.
type Value struct {
	Kind  unstable.Kind
	Start int     // where it begins; -1 of an array, of which the library does not tell
	Text  string  // of what is neither array nor table
	Items []Value // of an array
	Pairs []Pair  // of an inline table
}

// An Error says why a text is not TOML. Line and Column count from 1, and are 0 where they are not known.
type Error struct {
	Line, Column int
	Reason       string // which may quote the text
}

func (e *Error) Error() string { return e.Reason }

// Parse reads a document. An error is an *Error.
func Parse(src []byte) (*Document, error) {
	r := reader{src: src, doc: &Document{Sections: make([]Section, 1)}}
	if err := toml.Unmarshal(src, &r.doc.Values); err != nil { // the parser below does not know what may not be twice
		e := &Error{Reason: strings.TrimPrefix(err.Error(), "toml: ")}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			e.Line, e.Column = de.Position()
		}
		return nil, e
	}
	p := unstable.Parser{KeepComments: true}
	p.Reset(src)
	for p.NextExpression() {
		r.expression(p.Expression())
	}
	if err := p.Error(); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	return r.doc, nil
}

type reader struct {
	src []byte
	doc *Document
}

func (r *reader) expression(e *unstable.Node) {
	r.comments(e)
	switch e.Kind {
	case unstable.KeyValue:
		last := &r.doc.Sections[len(r.doc.Sections)-1]
		last.Pairs = append(last.Pairs, r.pair(e))
	case unstable.Table, unstable.ArrayTable:
		key, at := keyOf(e)
		s := Section{Key: key, Array: e.Kind == unstable.ArrayTable, Header: r.brackets(at)}
		r.doc.Sections = append(r.doc.Sections, s)
	}
}

// comments notes the comments that a part of the syntax tree has.
func (r *reader) comments(e *unstable.Node) {
	for ; e != nil; e = e.Next() {
		if e.Kind == unstable.Comment {
			r.doc.Comments = append(r.doc.Comments, spanOf(e))
		}
		r.comments(e.Child())
	}
}

func spanOf(e *unstable.Node) textpos.Span {
	return textpos.Between(int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length))
}

// keyOf is the key of a header or a pair, and where it is.
func keyOf(e *unstable.Node) (key Key, at textpos.Span) {
	for it := e.Key(); it.Next(); {
		part := spanOf(it.Node())
		if key.Name == nil {
			at.Start = part.Start
		}
		at.End = part.End
		key.Name = append(key.Name, string(it.Node().Data))
		key.Starts = append(key.Starts, part.Start)
	}
	return key, at
}

// brackets extends the place of a header's key to the brackets around it.
func (r *reader) brackets(key textpos.Span) textpos.Span {
	start := len(bytes.TrimRight(r.src[:key.Start], " \t["))
	rest := r.src[key.End:]
	rest = rest[:len(rest)-len(bytes.TrimLeft(rest, " \t]"))]
	return textpos.Between(start+bytes.IndexByte(r.src[start:], '['), key.End+bytes.LastIndexByte(rest, ']')+1)
}

func (r *reader) pair(e *unstable.Node) Pair {
	key, at := keyOf(e)
	p := Pair{Key: key, Whole: spanOf(e), Value: r.value(e.Value())}
	p.At = textpos.Between(at.End+bytes.IndexByte(r.src[at.End:], '=')+1, p.Whole.End)
	text := r.src[p.At.Start:p.At.End]
	p.At.Start += len(text) - len(bytes.TrimLeft(text, " \t"))
	return p
}

func (r *reader) value(e *unstable.Node) Value {
	v := Value{Kind: e.Kind, Start: int(e.Raw.Offset)}
	switch e.Kind {
	case unstable.InlineTable:
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				v.Pairs = append(v.Pairs, r.pair(it.Node()))
			}
		}
	case unstable.Array:
		v.Start = -1
		for it := e.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				v.Items = append(v.Items, r.value(it.Node()))
			}
		}
	default:
		v.Text = string(e.Data)
	}
	return v
}
