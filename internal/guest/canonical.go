package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	to, err := jsontext.AppendFormat(
		make([]byte, 0, len(value)), value,
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false), jsontext.PreserveRawStrings(false),
	)
	if err != nil {
		return nil, explained(err)
	}
	return to, nil
}

// ReplaceTexts replaces texts of a canonical value, but for the names of members.
func ReplaceTexts(value []byte, replace func(string) (string, error)) ([]byte, error) {
	from := jsontext.NewDecoder(bytes.NewReader(value))
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
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the member %.200q is there twice", at.JSONPointer.LastToken())
	}
	return fmt.Errorf("%w at byte %d", at.Err, at.ByteOffset)
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
