package guest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Output is what the run printed, in order.
type Output struct {
	Run    int
	Stream string // "stdout" or "stderr"
	Data   []byte // on the wire either "text", or "base64" where it is not UTF-8
}

// buffers are what notifications, and what they print, are read into. A guest can print without end, and of what is
// thrown away each time there would be garbage to collect all the time, which holds up all sessions.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// largestBuffer is what is kept of them: a message of output that is all control characters fits into it.
const largestBuffer = 512 << 10

func giveBack(buffer *[]byte) {
	if cap(*buffer) <= largestBuffer {
		buffers.Put(buffer)
	}
}

// ReadOutput reads the parameters of a MethodOutput, and has take called with them, which must not keep the data.
func ReadOutput(params json.RawMessage, take func(Output)) error {
	buffer := buffers.Get().(*[]byte)
	defer giveBack(buffer)
	o := Output{Data: (*buffer)[:0]}
	d := jsontext.NewDecoder(
		bytes.NewBuffer(params), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		err = o.member(d)
	}
	*buffer = o.Data
	if err != nil {
		return explained(err)
	}
	take(o)
	return nil
}

// member reads a member. encoding/json takes several times as long, and as much memory.
func (o *Output) member(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch name {
	case "run":
		o.Run, err = strconv.Atoi(string(value))
	case "stream":
		var stream []byte
		stream, err = unquote(nil, value)
		o.Stream = string(stream)
	case "text":
		o.Data, err = unquote(o.Data[:0], value)
	case "base64":
		if value.Kind() != '"' {
			return errNoText
		}
		o.Data, err = base64.StdEncoding.AppendDecode(o.Data[:0], value[1:len(value)-1])
	}
	return err
}

var errNoText = errors.New("a member of output is no text")

// unquote appends a text. Half a surrogate pair, which is no error here, becomes U+FFFD.
func unquote(to []byte, value jsontext.Value) ([]byte, error) {
	if value.Kind() != '"' {
		return to, errNoText
	}
	to, _ = jsontext.AppendUnquote(to, value)
	return to, nil
}
