package bridge

import (
	"strings"

	"codemode/internal/guest"
)

// forCode is a text of codemode's own, such as why a server cannot be used, as code is told it: a home of the user's
// says who that is, so it becomes "~".
func (b *Bridge) forCode(text string) string {
	for _, home := range b.opts.Homes {
		if len(home) > len("/") {
			text = withTilde(text, home)
		}
	}
	return text
}

// withTilde writes "~" for a folder wherever a text has its path, or that of something in it.
func withTilde(text, home string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, home)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if goesOn(after) {
			b.WriteString(home)
		} else {
			b.WriteByte('~')
		}
		text = after
	}
}

// goesOn tells whether a text that follows a path is more of its last name, so that the path is another's.
func goesOn(text string) bool {
	return text != "" && (text[0] >= 0x80 || strings.IndexByte("-_", text[0]) >= 0 ||
		'0' <= text[0] && text[0] <= '9' || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
}

// refusalForCode is forCode for a refusal. What a server says of itself stays as it is.
func (b *Bridge) refusalForCode(no *refusal) (message string, data guest.ErrorData) {
	message, data = no.message, no.data
	if no.code != guest.CodeToolFailed {
		message = b.forCode(message)
	}
	data.Hint = b.forCode(data.Hint)
	return message, data
}
