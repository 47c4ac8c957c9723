package upstream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"codemode/internal/lazyregexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"
)

// lineReader reads lines of any length up to a limit, each byte copied a constant number of times.
type lineReader struct {
	r       *bufio.Reader
	limit   int
	longest int // how many times the limit a line may have that is only passed over
}

// longest is that of a server which has spoken MCP: it may once have sent too much.
const longest = 16

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), limit, longest}
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

// next returns the next line without the white space around it. What comes behind the last newline is no line.
func (l *lineReader) next() (string, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return strings.TrimSpace(string(part)), nil
	}
	var line strings.Builder
	for errors.Is(err, bufio.ErrBufferFull) {
		line.Write(part)
		if line.Len() > l.limit {
			return "", l.skip(line.String())
		}
		part, err = l.r.ReadSlice('\n')
	}
	if err != nil {
		return "", err
	}
	if line.Len()+len(part) > l.limit {
		return "", &longLineError{limit: l.limit, id: idIn(line.String(), part)}
	}
	line.Write(part)
	return strings.TrimSpace(line.String()), nil
}

// lastID finds the id of a message at its end, where the TypeScript SDK puts it (seen with 1.32.2).
var lastID = lazyregexp.New(`"id"\s*:\s*(\d+)\s*\}?\s*$`)

// idIn looks for a message's id where its beginning and its end allow a look.
func idIn(head string, end []byte) int64 {
	if id := gjson.Get(head[:min(len(head), 256)], "id"); id.Type == gjson.Number {
		return id.Int()
	}
	if m := lastID().FindSubmatch(end[max(0, len(end)-256):]); m != nil {
		id, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return id
	}
	return 0
}

// skip reads to the end of a line that is too long.
func (l *lineReader) skip(head string) error {
	for n := len(head); ; {
		part, err := l.r.ReadSlice('\n')
		n += len(part)
		switch {
		case n > l.longest*l.limit:
			return &endlessError{l.longest * l.limit}
		case err == nil:
			return &longLineError{limit: l.limit, id: idIn(head, part)}
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// envelope is a JSON-RPC message before anybody has looked inside. Its parts are parts of the line.
type envelope struct {
	id     int64 // 0 when it is none of ours, which count from 1
	method string
	result string
	err    string
}

// maxDepth is the nesting of a message that is let through: the SDK's limit, and about what Python's json
// reads.
const maxDepth = 1000

var (
	errNotObject = errors.New("not a JSON object")
	errDepth     = fmt.Errorf("the server's answer is nested deeper than %d levels", maxDepth)
	errInvalid   = errors.New("the server's answer is not valid JSON")
)

// parseEnvelope takes a message apart. With an error, id is set where it could be seen all the same.
func parseEnvelope(line string) (env envelope, err error) {
	if !strings.HasPrefix(line, "{") {
		return env, errNotObject
	}
	tooDeep := deep(line)
	valid := !tooDeep && gjson.Valid(line) // which recurses
	gjson.Parse(line).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "id":
			if value.Type == gjson.Number {
				env.id = value.Int()
			}
		case "method":
			env.method = value.String()
		case "result":
			env.result = value.Raw
		case "error":
			if value.Type != gjson.Null {
				env.err = value.Raw
			}
		}
		return true
	})
	switch {
	case tooDeep && env.method == "":
		return envelope{id: env.id}, errDepth
	case tooDeep:
		return envelope{}, errDepth
	case !valid && env.method == "":
		return env, errInvalid
	case !valid:
		return envelope{}, errInvalid
	}
	if !utf8.ValidString(env.result) {
		env.result = strings.ToValidUTF8(env.result, "\ufffd")
	}
	return env, nil
}

// deep says whether objects and lists are nested too deeply to be parsed by anything that recurses.
func deep(line string) bool {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i = stringEnd(line, i+1)
		}
	}
	return false
}

// stringEnd returns the index of the quote that ends the string which begins at i.
func stringEnd(line string, i int) int {
	for {
		quote := strings.IndexByte(line[i:], '"')
		if quote < 0 {
			return len(line)
		}
		i += quote
		escapes := 0
		for line[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}

// wireError is a server's error object, however carelessly it was made.
func wireError(raw string) error {
	var e jsonrpc.Error
	if err := json.Unmarshal([]byte(raw), &e); err != nil || e.Message == "" {
		e.Message = "the server answered with the error " + raw
	}
	return &e
}
