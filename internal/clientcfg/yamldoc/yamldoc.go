// Package yamldoc reads YAML: its nodes, and where each of them, and each comment, begins and ends, for those who read
// it and for those who edit it. The library's parser tells where a node begins, and no more. It never writes; there is
// nothing to close: a Document is a value over the bytes it was read from.
package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"codemode/internal/clientcfg/textpos"
	"codemode/internal/lazyregexp"

	"go.yaml.in/yaml/v3"
)

// A Document is the first of a file.
type Document struct {
	Root *yaml.Node // nil where there is nothing
	More bool       // something follows it, be it another document

	src    []byte
	starts []int // of the lines
}

// An Error says why a text is not YAML. Line counts from 1, and is 0 where it is not known.
type Error struct {
	Line   int
	Reason string // which may quote the text
}

func (e *Error) Error() string { return e.Reason }

// lineOf matches where the library puts the line of an error.
var lineOf = lazyregexp.New(`^yaml: (?:unmarshal errors:\n  )?line (\d+): `)

// explain makes an *Error of the library's.
func explain(err error) error {
	text := err.Error()
	e := &Error{Reason: strings.TrimPrefix(text, "yaml: ")}
	if m := lineOf().FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Reason = text[len(m[0]):]
	}
	if strings.HasPrefix(e.Reason, "unknown anchor") {
		e.Reason = "an alias has no anchor" // its name may be a password that begins with an asterisk
	}
	return e
}

// Parse reads a file. An error is an *Error.
func Parse(src []byte) (*Document, error) {
	d := &Document{src: src, starts: lineStarts(src)}
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return nil, explain(err)
	}
	d.More = !errors.Is(decoder.Decode(&second), io.EOF)
	if len(first.Content) > 0 {
		d.Root = first.Content[0]
	}
	return d, nil
}

// lineStarts is where the lines of a text begin; what is behind its last line end is none.
func lineStarts(src []byte) (starts []int) {
	for at := 0; ; at = textpos.NextLine(src, at) {
		starts = append(starts, at)
		if next := textpos.NextLine(src, at); next == len(src) && (at == next || src[next-1] != '\n') {
			return starts
		}
	}
}

// Values is all that the document says, as the library decodes it. It fails where a key is there twice.
func (d *Document) Values() (v any, err error) {
	if d.Root == nil {
		return nil, nil
	}
	if err := d.Root.Decode(&v); err != nil {
		return nil, explain(err)
	}
	return v, nil
}

// End is where the document ends: before a line of "...", or with the file.
func (d *Document) End() int {
	for _, at := range d.starts {
		line := d.src[at:textpos.NextLine(d.src, at)]
		if rest, ok := bytes.CutPrefix(line, []byte("...")); ok && textpos.IsBlank(rest) {
			return at
		}
	}
	return len(d.src)
}
