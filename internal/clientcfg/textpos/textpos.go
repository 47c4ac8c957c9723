// Package textpos says where lines begin and end in a text, and where a part of it is, in bytes. It changes nothing and
// has nothing to close.
package textpos

import "bytes"

// A Span is where a part of a text is.
type Span struct{ Start, End int }

// Between is the part from start to before end.
func Between(start, end int) Span { return Span{start, end} }

// LineStart is where the line of an offset begins.
func LineStart(src []byte, at int) int { return bytes.LastIndexByte(src[:at], '\n') + 1 }

// NextLine is where the line after that of an offset begins.
func NextLine(src []byte, at int) int {
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(src)
}

// FirstText is where the text of the line that begins at an offset begins, behind spaces.
func FirstText(src []byte, at int) int {
	for at < len(src) && src[at] == ' ' {
		at++
	}
	return at
}

// Indentation is the white space that begins the line of an offset.
func Indentation(src []byte, at int) string {
	line := src[LineStart(src, at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// IsBlank says whether a text is of white space alone.
func IsBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
