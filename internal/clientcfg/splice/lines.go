package splice

import (
	"bytes"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
)

// insertLines puts lines where a line begins, or behind a last line that has no end, as theirs then has none.
func insertLines(src []byte, at int, lines, newline string) edit {
	if at == len(src) && at > 0 && src[at-1] != '\n' {
		return edit{at, at, newline + unended(lines)}
	}
	return edit{at, at, lines}
}

// unended is a text without the end of its last line, which may be of another file's kind.
func unended(text string) string { return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") }

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
func cutAll(src []byte, ranges []textpos.Span) []edit {
	ranges = joined(ranges)
	edits := make([]edit, len(ranges))
	for i, r := range ranges {
		edits[i] = cutLines(src, r.Start, r.End)
	}
	return edits
}

// joined puts ranges in order, and makes one of those that touch.
func joined(ranges []textpos.Span) []textpos.Span {
	slices.SortFunc(ranges, func(a, b textpos.Span) int { return a.Start - b.Start })
	var all []textpos.Span
	for _, r := range ranges {
		if n := len(all); n > 0 && all[n-1].End == r.Start {
			all[n-1].End = r.End
		} else {
			all = append(all, r)
		}
	}
	return all
}

func onlySpaces(text []byte) bool { return len(bytes.TrimLeft(text, " ")) == 0 }
