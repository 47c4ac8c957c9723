package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Text is one in a JSON value: a string, a name or a number.
type Text struct {
	Text   string
	Name   string // of the member whose value it is, or is in the list of, or what stands for that, see pair
	Within bool   // the name of a member further out says that it is a secret
	Kind   byte   // 'n' is a name, '"' a string, '0' a number
}

// rewrite copies a JSON value whose texts go through change; a number that changes becomes a string. The members of an
// object stay as they are, also where two have one name. Of what is not JSON nothing is returned.
func rewrite(data []byte, change func(Text) string) []byte {
	if !json.Valid(data) { // which bounds how deep it is
		return nil
	}
	w := rewriter{from: json.NewDecoder(bytes.NewReader(data)), change: change}
	w.from.UseNumber()
	if _, err := w.value(Text{}); err != nil {
		return nil
	}
	return w.to.Bytes()
}

type rewriter struct {
	from   *json.Decoder
	to     bytes.Buffer
	change func(Text) string
}

// value copies one; in is what is known of where it stands. Of a string it returns the text.
func (w *rewriter) value(in Text) (text string, err error) {
	token, err := w.from.Token()
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case json.Delim:
		return "", w.members(v, in)
	case string:
		in.Text, in.Kind = v, '"'
		w.text(w.change(in))
		return v, nil
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
	return "", nil
}

// members copies those of an object or a list whose beginning has been read.
func (w *rewriter) members(begin json.Delim, in Text) error {
	w.to.WriteString(begin.String())
	within := in.Within || in.Name != "" && secretName().MatchString(in.Name)
	list, named := in, ""
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
		} else {
			in = list
		}
		member := in.Name
		if named != "" && (begin == '[' || strings.EqualFold(member, "value")) {
			in.Name = named
		}
		text, err := w.value(in)
		if err != nil {
			return err
		}
		named = pair(begin, member, text, named)
	}
	end, err := w.from.Token()
	fmt.Fprint(&w.to, end)
	return err
}

// pair is what names a text further on: of a list the flag before it, of an object its "name", or "key", for its
// "value".
func pair(begin json.Delim, member, text, before string) string {
	switch {
	case begin == '[' && (!strings.HasPrefix(text, "-") || strings.ContainsAny(text, "=:")):
		return ""
	case begin == '[' || strings.EqualFold(member, "name") || strings.EqualFold(member, "key"):
		return text
	}
	return before
}

func (w *rewriter) text(s string) {
	w.to.Write(appendText(nil, s))
}

// texts are where the strings, names and numbers of a JSON value stand, which is valid.
func texts(data []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < len(data); {
			from := i
			switch c := data[i]; {
			case c == '"':
				for i++; data[i] != '"'; i++ {
					if data[i] == '\\' {
						i++
					}
				}
				i++
			case c == '-' || isDigit(c):
				for i < len(data) && (isDigit(data[i]) || strings.IndexByte("+-.eE", data[i]) >= 0) {
					i++
				}
			default:
				i++
				continue
			}
			if !yield(from, i) {
				return
			}
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// meaning is what a string means that texts has found, or the number.
func meaning(raw []byte) (text string) {
	switch {
	case raw[0] != '"':
		return string(raw)
	case bytes.IndexByte(raw, '\\') < 0:
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &text) // which is valid
	return text
}

// encodedAtOnce is how many bytes of a text are encoded at once: the encoder has all that it makes in memory, twice.
const encodedAtOnce = 4 << 10

// appendText appends a text as a JSON string.
func appendText(to []byte, s string) []byte {
	var piece bytes.Buffer
	e := json.NewEncoder(&piece)
	e.SetEscapeHTML(false)
	to = append(to, '"')
	for s != "" {
		n := min(len(s), encodedAtOnce)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		piece.Reset()
		_ = e.Encode(s[:n])                                // a text never fails
		to = append(to, piece.Bytes()[1:piece.Len()-2]...) // without quotes and newline
		s = s[n:]
	}
	return append(to, '"')
}
