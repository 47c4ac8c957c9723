package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a message may be nested: as deep as encoding/json decodes (Go 1.26).
const maxDepth = 10000

// codeInternal is JSON-RPC 2.0's "internal error", section 5.1.
const codeInternal = -32603

// A Message is a request (Method and HasID), a notification (Method alone), or the answer to a request.
type Message struct {
	ID     int64
	HasID  bool
	Method string
	Params json.RawMessage // an object, or nil
	Result json.RawMessage // of an answer; nil when Error is set
	Error  *Error
}

// IsRequest reports whether the message wants an answer.
func (m Message) IsRequest() bool { return m.HasID && m.Method != "" }

// Error is a JSON-RPC error object.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// parseMessage decodes a line. The raw members of the message are parts of line.
//
// It is a parser of its own because a line is looked at once this way, however long it is: encoding/json
// would validate it, find its members, and copy them. It also sees what encoding/json lets pass:
// members given twice and bytes that are not UTF-8.
func parseMessage(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, errors.New("not UTF-8")
	}
	p := parser{data: line}
	var members [numMembers][]byte
	if err := p.object(&members); err != nil {
		return Message{}, err
	}
	if p.next(); p.pos < len(p.data) {
		return Message{}, p.unexpected("after the message")
	}
	return newMessage(&members)
}

// The members of a message that mean something.
const (
	memberVersion = iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
	numMembers
)

var memberNames = [numMembers]string{"jsonrpc", "id", "method", "params", "result", "error"}

func newMessage(raw *[numMembers][]byte) (m Message, err error) {
	if string(raw[memberVersion]) != `"2.0"` {
		return m, errors.New(`"jsonrpc" is not "2.0"`)
	}
	if id := raw[memberID]; id != nil {
		m.HasID = true
		if m.ID, err = strconv.ParseInt(string(id), 10, 64); err != nil {
			return m, errors.New(`"id" is not an integer`)
		}
	}
	if params := raw[memberParams]; params != nil {
		if params[0] != '{' {
			return m, errors.New(`"params" is not an object`)
		}
		m.Params = params
	}
	result, failure := raw[memberResult], raw[memberError]
	if method := raw[memberMethod]; method != nil {
		if method[0] == '"' {
			m.Method, err = unquote(method)
		}
		switch {
		case err != nil || m.Method == "":
			return m, errors.New(`"method" is not a name`)
		case result != nil || failure != nil:
			return m, errors.New("both a request and an answer")
		}
		return m, nil
	}
	switch {
	case !m.HasID:
		return m, errors.New(`neither "method" nor "id"`)
	case (result == nil) == (failure == nil):
		return m, errors.New(`an answer needs either "result" or "error"`)
	case failure != nil:
		if failure[0] != '{' || json.Unmarshal(failure, &m.Error) != nil {
			return m, errors.New(`"error" is not an error object`)
		}
	}
	m.Result = result
	return m, nil
}

// unquote decodes a valid JSON string.
func unquote(raw []byte) (s string, err error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// A parser walks over JSON and checks it. It does not recurse, so no depth can exhaust the stack.
type parser struct {
	data []byte
	pos  int
}

// object parses the top-level object, and notes where its known members' values are.
func (p *parser) object(members *[numMembers][]byte) error {
	if p.next() != '{' {
		return errors.New("not a JSON object")
	}
	p.pos++
	if p.next() == '}' {
		p.pos++
		return nil
	}
	for {
		member, err := p.member()
		if err != nil {
			return err
		}
		p.next()
		start := p.pos
		if err := p.value(); err != nil {
			return err
		}
		if member >= 0 {
			if members[member] != nil {
				return fmt.Errorf("%q twice", memberNames[member])
			}
			members[member] = p.data[start:p.pos:p.pos]
		}
		switch p.next() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return nil
		default:
			return p.unexpected("after a member")
		}
	}
}

