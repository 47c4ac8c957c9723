package bridge

import (
	"encoding/json"
	"fmt"

	"codemode/internal/guest"
	"codemode/internal/redact"
	"codemode/internal/visible"
)

const (
	maxShownFrom = 256 << 10 // bytes of arguments that are searched for secrets
	maxShown     = 16 << 10  // bytes of them in the audit log
)

// shownArguments are a call's arguments as the audit log may have them, and what to say of that. No value of a
// server's entry is in them, of whichever server, and nothing that is named as secrets are or looks like one.
func (b *Bridge) shownArguments(arguments json.RawMessage) (text, note string) {
	if file := b.servers.Configured().Unread; file != "" {
		return "", fmt.Sprintf("arguments are left out while %q cannot be read as a whole, whose values are not known", file)
	}
	if len(arguments) > maxShownFrom {
		return "", fmt.Sprintf("arguments of more than %d bytes are left out", maxShownFrom)
	}
	canonical, err := guest.Canonical(arguments)
	if err != nil {
		return "", "arguments that are not canonical are left out: " + err.Error()
	}
	text = (&redact.Finder{}).Text(string(b.redactor().JSON(canonical)))
	if len(text) > maxShown {
		note = fmt.Sprintf("arguments of %d bytes are cut", len(text))
		text = visible.Value([]byte(text), maxShown)
	}
	return text, note
}
