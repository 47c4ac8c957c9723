package splice

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
)

// around is how many lines a diff shows before and after a change.
const around = 3

// maxChanges bounds the search for the shortest way from one text to another; beyond it, all lines count as changed.
const maxChanges = 2000

// Diff is what changed between two texts as a unified diff, and empty where nothing did. Of a large file, only
// the part that differs is looked at closely.
func Diff(before, after []byte, file string) string {
	if bytes.Equal(before, after) {
		return ""
	}
	c := compare(before, after)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", file, file)
	for start := 0; start < len(c.steps); {
		if c.steps[start].kind == ' ' {
			start++
			continue
		}
		end := start // behind the last change of the hunk
		for i := start; i < len(c.steps) && i <= end+2*around; i++ {
			if c.steps[i].kind != ' ' {
				end = i + 1
			}
		}
		writeHunk(&b, c.steps[max(0, start-around):min(len(c.steps), end+around)], c.skipped)
		start = end
	}
	return b.String()
}

// step is a line that both texts have (' '), only the first ('-') or only the second ('+').
type step struct {
	kind byte
	line []byte
	a, b int // how many lines of the two texts come before it, of those compared
}

type comparison struct {
	skipped int // lines at the beginning that are the same
	steps   []step
}

// compare leaves out what is the same at the beginning and the end, but for the lines that a diff shows.
func compare(before, after []byte) comparison {
	same := 0
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	start := back(before, min(textpos.LineStart(before, same), textpos.LineStart(after, same)), around)
	c := comparison{skipped: bytes.Count(before[:start], []byte("\n"))}
	before, after = before[start:], after[start:]
	same = 0
	for same < min(len(before), len(after)) && before[len(before)-1-same] == after[len(after)-1-same] {
		same++
	}
	tail := before[len(before)-same:]
	if n := bytes.IndexByte(tail, '\n'); n >= 0 && same < min(len(before), len(after)) {
		tail = tail[n+1:] // the line that the difference ends in
	}
	shown := 0
	for range around {
		shown = textpos.NextLine(tail, shown)
	}
	cut := len(tail) - shown
	x, y := lines(before[:len(before)-cut]), lines(after[:len(after)-cut])
	c.steps = steps(x, y)
	return c
}

// back is where the line begins that is n lines before the one that begins at an offset.
func back(src []byte, at, n int) int {
	for range n {
		at = textpos.LineStart(src, max(0, at-1))
	}
	return at
}

func lines(src []byte) [][]byte {
	all := bytes.SplitAfter(src, []byte("\n"))
	if n := len(all); len(all[n-1]) == 0 {
		return all[:n-1]
	}
	return all
}

// steps lead from x to y.
func steps(x, y [][]byte) []step {
	tail := 0 // which stays behind the last change, so that there are lines to show after it
	for tail < min(len(x), len(y)) && bytes.Equal(x[len(x)-1-tail], y[len(y)-1-tail]) {
		tail++
	}
	kinds := shortest(x[:len(x)-tail], y[:len(y)-tail])
	var all []step
	i, j := 0, 0
	for _, kind := range append(kinds, bytes.Repeat([]byte(" "), tail)...) {
		s := step{kind: kind, a: i, b: j}
		if kind == '+' {
			s.line = y[j]
		} else {
			s.line = x[i]
			i++
		}
		if kind != '-' {
			j++
		}
		all = append(all, s)
	}
	return all
}

// shortest is the way from x to y with the fewest changes, by E. W. Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986): for each number of changes d, how far one gets in x on each diagonal k, where x is k lines
// ahead of y.
func shortest(x, y [][]byte) []byte {
	var reached [][]int // by d, the diagonals from -d to d
	for d := 0; d <= min(len(x)+len(y), maxChanges); d++ {
		far := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			i := 0
			if d > 0 {
				i, _ = furthest(reached[d-1], k)
			}
			for i < len(x) && i-k < len(y) && bytes.Equal(x[i], y[i-k]) {
				i++
			}
			far[k+d] = i
			if i >= len(x) && i-k >= len(y) {
				return backward(append(reached, far), i, i-k)
			}
		}
		reached = append(reached, far)
	}
	return slices.Concat(bytes.Repeat([]byte("-"), len(x)), bytes.Repeat([]byte("+"), len(y)))
}

// furthest is how far in x one more change leads to diagonal k, and which change that is.
func furthest(far []int, k int) (i int, kind byte) {
	at := k + len(far)/2 // of diagonal k
	if at-1 < 0 || at+1 < len(far) && far[at-1] < far[at+1] {
		return far[at+1], '+'
	}
	return far[at-1] + 1, '-'
}

// backward follows the way back from its end.
func backward(reached [][]int, i, j int) []byte {
	var kinds []byte
	for d := len(reached) - 1; d > 0; d-- {
		from, kind := furthest(reached[d-1], i-j)
		kinds = append(kinds, bytes.Repeat([]byte(" "), i-from)...)
		kinds = append(kinds, kind)
		k := i - j
		i, j = from, from-k
		if kind == '-' {
			i--
		} else {
			j--
		}
	}
	kinds = append(kinds, bytes.Repeat([]byte(" "), i)...)
	slices.Reverse(kinds)
	return kinds
}

func writeHunk(b *strings.Builder, steps []step, skipped int) {
	first := steps[0]
	a, c := 0, 0
	for _, s := range steps {
		if s.kind != '+' {
			a++
		}
		if s.kind != '-' {
			c++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", lineRange(skipped+first.a, a), lineRange(skipped+first.b, c))
	for _, s := range steps {
		b.WriteByte(s.kind)
		b.Write(s.line)
		if !bytes.HasSuffix(s.line, []byte("\n")) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// lineRange is a hunk's place as the format has it: of no lines, it is the line before.
func lineRange(before, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, count)
}
