package commands

import (
	"strings"
	"testing"
)

// TestFold: lines end between words, no text loses a character, and none looks like another.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ text, soft, hard string }{
		{"", "", ""},
		{"one two three", "one two| three", "one two| three"},
		{"a  b", "a  b", "a  b"},
		{"12345678 9", "12345678| 9", "12345678| 9"},
		{"123456789", "123456789", "12345678|9"},
		{"a 123456789 b", "a| 123456789| b", "a| 1234567|89 b"},
		{"äöüäö", "äöüäö", "äöüä|ö"},
	} {
		for hard, want := range map[bool]string{false: tt.soft, true: tt.hard} {
			lines := foldWords(tt.text, 8, hard)
			if got := strings.Join(lines, "|"); got != want || strings.Join(lines, "") != tt.text {
				t.Errorf("%q, hard %v: %q, want %q", tt.text, hard, got, want)
			}
		}
	}
	want := "one two\n three\n{one two three"
	if got := folded("one two three\n{one two three", 8); got != want || folded("one two three", 0) != "one two three" {
		t.Errorf("%q", got)
	}
}
