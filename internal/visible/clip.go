package visible

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Clip shortens a text to its beginning and its end.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	half := limit / 2
	head, tail := CutEnd([]byte(s[:half])), CutStart([]byte(s[len(s)-half:]))
	return fmt.Sprintf("%s [… %d bytes left out …] %s", head, len(s)-len(head)-len(tail), tail)
}

// nearEdge is how far from the cut a line end may be to be preferred.
const nearEdge = 1024

// CutEnd is the beginning of a text that was cut at its end: to the last line end if that is near, else to the last
// whole character.
func CutEnd(p []byte) []byte {
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 && len(p)-i <= nearEdge {
		return p[:i+1]
	}
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if r, n := utf8.DecodeLastRune(p[:len(p)-i]); r != utf8.RuneError || n > 1 {
			return p[:len(p)-i]
		}
	}
	return p
}

// CutStart is the end of a text that was cut at its start, likewise.
func CutStart(p []byte) []byte {
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < nearEdge && i+1 < len(p) {
		return p[i+1:]
	}
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}
