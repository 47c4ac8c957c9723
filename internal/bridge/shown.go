package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	maxShownFrom = 256 << 10 // bytes of arguments that are searched for secrets
	maxShown     = 16 << 10  // bytes of them in the audit log
)

// shownArguments are a call's arguments as the audit log may have them, and what to say of that. No value of a
// server's entry is in them, of whichever server, and nothing that is named as secrets are or looks like one.
func (b *Bridge) shownArguments(arguments json.RawMessage) (text, note string) {
	if len(arguments) > maxShownFrom {
		return "", fmt.Sprintf("arguments of more than %d bytes are left out", maxShownFrom)
	}
	// Secrets are looked for in texts as they are meant: JSON has many ways to write one.
	w := rewriter{from: json.NewDecoder(bytes.NewReader(arguments)), change: b.servers.pool.Redactor()}
	w.from.UseNumber()
	if !json.Valid(arguments) || w.value() != nil { // the first bounds how deep it is
		return "", "arguments that are not JSON are left out"
	}
	var notes []string
	if w.twice {
		notes = append(notes, "a member is there twice, of which a server may take either")
	}
	text = w.to.String()
	if b.opts.MaskText != nil {
		text = b.opts.MaskText(text)
	}
	if len(text) > maxShown {
		notes = append(notes, fmt.Sprintf("arguments of %d bytes are cut", len(text)))
		text = clip(text, maxShown)
	}
	return text, strings.Join(notes, "; ")
}

// rewriter copies a JSON value whose texts, names and numbers go through change. The members of an object stay as they
// were sent, also where two have one name.
type rewriter struct {
	from   *json.Decoder
	to     bytes.Buffer
	change func(string) string
	twice  bool // two members of an object had one name
}

func (w *rewriter) value() error {
	token, err := w.from.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return w.members(v)
	case string:
		w.text(w.change(v))
	case json.Number:
		if text := w.change(v.String()); text != v.String() {
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
func (w *rewriter) members(begin json.Delim) error {
	w.to.WriteString(begin.String())
	seen := map[any]bool{}
	for more := false; w.from.More(); more = true {
		if more {
			w.to.WriteByte(',')
		}
		if begin == '{' {
			name, err := w.from.Token()
			if err != nil {
				return err
			}
			w.twice = w.twice || seen[name]
			seen[name] = true
			w.text(w.change(fmt.Sprint(name)))
			w.to.WriteByte(':')
		}
		if err := w.value(); err != nil {
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
