package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"codemode/internal/lazyregexp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lineReader reads lines of any length up to a limit, each byte copied a constant number of times.
type lineReader struct {
	r       *bufio.Reader
	limit   int
	longest int // how many times the limit a line may have that is only passed over
	room    *room

	noLongNotices bool // each line is a message, and a long notification is passed over

	idle func() bool // of server-sent events, whether the server has not spoken MCP yet; nil where a line is a message
}

// longest is that of a server which has spoken MCP: it may once have sent too much.
const longest = 16

// longestIdle is that of a comment, which says nothing, and of any field of a server by URL that has not spoken MCP.
const longestIdle = 2

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), limit: limit, longest: longest, noLongNotices: true}
}

// endlessError is a line without an end. Nothing more is read.
type endlessError struct{ bytes int }

func (e *endlessError) Error() string {
	return fmt.Sprintf("the server wrote more than %d bytes without a line end, so it was stopped", e.bytes)
}

// longLineError is a line above the limit. It has been skipped.
type longLineError struct {
	limit int
	id    int64 // of the message it was, as far as that can be seen; else 0
}

func (e *longLineError) Error() string {
	return fmt.Sprintf("the server's message is longer than %d bytes", e.limit)
}

// passedOver is how much was read, at least, of an answer that was too long.
func passedOver(err error) int {
	var long *longLineError
	var endless *endlessError
	switch {
	case errors.As(err, &long):
		return long.limit
	case errors.As(err, &endless):
		return endless.bytes
	}
	return 0
}

// longNotice is a notification that is longer than [maxNotice]. It has been skipped.
type longNotice struct {
	method string
	head   []byte // the beginning of its text
	bytes  int
}

func (e *longNotice) Error() string {
	return fmt.Sprintf("the server's notification has %d bytes, and at most %d are read", e.bytes, maxNotice)
}

// next returns the next line without the white space around it. What comes behind the last newline is no line. Who
// calls it leaves the room that a large line takes.
func (l *lineReader) next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return bytes.Clone(bytes.TrimSpace(part)), nil
	}
	var line bytes.Buffer
	for errors.Is(err, bufio.ErrBufferFull) {
		line.Write(part)
		head := line.Bytes()[:headBytes]
		switch n := line.Len(); {
		case n > l.limit:
			return nil, l.skip(bytes.Clone(head), n, func(head, end []byte, _ int) error {
				return &longLineError{limit: l.limit, id: idIn(head, end)}
			})
		case l.noLongNotices && n >= maxNotice && n-len(part) < maxNotice:
			if method := noticeIn(head); method != "" {
				return nil, l.skip(bytes.Clone(head), n, func(head, _ []byte, n int) error {
					return &longNotice{method, head, n}
				})
			}
		}
		if line.Len() > smallMessage {
			if err := l.room.grow(0); err != nil {
				return nil, err
			}
		}
		part, err = l.r.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	if line.Len()+len(part) > l.limit {
		return nil, &longLineError{limit: l.limit, id: idIn(line.Bytes(), part)}
	}
	line.Write(part)
	return bytes.TrimSpace(line.Bytes()), nil
}

// headBytes is how much of a message's beginning is looked at for its id.
const headBytes = 256

// lastID finds the id of a message at its end, where the TypeScript SDK puts it (seen with 1.32.2).
var lastID = lazyregexp.New(`"id"\s*:\s*(\d+)\s*\}?\s*$`)

// idIn looks for a message's id where its beginning and its end allow a look.
func idIn(head, end []byte) int64 {
	if env, _ := readEnvelope(head[:min(len(head), headBytes)]); env.id != 0 {
		return env.id
	}
	return idAtEnd(end)
}

func idAtEnd(end []byte) (id int64) {
	if m := lastID().FindSubmatch(end[max(0, len(end)-256):]); m != nil {
		id, _ = strconv.ParseInt(string(m[1]), 10, 64)
	}
	return id
}

