package splice

import (
	"bytes"
	"slices"
)

// lineStart is where the line of an offset begins.
func lineStart(src []byte, at int) int { return bytes.LastIndexByte(src[:at], '\n') + 1 }

// nextLine is where the line after that of an offset begins.
func nextLine(src []byte, at int) int {
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(src)
}

// insertLines puts lines where a line begins, or behind a last line that has no end, as theirs then has none.
func insertLines(src []byte, at int, lines, newline string) edit {
	if at == len(src) && at > 0 && src[at-1] != '\n' {
		return edit{at, at, newline + lines[:len(lines)-len(newline)]}
	}
	return edit{at, at, lines}
}

// cutLines removes whole lines. Where the last of a file has no end, that before it has none then.
func cutLines(src []byte, start, end int) edit {
	if end == len(src) && end > 0 && src[end-1] != '\n' && start > 0 {
		start--
		if start > 0 && src[start-1] == '\r' {
			start--
		}
	}
	return edit{start, end, ""}
}

// cutAll removes several ranges of whole lines.
func cutAll(src []byte, ranges []span) []edit {
	ranges = joined(ranges)
	edits := make([]edit, len(ranges))
	for i, r := range ranges {
		edits[i] = cutLines(src, r.start, r.end)
	}
	return edits
}

// joined puts ranges in order, and makes one of those that touch.
func joined(ranges []span) []span {
	slices.SortFunc(ranges, func(a, b span) int { return a.start - b.start })
	var all []span
	for _, r := range ranges {
		if n := len(all); n > 0 && all[n-1].end == r.start {
			all[n-1].end = r.end
		} else {
			all = append(all, r)
		}
	}
	return all
}

// isBlank says whether a text is of white space alone.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

func onlySpaces(text []byte) bool { return len(bytes.TrimLeft(text, " ")) == 0 }
