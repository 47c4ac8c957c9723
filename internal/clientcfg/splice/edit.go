package splice

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// edit replaces the text from start to end.
type edit struct {
	start, end int
	text       string
}

// splice applies edits, which may be in any order but do not overlap; those at one place keep their order.
func splice(prefix string, src []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	size := len(prefix) + len(src)
	for _, e := range edits {
		size += len(e.text) - (e.end - e.start)
	}
	out := make([]byte, 0, size)
	out = append(out, prefix...)
	at := 0
	for _, e := range edits {
		out = append(out, src[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, src[at:]...)
}

// refuse is a RefusedError at an offset.
func refuse(src []byte, at int, reason string) error {
	before := src[:min(at, len(src))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &RefusedError{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[start:]) + 1,
		Reason: reason,
	}
}

// refuseTwice refuses an entry whose second one is at an offset.
func refuseTwice(src []byte, at int, path []string) error {
	return refuse(src, at, fmt.Sprintf("%q is there twice; remove one by hand", path[len(path)-1]))
}

func invalidUTF8(src []byte) int {
	at := 0
	for at < len(src) {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// lineEnd is how the lines of a text end.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// spaceBefore is where the white space before an offset begins.
func spaceBefore(src []byte, at int) int {
	return len(bytes.TrimRight(src[:at], " \t\r\n"))
}

// join is a path and one element more, and shares nothing with the path.
func join(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

// quoted names a path in a message.
func quoted(path []string) string { return `"` + strings.Join(path, `" / "`) + `"` }
