package jsonc

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Decoder is the library's over a part of a plain text, and knows where values are.
type Decoder struct {
	*jsontext.Decoder
	start int
}

// NewDecoder reads what is in a part of a plain text. Names may be there twice, and half a surrogate pair may be
// escaped: other programs take both.
func NewDecoder(plain []byte, start, end int) Decoder {
	text := bytes.NewBuffer(plain[start:end])
	d := jsontext.NewDecoder(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return Decoder{d, start}
}

// Next passes a value, or the name of a member, and says where it is.
func (d Decoder) Next() (start, end int, err error) {
	raw, err := d.ReadValue()
	end = d.start + int(d.InputOffset())
	return end - len(raw), end, err
}

// Bracket passes an opening or a closing bracket, and says where it is.
func (d Decoder) Bracket() (at int, err error) {
	_, err = d.ReadToken()
	return d.start + int(d.InputOffset()) - 1, err
}

// End fails where anything follows the value that was read.
func (d Decoder) End() error {
	start, _, err := d.Next()
	switch err {
	case io.EOF:
		return nil
	case nil:
		return &jsontext.SyntacticError{
			ByteOffset: int64(start), Err: errors.New("there is more behind the end of the document"),
		}
	}
	return err
}

// Unquote is what a string that was passed says.
func Unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	said, _ := jsontext.AppendUnquote(nil, text)
	return string(said)
}

// Explain says why a text is not JSON, and where. The reason has no more than a character of the text in it.
func Explain(text []byte, err error) (offset int, reason string) {
	var at *jsontext.SyntacticError
	switch {
	case !errors.As(err, &at), errors.Is(err, io.ErrUnexpectedEOF):
		return len(text), "it ends too early: a bracket or a quote is not closed"
	case strings.HasPrefix(at.Err.Error(), "invalid escape sequence"):
		return int(at.ByteOffset), "a string has a backslash in it that means nothing in JSON"
	}
	return int(at.ByteOffset), at.Err.Error()
}
