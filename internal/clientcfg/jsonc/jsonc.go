// Package jsonc reads JSON with comments and trailing commas, and says where everything in it is. The library
// knows plain JSON alone, so what is more than that is made blank first, and every offset stays what it was.
// It never writes, and there is nothing to close.
package jsonc

import (
	"bytes"
	"slices"
)

// An Extra is what JSON has not, and where it is: a comment, or a trailing comma.
type Extra struct{ Start, End int }

// Plain returns a text with its comments and trailing commas made blank, and where they were, in order. Where
// there are none, or the text is no JSON at all, it is the text itself.
func Plain(text []byte) (plain []byte, extras []Extra) {
	last, comma := byte(0), -1 // what is neither blank nor comment, before i; where it is, if a comma behind a value
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			i = end
			continue
		case '/':
			if end = commentEnd(text, i); end < 0 {
				return text, nil
			}
			extras = append(extras, Extra{i, end})
			i = end
			continue
		case '"':
			end = stringEnd(text, i)
		case '}', ']':
			if comma >= 0 {
				extras = append(extras, Extra{comma, comma + 1})
			}
		}
		comma = -1
		if text[i] == ',' && bytes.IndexByte([]byte("{[,:"), last) < 0 {
			comma = i
		}
		last, i = text[i], end
	}
	if len(extras) == 0 {
		return text, nil
	}
	slices.SortFunc(extras, func(a, b Extra) int { return a.Start - b.Start }) // a comma is known behind its comments
	plain = bytes.Clone(text)
	for _, e := range extras {
		copy(plain[e.Start:e.End], bytes.Repeat([]byte(" "), e.End-e.Start))
	}
	return plain, extras
}

// commentEnd is behind the comment that begins at i, or -1 where none does or it does not end. The line end
// that ends a comment is not of it.
func commentEnd(text []byte, i int) int {
	switch {
	case bytes.HasPrefix(text[i:], []byte("//")):
		if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(text)
	case bytes.HasPrefix(text[i:], []byte("/*")):
		if n := bytes.Index(text[i+2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return -1
}

// stringEnd is behind the closing quote of the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}
