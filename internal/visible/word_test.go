package visible

import "testing"

func TestWord(t *testing.T) {
	for word, want := range map[string]string{
		"plain":               "plain",
		`a\b'c`:               `a\b'c`,
		"été 日本":              "été 日本",
		"tool\u00a0--dry-run": `tool\u00a0--dry-run`,
		"a\u2003b\u3000c":     `a\u2003b\u3000c`,
		"\u2800":              `\u2800`,
		"a\ufe0f":             `a\ufe0f`,
		"\u05d0 --allow":      `\u05d0 --allow`,
		"\u0301x":             `\u0301x`, // a mark on nothing
		"a'\u0301":            `a\'\u0301`,
		"it's\n\x1b\\":        `it\'s\n\x1b\\`,
		"\xff\U0001d159":      `\xff\U0001d159`,
	} {
		got, plain := Word(word)
		if got != want || plain != (got == word) {
			t.Errorf("%q: %s, %t; want %s", word, got, plain, want)
		}
	}
}
