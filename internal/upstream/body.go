package upstream

import (
	"bytes"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// jsonBody is an answer of one message. It is read when it is first asked for, and the SDK gets what [calls.message]
// leaves of it.
type jsonBody struct {
	body   io.ReadCloser
	length int // -1 is not known
	room   *room
	remote *remote
	id     int64 // of the request it answers
	out    *bytes.Reader
}

func (b *jsonBody) Close() error {
	b.room.close()
	return b.body.Close()
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.out == nil {
		data, err := b.all()
		b.room.whole()
		switch why := b.room.gaveUp(); {
		case why != nil:
			data = b.remote.failed(b.id, why)
		case err != nil:
			return 0, err
		case len(data) > b.remote.rooms.limit:
			data = b.remote.failed(b.id, &longLineError{limit: b.remote.rooms.limit})
		default:
			data = b.remote.shown(data, outgoing{id: b.id})
		}
		b.out = bytes.NewReader(data)
	}
	return b.out.Read(p)
}

// all is what has come, to one byte more than a message may have.
func (b *jsonBody) all() ([]byte, error) {
	var data bytes.Buffer
	if _, err := io.CopyN(&data, b.body, smallMessage+1); err != nil { // it is small
		return data.Bytes(), ignoreEOF(err)
	}
	if err := b.room.grow(b.length); err != nil {
		return nil, err
	}
	if rest := b.length - data.Len(); 0 < rest && rest <= b.remote.rooms.limit {
		data.Grow(rest + bytes.MinRead)
	}
	_, err := io.CopyN(&data, b.body, int64(b.remote.rooms.limit+1-data.Len()))
	return data.Bytes(), ignoreEOF(err)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// shown is what the SDK gets of a message; nothing where the message is none of its business. of is the request which
// it came for: one with an id it must be the answer to.
func (r *remote) shown(text []byte, of outgoing) []byte {
	msg, _ := r.message(text, of.slot)
	if msg == nil && of.id != 0 {
		return r.failed(of.id, errors.New(noMessage))
	}
	if msg == nil || r.expectAnswer(msg) != nil {
		return nil
	}
	r.spoken.Store(true)
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return nil
	}
	return data
}

// noMessage is said of an answer with the type of JSON that has another content.
const noMessage = "the server's answer is no message of MCP"

// failed is what the SDK gets of a message that cannot be read.
func (r *remote) failed(id int64, err error) []byte {
	msg := r.fail(id, err)
	if msg == nil && id == 0 {
		return nil
	}
	if msg == nil { // of the SDK's own requests, which have no slot
		of, _ := jsonrpc.MakeID(float64(id))
		msg = &jsonrpc.Response{ID: of, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}}
	}
	data, _ := jsonrpc.EncodeMessage(msg)
	return data
}
