package guest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxCanonicalDepth is how deep a canonical value may be nested: as deep as Python's json encodes.
const maxCanonicalDepth = 1000

// Canonical returns a JSON value in the one form that is judged, shown, logged and sent: without white space, its texts
// with no more escapes than they need, its numbers as they came. It refuses what two readers may take for different
// values: an object with two members of one name however they are written, a surrogate without its other half, bytes
// that are not UTF-8.
func Canonical(value []byte) ([]byte, error) {
	if Deeper(value, maxCanonicalDepth) {
		return nil, fmt.Errorf("nested deeper than %d levels", maxCanonicalDepth)
	}
	to := bytes.NewBuffer(make([]byte, 0, len(value)+len(value)/4+2)) // with less room, Encoder makes more
	e := jsontext.NewEncoder(
		to, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false), jsontext.PreserveRawStrings(false),
	)
	if err := e.WriteValue(value); err != nil {
		return nil, explained(err)
	}
	canonical := bytes.TrimSuffix(to.Bytes(), []byte("\n"))
	if err := distinct(canonical); err != nil {
		return nil, err
	}
	return canonical, nil
}

// span is where something is in a value, of which no message holds 4 GB.
type span struct{ begin, end uint32 }

// distinct refuses a canonical value in which an object has two members of one name. It compares names where they
// stand: jsontext copies each into a map, and so takes twenty times the bytes of an object of many members.
func distinct(value []byte) error {
	var names []span // of members of all objects that are open, the innermost last
	var open []int   // how many names there were before each object that is open; -1 for a list
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{':
			open = append(open, len(names))
		case '[':
			open = append(open, -1)
		case ']':
			open = open[:len(open)-1]
		case '}':
			last := len(open) - 1
			if err := unlike(value, names[open[last]:]); err != nil {
				return err
			}
			names, open = names[:open[last]], open[:last]
		case '"':
			begin := i
			i = endOfText(value, i)
			if i+1 < len(value) && value[i+1] == ':' {
				names = append(names, span{uint32(begin), uint32(i + 1)})
			}
		}
	}
	return nil
}

// endOfText is where the quote is that ends a text of JSON, which begins with that at begin.
func endOfText(value []byte, begin int) int {
	i := begin + 1
	for ; value[i] != '"'; i++ {
		if value[i] == '\\' {
			i++
		}
	}
	return i
}

// unlike refuses two names that are the same.
func unlike(value []byte, names []span) error {
	text := func(s span) []byte { return value[s.begin:s.end] }
	slices.SortFunc(names, func(a, b span) int { return bytes.Compare(text(a), text(b)) })
	for i := 1; i < len(names); i++ {
		if name := text(names[i]); bytes.Equal(text(names[i-1]), name) {
			plain, err := jsontext.AppendUnquote(nil, name)
			return cmp.Or(err, fmt.Errorf("the member %.200q is there twice", plain))
		}
	}
	return nil
}

// ReplaceTexts replaces texts of a canonical value, but for the names of members.
func ReplaceTexts(value []byte, replace func(string) (string, error)) ([]byte, error) {
	from := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true)) // there are none
	to := make([]byte, 0, len(value))
	last := 0
	for {
		kind, length := from.StackIndex(from.StackDepth())
		name := kind == '{' && length%2 == 0
		token, err := from.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return append(to, value[last:]...), nil
		case err != nil:
			return nil, err
		case token.Kind() != '"' || name:
			continue
		}
		text := token.String()
		with, err := replace(text)
		if err != nil {
			return nil, err
		}
		if with == text {
			continue
		}
		end := int(from.InputOffset())
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			return nil, err
		}
		to = append(to, value[last:end-len(quoted)]...)
		if to, err = jsontext.AppendQuote(to, with); err != nil {
			return nil, err
		}
		last = end
	}
}

// Deeper reports whether lists and objects of a JSON value are nested deeper than so many levels.
func Deeper(value []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// explained is an error of jsontext in words for who wrote the value.
func explained(err error) error {
	var at *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at):
		return err
	}
	return fmt.Errorf("%w at byte %d", at.Err, at.ByteOffset)
}

// read reads the members of a call. The arguments, which may be many megabytes, are looked at once, and stay a part of
// params.
func (c *ToolCall) read(params json.RawMessage) error {
	d := jsontext.NewDecoder(
		bytes.NewBuffer(params), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return cmp.Or(explained(err), errors.New("not an object"))
	}
	members := map[string]any{
		"server": &c.Server, "tool": &c.Tool, "arguments": &c.Arguments, "progress": &c.Progress,
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return explained(err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return explained(err)
		}
		to := members[name]
		if to == nil {
			continue
		}
		if raw, ok := to.(*json.RawMessage); ok {
			end := d.InputOffset()
			*raw = params[end-int64(len(value)) : end : end]
		} else if err := json.Unmarshal(value, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// ParseToolCall reads the parameters of a call, once: its arguments are canonical, and an object.
func ParseToolCall(params json.RawMessage) (c ToolCall, err error) {
	if err := c.read(params); err != nil {
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
