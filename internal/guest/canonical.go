package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxCanonicalDepth is how deep a canonical value may be nested: as deep as Python's json encodes.
const maxCanonicalDepth = 1000

// Canonical returns a JSON value in the one form that is judged, shown, logged and sent: without white space, its texts with no
// more escapes than they need, its numbers as they came. It refuses what two readers may take for different values: an object
// with two members of one name however they are written, a surrogate without its other half, bytes that are not UTF-8.
func Canonical(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("not UTF-8")
	}
	w := rewriter{parser: parser{data: value}, to: make([]byte, 0, len(value))}
	if err := w.value(); err != nil {
		return nil, err
	}
	if w.next(); w.pos < len(value) {
		return nil, w.unexpected("after the value")
	}
	return w.to, nil
}

// ParseToolCall reads the parameters of a call, once: its arguments are canonical, and an object.
func ParseToolCall(params json.RawMessage) (c ToolCall, err error) {
	if err := json.Unmarshal(params, &c); err != nil {
		return c, err
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	if c.Arguments[0] != '{' {
		return c, errors.New("arguments: not an object")
	}
	if c.Arguments, err = Canonical(c.Arguments); err != nil {
		return c, fmt.Errorf("arguments: %w", err)
	}
	return c, nil
}

// A rewriter copies a value. Like the parser, it does not recurse.
type rewriter struct {
	parser
	to   []byte
	open []opened // innermost last
}

// opened is an object or a list that is not closed yet.
type opened struct {
	closing byte
	names   []string        // of its members so far
	more    map[string]bool // the same, once there are many
}

// manyNames is how many names are looked through one by one.
const manyNames = 16

func (w *rewriter) value() error {
	for {
		due, err := w.scalarOrOpen()
		for !due && err == nil {
			if len(w.open) == 0 {
				return nil
			}
			inner := &w.open[len(w.open)-1]
			switch c := w.next(); {
			case c == inner.closing:
				w.take()
				w.open = w.open[:len(w.open)-1]
			case c == ',':
				w.take()
				due = true
				if inner.closing == '}' {
					err = w.name(inner)
				}
			default:
				err = w.unexpected("in a list or object")
			}
		}
		if err != nil {
			return err
		}
	}
}

// take copies the byte at the parser's position.
func (w *rewriter) take() {
	w.to = append(w.to, w.data[w.pos])
	w.pos++
}

// scalarOrOpen copies a value that has no parts, or the beginning of one that has: then its first part is due.
func (w *rewriter) scalarOrOpen() (due bool, err error) {
	c := w.next()
	start := w.pos
	switch c {
	case '"':
		return false, w.text()
	case '{', '[':
		if len(w.open) == maxCanonicalDepth {
			return false, fmt.Errorf("nested deeper than %d levels", maxCanonicalDepth)
		}
		inner := opened{closing: c + 2}
		w.take()
		if w.next() == inner.closing {
			w.take()
			return false, nil
		}
		w.open = append(w.open, inner)
		if c == '{' {
			err = w.name(&w.open[len(w.open)-1])
		}
		return true, err
	case 't':
		err = w.literal("true")
	case 'f':
		err = w.literal("false")
	case 'n':
		err = w.literal("null")
	default:
		err = w.number()
	}
	w.to = append(w.to, w.data[start:w.pos]...)
	return false, err
}

// name copies the name of a member and its colon.
func (w *rewriter) name(of *opened) error {
	if w.next() != '"' {
		return w.unexpected("where a key should be")
	}
	name, err := w.decoded()
	if err != nil {
		return err
	}
	if of.has(name) {
		return fmt.Errorf("the member %.200q is there twice", name)
	}
	w.to = appendText(w.to, name)
	if w.next() != ':' {
		return w.unexpected("after a key")
	}
	w.take()
	return nil
}

// has reports whether the object has a member of that name, and notes that it has from now on.
func (o *opened) has(name string) bool {
	if o.more[name] || o.more == nil && slices.Contains(o.names, name) {
		return true
	}
	switch {
	case o.more != nil:
		o.more[name] = true
	case len(o.names) < manyNames:
		o.names = append(o.names, name)
	default:
		o.more = map[string]bool{name: true}
		for _, n := range o.names {
			o.more[n] = true
		}
	}
	return false
}

// text copies a text.
func (w *rewriter) text() error {
	text, err := w.decoded()
	if err == nil {
		w.to = appendText(w.to, text)
	}
	return err
}

// decoded takes the string at the parser's position and returns what it means.
func (w *rewriter) decoded() (string, error) {
	start := w.pos
	if err := w.str(); err != nil {
		return "", err
	}
	raw := w.data[start+1 : w.pos-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	text := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			text = append(text, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			text = append(text, meaning[raw[i]])
			continue
		}
		r := unit(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			if second := raw[i+1:]; len(second) > 5 && second[0] == '\\' && second[1] == 'u' {
				r = utf16.DecodeRune(r, unit(second[2:]))
				i += 6
			}
			if r == utf8.RuneError || utf16.IsSurrogate(r) {
				return "", fmt.Errorf("a surrogate without its other half in a string before byte %d", w.pos)
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text), nil
}

// meaning is what stands behind a backslash, but for \u.
var meaning = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unit is the code unit of four hexadecimal digits, which the parser has seen.
func unit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}

// appendText appends a text as a JSON string.
func appendText(to []byte, text string) []byte {
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, '\\', 'n')
		case c == '\t':
			to = append(to, '\\', 't')
		case c < ' ':
			to = fmt.Appendf(to, "\\u%04x", c)
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}
