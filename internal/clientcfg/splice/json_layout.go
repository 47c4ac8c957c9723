package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"codemode/internal/clientcfg/textpos"
)

// layout is how the owner of a file writes JSON.
type layout struct {
	newline string
	unit    string // of indentation
	colon   string
	comma   string // between members on one line
	oneLine bool   // the whole file is
}

func layoutOf(t *jsonTree) layout {
	l := layout{newline: lineEnd(t.src), unit: "  ", colon: ": ", comma: ", "}
	base := textpos.Indentation(t.src, t.root.Start)
	top := t.known[t.root]
	for _, m := range top {
		indent := textpos.Indentation(t.src, m.key.Start)
		if bytes.ContainsRune(t.src[spaceBefore(t.src, m.key.Start):m.key.Start], '\n') && len(indent) > len(base) {
			l.unit = indent[len(base):]
			break
		}
	}
	l.oneLine = len(top) > 0 && bytes.IndexByte(t.text(t.root), '\n') < 0
	if l.oneLine && t.src[top[0].value.Start-1] == ':' {
		l.colon, l.comma = ":", ","
	}
	return l
}

func (l layout) member(m Member, indent string) string {
	return quote(m.Key) + l.colon + l.render(m.Value, indent)
}

// render writes a value; its lines but the first begin with indent.
func (l layout) render(v any, indent string) string {
	switch v := v.(type) {
	case verbatim:
		return string(v)
	case []string:
		texts := make([]string, len(v))
		for i, s := range v {
			texts[i] = quote(s)
		}
		return "[" + strings.Join(texts, l.comma) + "]"
	case []Member:
		return l.object(v, indent)
	case string:
		return quote(v)
	}
	return fmt.Sprint(v)
}

func (l layout) object(ms []Member, indent string) string {
	inner := indent + l.unit
	before, between, after := l.newline+inner, ","+l.newline+inner, l.newline+indent
	if l.oneLine {
		before, between, after = "", l.comma, ""
	}
	if len(ms) == 0 {
		before, after = "", ""
	}
	texts := make([]string, len(ms))
	for i, m := range ms {
		texts[i] = l.member(m, inner)
	}
	return "{" + before + strings.Join(texts, between) + after + "}"
}

// quote is a JSON string that escapes no more than it must.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be
	return strings.TrimSuffix(b.String(), "\n")
}