// member parses a top-level key and its colon; which of the known members it is, or -1.
func (p *parser) member() (int, error) {
	p.next()
	start := p.pos
	if err := p.key(); err != nil {
		return 0, err
	}
	end := p.pos - 1 // the colon, perhaps with spaces before it
	for p.data[end-1] != '"' {
		end--
	}
	raw := p.data[start:end]
	name, err := raw[1:len(raw)-1], error(nil)
	if bytes.IndexByte(raw, '\\') >= 0 {
		var s string
		s, err = unquote(raw)
		name = []byte(s)
	}
	return slices.IndexFunc(memberNames[:], func(known string) bool { return known == string(name) }), err
}

// value parses any value.
func (p *parser) value() error {
	var open []byte // the closing brackets that are due, innermost last
	for {
		opened, err := p.scalarOrOpen(&open)
		if err != nil {
			return err
		}
		for !opened {
			if len(open) == 0 {
				return nil
			}
			due := open[len(open)-1]
			switch c := p.next(); {
			case c == due:
				p.pos++
				open = open[:len(open)-1]
			case c == ',':
				p.pos++
				if due == '}' {
					if err := p.key(); err != nil {
						return err
					}
				}
				opened = true // the next value is due
			default:
				return p.unexpected("in a list or object")
			}
		}
	}
}

// scalarOrOpen parses a value that has no parts, or the beginning of one that has: then opened is true, and
// its first part is due.
func (p *parser) scalarOrOpen(open *[]byte) (opened bool, err error) {
	c := p.next()
	switch c {
	case '"':
		return false, p.str()
	case 't':
		return false, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return false, p.literal("null")
	case '{', '[':
		closing := c + 2 // in ASCII '}' and ']' are two behind '{' and '['
		if len(*open) == maxDepth-1 {
			return false, fmt.Errorf("nested deeper than %d levels", maxDepth)
		}
		p.pos++
		if p.next() == closing {
			p.pos++
			return false, nil
		}
		*open = append(*open, closing)
		if c == '{' {
			err = p.key()
		}
		return true, err
	default:
		return false, p.number()
	}
}

// next skips white space and returns the byte that follows, without taking it; 0 at the end.
func (p *parser) next() byte {
	for ; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (p *parser) key() error {
	if p.next() != '"' {
		return p.unexpected("where a key should be")
	}
	if err := p.str(); err != nil {
		return err
	}
	if p.next() != ':' {
		return p.unexpected("after a key")
	}
	p.pos++
	return nil
}

func (p *parser) literal(word string) error {
	if len(p.data)-p.pos < len(word) || string(p.data[p.pos:p.pos+len(word)]) != word {
		return p.unexpected("where a value should be")
	}
	p.pos += len(word)
	return nil
}

// str parses a string. RFC 8259, section 7: everything but the quote, the backslash and control characters may
// stand for itself.
func (p *parser) str() error {
	for i := p.pos + 1; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.pos = i + 1
			return nil
		case c < ' ':
			p.pos = i
			return p.unexpected("in a string")
		case c == '\\':
			i++
			if n := escape(p.data[i:]); n > 0 {
				i += n - 1
			} else {
				p.pos = i
				return p.unexpected("after a backslash")
			}
		}
	}
	p.pos = len(p.data)
	return p.unexpected("in a string")
}

// escape returns the length of the escape sequence that data begins with, without its backslash; 0 if it is none.
func escape(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	switch data[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(data) < 5 {
			return 0
		}
		for _, c := range data[1:5] {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// number parses a number. RFC 8259, section 6: [ minus ] int [ frac ] [ exp ].
func (p *parser) number() error {
	p.accept('-')
	if !p.accept('0') && !p.digits() {
		return p.unexpected("where a value should be")
	}
	if p.accept('.') && !p.digits() {
		return p.unexpected("in a number")
	}
	if p.accept('e') || p.accept('E') {
		_ = p.accept('+') || p.accept('-')
		if !p.digits() {
			return p.unexpected("in a number")
		}
	}
	return nil
}

func (p *parser) accept(c byte) bool {
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.data) && '0' <= p.data[p.pos] && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

// unexpected names the byte at the parser's position.
func (p *parser) unexpected(where string) error {
	if p.pos >= len(p.data) {
		return errors.New("unexpected end " + where)
	}
	return fmt.Errorf("unexpected %q at byte %d %s", p.data[p.pos], p.pos, where)
}
