package guest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

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
	Unread bool // a request that had no more room, of which the ID alone is known: see Conn.LimitReading
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

// readHead tells a request and a notification by the beginning of a line, where that is written as the guest's own
// channel does; neither is anything else.
func readHead(line []byte) (id int64, isRequest, isNotice bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0",`))
	if !ok {
		return 0, false, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`"id":`)); !ok {
		return 0, false, bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method":`))
	}
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	id, err := strconv.ParseInt(string(digits), 10, 64)
	return id, err == nil && bytes.HasPrefix(rest[len(digits):], []byte(`,"method":`)), false
}

// parseMessage decodes a line. The raw members of the message are parts of line.
func parseMessage(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, errors.New("not UTF-8")
	}
	var members [numMembers][]byte
	// Half a surrogate pair, escaped, is text that Python has and Go has not: it is passed on as it is.
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	token, err := d.ReadToken()
	if err != nil || token.Kind() != '{' {
		return Message{}, errors.New("not a JSON object")
	}
	for err == nil && d.PeekKind() != '}' {
		err = readMember(d, line, &members)
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return newMessage(&members)
		}
	}
	return Message{}, cmp.Or(explained(err), errors.New("more behind the message"))
}

func readMember(d *jsontext.Decoder, line []byte, members *[numMembers][]byte) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	member := slices.Index(memberNames[:], name)
	value, err := d.ReadValue()
	if err != nil || member < 0 {
		return err
	}
	if members[member] != nil {
		return fmt.Errorf("%q twice", name)
	}
	end := d.InputOffset()
	members[member] = line[end-int64(len(value)) : end : end]
	return nil
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
			var name []byte
			name, err = jsontext.AppendUnquote(nil, method)
			m.Method = string(name)
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

// maxNotes is how many notes of a run are read: far more than are shown.
const maxNotes = 1000

// Notes are texts, of which no more are kept than can be meant: a list of empty ones would take many times the memory
// that it has as JSON.
type Notes []string

// UnmarshalJSON reads a list.
func (n *Notes) UnmarshalJSON(list []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowInvalidUTF8(true))
	token, err := d.ReadToken()
	if err != nil || token.Kind() != '[' {
		return cmp.Or(explained(err), errors.New("notes are no list"))
	}
	for *n = nil; len(*n) < maxNotes && d.PeekKind() != ']'; {
		value, err := d.ReadValue()
		if err != nil {
			return explained(err)
		}
		var note string
		if err := json.Unmarshal(value, &note); err != nil {
			return fmt.Errorf("a note: %w", err)
		}
		*n = append(*n, note)
	}
	return nil
}
