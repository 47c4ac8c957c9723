package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	var value any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return "", "arguments that are not JSON are left out"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	// Secrets are looked for in texts as they are meant: JSON has many ways to write one.
	if err := e.Encode(withTexts(value, b.servers.pool.Redactor())); err != nil {
		return "", "arguments that are not JSON are left out"
	}
	text = string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
	if b.opts.MaskText != nil {
		text = b.opts.MaskText(text)
	}
	if len(text) > maxShown {
		return clip(text, maxShown), fmt.Sprintf("arguments of %d bytes are cut", len(text))
	}
	return text, ""
}

// withTexts is a JSON value whose texts, names and numbers went through change.
func withTexts(value any, change func(string) string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[change(name)] = withTexts(member, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withTexts(item, change)
		}
		return out
	case string:
		return change(v)
	case json.Number:
		if text := change(v.String()); text != v.String() {
			return text
		}
	}
	return value
}
