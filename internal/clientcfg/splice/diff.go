package splice

import (
	"bytes"
	"fmt"
	"strings"
)

// around is how many lines a diff shows before and after a change.
const around = 3

// maxCells bounds the comparison of every line with every other; beyond it, all lines count as changed.
const maxCells = 4 << 20

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
	start := back(before, min(lineStart(before, same), lineStart(after, same)), around)
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
		shown = nextLine(tail, shown)
	}
	cut := len(tail) - shown
	x, y := lines(before[:len(before)-cut]), lines(after[:len(after)-cut])
	c.steps = steps(x, y)
	return c
}

// back is where the line begins that is n lines before the one that begins at an offset.
func back(src []byte, at, n int) int {
	for range n {
		at = lineStart(src, max(0, at-1))
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

// steps lead from x to y by a longest common subsequence.
func steps(x, y [][]byte) []step {
	head := 0
	for head < min(len(x), len(y)) && bytes.Equal(x[head], y[head]) {
		head++
	}
	tail := 0
	for tail < min(len(x), len(y))-head && bytes.Equal(x[len(x)-1-tail], y[len(y)-1-tail]) {
		tail++
	}
	common := longest(x[head:len(x)-tail], y[head:len(y)-tail])
	var all []step
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		s := step{' ', nil, i, j}
		inner := i >= head && i < len(x)-tail
		other := j >= head && j < len(y)-tail
		switch {
		case inner && (!other || !bytes.Equal(x[i], y[j]) && common(i-head+1, j-head) >= common(i-head, j-head+1)):
			s.kind, s.line = '-', x[i]
			i++
		case other && (!inner || !bytes.Equal(x[i], y[j])):
			s.kind, s.line = '+', y[j]
			j++
		default:
			s.line = x[i]
			i++
			j++
		}
		all = append(all, s)
	}
	return all
}

// longest returns how long the longest common subsequence is of what is left of x and y.
func longest(x, y [][]byte) func(i, j int) int {
	width := len(y) + 1
	if len(x)*len(y) > maxCells {
		return func(int, int) int { return 0 }
	}
	cells := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if bytes.Equal(x[i], y[j]) {
				cells[i*width+j] = cells[(i+1)*width+j+1] + 1
			} else {
				cells[i*width+j] = max(cells[(i+1)*width+j], cells[i*width+j+1])
			}
		}
	}
	return func(i, j int) int { return int(cells[i*width+j]) }
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
