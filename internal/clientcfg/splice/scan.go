package splice

import (
	"bytes"
	"encoding/json"
)

// maxDepth is how deep values may be nested: the scanner calls itself for each level.
const maxDepth = 1000

// span is where a value's text is.
type span struct{ start, end int }

// member is a member of a JSON object.
type member struct {
	name  string
	key   span
	value span
	comma int // where the comma behind it is, or -1
}

// scanner goes through JSON with comments and trailing commas once, and holds it to the grammar. It builds no
// tree: of tens of megabytes, the members of one object at a time are all that is asked for.
type scanner struct {
	src      []byte
	at       int
	depth    int
	loose    int // where the first comment or trailing comma is, or -1
	comments int
}

func (s *scanner) fail(at int, reason string) error { return refuse(s.src, at, reason) }

func (s *scanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

// space passes white space and comments.
func (s *scanner) space() error {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '/':
			end := commentEnd(s.src, s.at)
			if end < 0 {
				return s.fail(s.at, "a comment does not end, or is none")
			}
			s.isLoose(s.at)
			s.comments++
			s.at = end
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) isLoose(at int) {
	if s.loose < 0 {
		s.loose = at
	}
}

// commentEnd is behind the comment that begins at i, or -1 where none does or it does not end. The line end
// that ends a comment is not of it.
func commentEnd(src []byte, i int) int {
	switch {
	case bytes.HasPrefix(src[i:], []byte("//")):
		if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(src)
	case bytes.HasPrefix(src[i:], []byte("/*")):
		if n := bytes.Index(src[i+2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return -1
}

// value passes a value; of an object, it adds the members to into.
func (s *scanner) value(into *[]member) error {
	switch c := s.peek(); c {
	case '{':
		return s.inside('}', func() error { return s.member(into) })
	case '[':
		return s.inside(']', func() error { return s.value(nil) })
	case '"':
		return s.string()
	default:
		return s.scalar()
	}
}

// inside passes what is between brackets, of which item passes one.
func (s *scanner) inside(closing byte, item func() error) error {
	open := s.at
	if s.depth++; s.depth > maxDepth {
		return s.fail(open, "it is nested too deeply")
	}
	s.at++
	comma := -1
	for {
		if err := s.space(); err != nil {
			return err
		}
		switch c := s.peek(); {
		case s.at >= len(s.src):
			return s.fail(open, "a bracket is not closed")
		case c == closing:
			if comma >= 0 {
				s.isLoose(comma)
			}
			s.at++
			s.depth--
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		switch c := s.peek(); c {
		case ',':
			comma = s.at
			s.at++
		case closing:
			comma = -1
		default:
			return s.fail(s.at, "a comma or a closing bracket should be here")
		}
	}
}

func (s *scanner) member(into *[]member) error {
	if s.peek() != '"' {
		return s.fail(s.at, "the name of a member, in double quotes, should be here")
	}
	m := member{comma: -1}
	m.key.start = s.at
	if err := s.string(); err != nil {
		return err
	}
	m.key.end = s.at
	if err := s.space(); err != nil {
		return err
	}
	if s.peek() != ':' {
		return s.fail(s.at, "a colon should be here")
	}
	s.at++
	if err := s.space(); err != nil {
		return err
	}
	m.value.start = s.at
	if err := s.value(nil); err != nil {
		return err
	}
	m.value.end = s.at
	if into == nil {
		return nil
	}
	m.name = unquote(s.src[m.key.start:m.key.end])
	if err := s.space(); err != nil {
		return err
	}
	if s.peek() == ',' {
		m.comma = s.at
	}
	*into = append(*into, m)
	return nil
}

// What a byte of a string means.
const (
	isText = iota
	isQuote
	isBackslash
	isForbidden
)

// classes and escapes are tables: strings are most of a large file.
var (
	classes = func() (class [256]byte) {
		for c := range byte(' ') {
			class[c] = isForbidden
		}
		class['"'], class['\\'] = isQuote, isBackslash
		return class
	}()
	escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}
)

// string passes a string.
func (s *scanner) string() error {
	open := s.at
	for i := open + 1; i < len(s.src); i++ {
		switch classes[s.src[i]] {
		case isQuote:
			s.at = i + 1
			return nil
		case isForbidden:
			return s.fail(i, "a string has a line end or a control character in it")
		case isBackslash:
			switch {
			case i+1 < len(s.src) && escapes[s.src[i+1]]:
				i++
			case i+5 < len(s.src) && s.src[i+1] == 'u' && hex(s.src[i+2:i+6]):
				i += 5
			default:
				return s.fail(i, "a string has a backslash in it that means nothing in JSON")
			}
		}
	}
	return s.fail(open, "a string is not closed")
}

func hex(digits []byte) bool {
	for _, c := range digits {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// scalar passes a number, true, false or null.
func (s *scanner) scalar() error {
	start := s.at
	for s.at < len(s.src) {
		c := s.src[s.at]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			break
		}
		s.at++
	}
	switch text := s.src[start:s.at]; {
	case s.at == start:
		return s.fail(start, "a value should be here")
	case string(text) == "true", string(text) == "false", string(text) == "null", number(text):
		return nil
	}
	return s.fail(start, "this is no value of JSON")
}

// number says whether a text is a number by the grammar of RFC 8259, section 6.
func number(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	rest := bytes.TrimLeft(text, "0123456789")
	if whole := len(text) - len(rest); whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	if len(rest) > 0 && rest[0] == '.' {
		digits := bytes.TrimLeft(rest[1:], "0123456789")
		if len(digits) == len(rest)-1 {
			return false
		}
		rest = digits
	}
	if len(rest) > 0 && rest[0]|0x20 == 'e' {
		rest = rest[1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		digits := bytes.TrimLeft(rest, "0123456789")
		return len(rest) > 0 && len(digits) == 0
	}
	return len(rest) == 0
}

// unquote is what a JSON string says.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // the scanner has passed it
	return s
}