// skip reads to the end of a line, of which n bytes have been read, and returns what it is said to be.
func (l *lineReader) skip(head []byte, n int, said func(head, end []byte, n int) error) error {
	l.room.leave()
	most := l.longest * l.limit
	if l.idle != nil && (l.idle() || !bytes.HasPrefix(head, []byte("data"))) {
		most = min(most, longestIdle*l.limit)
	}
	for {
		part, err := l.r.ReadSlice('\n')
		n += len(part)
		switch {
		case n > most:
			return &endlessError{most}
		case err == nil:
			return said(head, part, n)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// noticeIn is the method of a notification, as far as the beginning of its text says that it is one; else it is empty.
func noticeIn(text []byte) (method string) {
	if env, _ := readEnvelope(text[:min(len(text), headBytes)]); env.isNotice() {
		return env.method
	}
	return ""
}

// longNoticeIn is a notification that is too long to be read, where the beginning of its text says that it is one; else
// nil.
func longNoticeIn(text []byte) *longNotice {
	if len(text) <= maxNotice {
		return nil
	}
	if method := noticeIn(text); method != "" {
		return &longNotice{method, text[:headBytes], len(text)}
	}
	return nil
}

// envelope is a JSON-RPC message before anybody has looked inside. Its parts are parts of the line.
type envelope struct {
	id     int64 // 0 when it is none of ours, which count from 1
	method string
	result json.RawMessage
	err    json.RawMessage
	values int // that its members have in them
}

// isNotice says whether a message is a notification.
func (e envelope) isNotice() bool { return strings.HasPrefix(e.method, "notifications/") }

// maxNotice is how long a notification is that is read, in bytes. The log has 8 KiB of a message at most, and nobody
// reads more of a call's progress.
const maxNotice = 64 << 10

// maxUnasked is how many values a message may have that is decoded and was not asked for, see maxValues.
const maxUnasked = 1 << 16

// maxValues is how many values, names of members included, a message may have that is decoded: of the message an empty
// list takes 3 bytes, and then many times that.
const maxValues = 1 << 19

// maxKept is how long an answer to the SDK itself may be, in bytes: it keeps what a server says of itself.
const maxKept = 1 << 20

// maxDepth is the nesting of a message that is let through: the SDK's limit, and about what Python's json
// reads.
const maxDepth = 1000

var (
	errNotObject = errors.New("not a JSON object")
	errDepth     = fmt.Errorf("the server's answer is nested deeper than %d levels", maxDepth)
	errKept      = fmt.Errorf("the server's answer is longer than %d bytes, and would be kept", maxKept)
	errInvalid   = errors.New("the server's answer is not valid JSON")
	errTwice     = errors.New(`the server's answer says "isError" twice`) // readers differ in which one counts
	errMany      = fmt.Errorf("the server's message has more than %d values in it, and is not looked into", maxValues)
	errUnasked   = fmt.Errorf("nobody has asked for the server's message, which has more than %d values in it", maxUnasked)
)

// parseEnvelope takes a message apart. With an error, id is set where it could be seen all the same.
func parseEnvelope(line []byte) (envelope, error) {
	if !bytes.HasPrefix(line, []byte("{")) {
		return envelope{}, errNotObject
	}
	env, err := readEnvelope(line)
	switch {
	case err == nil:
		if !utf8.Valid(env.result) {
			env.result = bytes.ToValidUTF8(env.result, []byte("\ufffd"))
		}
		return env, nil
	case env.method != "":
		return envelope{values: env.values}, err
	case env.id == 0:
		env.id = idAtEnd(line)
	}
	return envelope{id: env.id, values: env.values}, err
}

// readEnvelope reads members as far as they are JSON; of one name the last counts.
func readEnvelope(line []byte) (env envelope, err error) {
	r := envelopeReader{line: line, d: jsontext.NewDecoder(
		bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)}
	defer func() { env.values = r.values }()
	if _, err := r.d.ReadToken(); err != nil {
		return env, errInvalid
	}
	for r.d.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = r.d.ReadToken(); err == nil {
			err = r.member(&env, name.String())
		}
		if err != nil {
			return env, r.why()
		}
	}
	if _, err := r.d.ReadToken(); err != nil {
		return env, r.why()
	}
	if _, err := r.d.ReadToken(); err != io.EOF || r.tooDeep || r.twice {
		return env, r.why()
	}
	return env, nil
}

type envelopeReader struct {
	line    []byte
	d       *jsontext.Decoder
	tooDeep bool
	values  int
	verdict int // how many members of a value say whether a call has failed
	twice   bool
}

// why is why a message is refused.
func (r *envelopeReader) why() error {
	switch {
	case r.tooDeep:
		return errDepth
	case r.twice:
		return errTwice
	}
	return errInvalid
}

func (r *envelopeReader) member(env *envelope, name string) error {
	kind := r.d.PeekKind()
	text, err := r.value()
	if err != nil {
		return err
	}
	switch name {
	case "id":
		if kind == '0' {
			env.id = wholeNumber(string(text))
		}
	case "method":
		switch kind {
		case '"':
			said, _ := jsontext.AppendUnquote(nil, text)
			env.method = string(said)
		case 'n':
			env.method = ""
		default:
			env.method = string(text)
		}
	case "result":
		env.result, r.twice = text, r.twice || r.verdict > 1
	case "error":
		if kind != 'n' {
			env.err = text
		}
	}
	return nil
}

// value passes a value, and returns its text.
func (r *envelopeReader) value() ([]byte, error) {
	if kind := r.d.PeekKind(); kind != '{' && kind != '[' {
		raw, err := r.d.ReadValue()
		end := int(r.d.InputOffset())
		return r.line[end-len(raw) : end : end], err
	}
	start, depth := -1, r.d.StackDepth()
	r.verdict = 0
	for start < 0 || r.d.StackDepth() > depth {
		token, err := r.d.ReadToken()
		if err != nil {
			return nil, err
		}
		if kind := token.Kind(); kind != ']' && kind != '}' {
			r.values++
			if r.d.StackDepth() == depth+1 && kind == '"' && token.String() == "isError" {
				if _, n := r.d.StackIndex(depth + 1); n%2 == 1 { // a name
					r.verdict++
				}
			}
		}
		if start < 0 {
			start = int(r.d.InputOffset()) - 1
		}
		r.tooDeep = r.tooDeep || r.d.StackDepth() > maxDepth
	}
	end := r.d.InputOffset()
	return r.line[start:end:end], nil
}

// wholeNumber is a number that was read, without its fraction.
func wholeNumber(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(text, 64)
	return int64(f)
}

// wireError is a server's error object, however carelessly it was made.
func wireError(raw json.RawMessage) error {
	var e jsonrpc.Error
	if err := json.Unmarshal(raw, &e); err != nil || e.Message == "" {
		e.Message = "the server answered with the error " + string(raw)
	}
	return &e
}
