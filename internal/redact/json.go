package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Text is one in a JSON value: a string, a name or a number.
type Text struct {
	Text   string
	Name   string // of the member whose value it is, or is in the list of
	Within bool   // the name of a member further out says that it is a secret
	Kind   byte   // 'n' is a name, '"' a string, '0' a number
}

// Rewrite copies a JSON value whose texts go through change; a number that changes becomes a string. The members of an
// object stay as they are, also where two have one name. Of what is not JSON nothing is returned.
func Rewrite(data []byte, change func(Text) string) []byte {
	if !json.Valid(data) { // which bounds how deep it is
		return nil
	}
	w := rewriter{from: json.NewDecoder(bytes.NewReader(data)), change: change}
	w.from.UseNumber()
	if w.value(Text{}) != nil {
		return nil
	}
	return w.to.Bytes()
}

type rewriter struct {
	from   *json.Decoder
	to     bytes.Buffer
	change func(Text) string
}

// value copies one; in is what is known of where it stands.
func (w *rewriter) value(in Text) error {
	token, err := w.from.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return w.members(v, in)
	case string:
		in.Text, in.Kind = v, '"'
		w.text(w.change(in))
	case json.Number:
		in.Text, in.Kind = v.String(), '0'
		if text := w.change(in); text != v.String() {
			w.text(text)
		} else {
			w.to.WriteString(text)
		}
	case bool:
		fmt.Fprint(&w.to, v)
	default:
		w.to.WriteString("null")
	}
	return nil
}

// members copies those of an object or a list whose beginning has been read.
func (w *rewriter) members(begin json.Delim, in Text) error {
	w.to.WriteString(begin.String())
	within := in.Within || in.Name != "" && secretName().MatchString(in.Name)
	for more := false; w.from.More(); more = true {
		if more {
			w.to.WriteByte(',')
		}
		if begin == '{' {
			token, err := w.from.Token()
			if err != nil {
				return err
			}
			in = Text{Name: fmt.Sprint(token), Within: within}
			w.text(w.change(Text{Text: in.Name, Kind: 'n'}))
			w.to.WriteByte(':')
		}
		if err := w.value(in); err != nil {
			return err
		}
	}
	end, err := w.from.Token()
	fmt.Fprint(&w.to, end)
	return err
}

func (w *rewriter) text(s string) {
	e := json.NewEncoder(&w.to)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)               // a text never fails
	w.to.Truncate(w.to.Len() - 1) // the newline
}
