package commands

import (
	"slices"
	"strings"
	"testing"
)

// TestBarredLines holds that no part of a server's text begins a line of the screen.
func TestBarredLines(t *testing.T) {
	for text, want := range map[string][]string{
		"hi":                                  {"| hi"},
		"a\n\nb\n":                            {"| a", "| ", "| b"},
		strings.Repeat("x", 10) + "codemode:": {"| xxxxxxxxxx", "| codemode:"},
		"ああああああ":                              {"| あああああ", "| あ"},
	} {
		if got := barredLines(text, 10); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
