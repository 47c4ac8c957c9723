package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// maxDefault bounds a default shown in a signature, in bytes; a longer one shows as "...".
const maxDefault = 60

// signature renders a tool as the head of the function it is called by.
func signature(t *Tool) string {
	parts := make([]string, 0, len(t.Params)+1)
	for _, p := range t.Params {
		parts = append(parts, p.String())
	}
	if t.Extra {
		parts = append(parts, "**"+extraName(t.Params))
	}
	return t.Alias + "(" + strings.Join(parts, ", ") + ") -> " + t.Returns
}

// String renders a parameter as it stands in a signature. An optional one without a default is left out of the
// call when it is None.
func (p Param) String() string {
	switch {
	case p.Required:
		return p.Name + ": " + p.Type
	case len(p.Default) > 0 && string(p.Default) != "null":
		text := pythonLiteral(gjson.ParseBytes(p.Default))
		if len(text) > maxDefault {
			text = "..."
		}
		return p.Name + ": " + p.Type + " = " + text
	case acceptsNull(p.Type):
		return p.Name + ": " + p.Type + " = None"
	}
	return p.Name + ": " + p.Type + " | None = None"
}

func acceptsNull(annotation string) bool {
	return annotation == "Any" || annotation == "None" || strings.HasSuffix(annotation, " | None")
}

// extraName is the name of the parameter that takes arguments the schema does not name.
func extraName(params []Param) string {
	name := "kwargs"
	for i := 0; i < len(params); i++ {
		if params[i].Name == name {
			name, i = name+"_", -1
		}
	}
	return name
}

// pythonLiteral writes a JSON value as Python source.
func pythonLiteral(v gjson.Result) string {
	switch {
	case v.Type == gjson.Null:
		return "None"
	case v.Type == gjson.True:
		return "True"
	case v.Type == gjson.False:
		return "False"
	case v.Type == gjson.String:
		return quote(v.Str)
	case v.IsArray(), v.IsObject():
		return pythonContainer(v)
	}
	return v.Raw
}

func pythonContainer(v gjson.Result) string {
	var parts []string
	v.ForEach(func(key, value gjson.Result) bool {
		text := pythonLiteral(value)
		if v.IsObject() {
			text = quote(key.String()) + ": " + text
		}
		parts = append(parts, text)
		return true
	})
	if v.IsArray() {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quote writes a string as JSON does, which Python reads the same, and what nobody sees in Python's escapes.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	text := strings.TrimSuffix(b.String(), "\n")
	b.Reset()
	for _, r := range text {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
