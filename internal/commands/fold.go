package commands

import (
	"strings"
	"unicode/utf8"
)

// foldWords breaks a text into lines of so many columns, between its words where it can. A line begins with the
// space that was before its word, so that no two texts look alike. A word that is wider by itself is broken where
// hard says so, and else left to the terminal.
func foldWords(text string, columns int, hard bool) (lines []string) {
	line, taken := "", 0
	end := func() { lines, line, taken = append(lines, line), "", 0 }
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			word = " " + word
		}
		width := columnsOf(word)
		if taken > 0 && taken+width > columns {
			end()
		}
		if !hard || width <= columns {
			line, taken = line+word, taken+width
			continue
		}
		for _, r := range word {
			if one := columnsOf(string(r)); taken+one > columns {
				end()
			}
			line, taken = line+string(r), taken+columnsOf(string(r))
		}
	}
	return append(lines, line)
}

// folded is a text of ours for a terminal of so many columns; 0 is any. Lines that are a stranger's alone, an entry or
// what code says, are left to the terminal: how many they are is bounded by their length.
func folded(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "The code says") {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, foldWords(line, columns, false)...)
	}
	return strings.Join(lines, "\n")
}

// columnsOf is how many a text takes at most: whatever is not ASCII may take two.
func columnsOf(text string) (n int) {
	for _, r := range text {
		if n++; r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}
