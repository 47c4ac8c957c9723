package commands

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/visible"

	"golang.org/x/term"
)

// sheet writes to stdout what a command was asked for: on a terminal as a table that fits it, with colour
// unless NO_COLOR is set; elsewhere as lines with tabs between the columns, which cut(1) and awk(1) read.
type sheet struct {
	out    io.Writer
	width  int // of the terminal; 0 when stdout is none
	colour bool
}

func newSheet(env Env) sheet {
	p := sheet{out: env.Stdout}
	if f, ok := env.Stdout.(*os.File); ok && isTerminal(f) {
		p.width = 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			p.width = w
		}
		p.colour = env.get("NO_COLOR") == "" && env.get("TERM") != "dumb"
	}
	return p
}

// cell is one field of a table. Texts may be a stranger's: they are made visible before they are shown.
type cell struct{ text, colour string }

// cells are fields without colour.
func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].text = text
	}
	return row
}

const bold = "1"

// maxName is how many letters of a name are shown in a line of names: strangers choose them.
const maxName = 48

// table prints rows under a head. Nothing is cut when the terminal is too narrow: the last column goes on in lines of
// its own, below the row where there is little room beside it, and so does all that is behind a name that is too long.
func (p sheet) table(head []string, rows [][]cell) error {
	if p.width == 0 {
		return p.lines(rows)
	}
	top := cells(head...)
	for i := range top {
		top[i].colour = bold
	}
	rows = append([][]cell{top}, rows...)
	last := len(head) - 1
	widths := make([]int, last)
	widest := 0
	for _, row := range rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			if n := utf8.RuneCountInString(row[i].text); i < last {
				widths[i] = max(widths[i], n)
			} else {
				widest = max(widest, n)
			}
		}
	}
	beside := p.width - total(widths)
	if below := beside < min(widest, minBeside); below {
		beside = 0
		fit(widths, p.width+2)
	}
	var out strings.Builder
	for _, row := range rows {
		p.row(&out, row, widths, beside)
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

// maxTyped is how much of a name nobody minds: strangers choose them, and one without end is not to fill the terminal.
const maxTyped = 128

// minBeside is the least width in which the last column goes on beside the others; in less it stands below them.
const minBeside = 24

// total is how many characters columns take, with the gaps behind them.
func total(widths []int) (n int) {
	for _, w := range widths {
		n += w + 2
	}
	return n
}

// row prints a row in as many lines as it needs. beside is the room of its last cell, 0 where that stands below.
func (p sheet) row(out *strings.Builder, row []cell, widths []int, beside int) {
	first, last := 0, len(row)-1
	columns := make([][]string, last)
	if last > 0 &&
		utf8.RuneCountInString(row[0].text) > widths[0] { // a name is typed: it is whole, in a line of its own
		for _, part := range broken(cut(row[0].text, max(maxTyped, 2*p.width)), p.width, true) {
			out.WriteString(p.paint(part, row[0].colour) + "\n")
		}
		first = 1
	}
	for i := first; i < last; i++ {
		columns[i] = broken(row[i].text, widths[i], false)
	}
	if beside > 0 {
		columns, widths = append(columns, broken(row[last].text, beside, false)), append(slices.Clone(widths), beside)
	}
	for n := range longest(columns) {
		var line strings.Builder
		gap := 0
		for i, parts := range columns {
			if n < len(parts) && parts[n] != "" {
				line.WriteString(strings.Repeat(" ", gap) + p.paint(parts[n], row[i].colour))
				gap = -utf8.RuneCountInString(parts[n])
			}
			gap += widths[i] + 2
		}
		if line.Len() > 0 {
			out.WriteString(line.String() + "\n")
		}
	}
	if text := row[last].text; beside == 0 && text != "" {
		for _, part := range broken(text, max(p.width-4, 1), false) {
			out.WriteString("    " + p.paint(part, row[last].colour) + "\n")
		}
	}
}

func longest(columns [][]string) (n int) {
	for _, parts := range columns {
		n = max(n, len(parts))
	}
	return n
}

// broken is a text in lines of so many characters, broken between words where that is possible; a name is none of
// words.
func broken(text string, width int, name bool) (lines []string) {
	letters := []rune(text)
	for len(letters) > width {
		at := width
		for i := width; i > 0 && !name; i-- {
			if letters[i] == ' ' {
				at = i
				break
			}
		}
		lines = append(lines, string(letters[:at]))
		letters = letters[at:]
		if letters[0] == ' ' && !name {
			letters = letters[1:]
		}
	}
	return append(lines, string(letters))
}

// lines prints rows for programs.
func (p sheet) lines(rows [][]cell) error {
	var out strings.Builder
	for _, row := range rows {
		for i, c := range row {
			if i > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(strings.ReplaceAll(oneLine(c.text), "\t", " "))
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

// more prints rows that come one after the other, in columns of these widths.
func (p sheet) more(widths []int, rows [][]cell) error {
	if p.width == 0 {
		return p.lines(rows)
	}
	var out strings.Builder
	for _, row := range rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
		}
		p.row(&out, row, widths[:len(widths)-1], max(p.width-total(widths[:len(widths)-1]), 1))
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

// minLast is what is left for the last column of rows that come one by one, whatever is in the others.
const minLast = 12

// fit takes from the widest columns until all of them, with the gaps behind them, have room.
func fit(widths []int, room int) {
	for _, w := range widths {
		room -= w + 2
	}
	for room < 0 && len(widths) > 0 {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= 1 {
			return
		}
		widths[widest]--
		room++
	}
}

// wrap breaks a text between its words into lines that have room behind an indent; the first is not indented itself.
func (p sheet) wrap(indent int, text, colour string) string {
	room := max(p.width-indent-1, 16)
	var lines []string
	line := ""
	for _, word := range strings.Split(oneLine(text), " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room {
			lines = append(lines, p.paint(line, colour))
			line = word
			continue
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	lines = append(lines, p.paint(line, colour))
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

func (p sheet) paint(text, colour string) string {
	if !p.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// text prints lines that are ours but for the names in them.
func (p sheet) text(s string) error {
	_, err := io.WriteString(p.out, visible.Text(s))
	return err
}

// json prints a value for programs.
func (p sheet) json(v any) error {
	var text strings.Builder // an upstream's words are in it: a terminal obeys none of them
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, visible.JSON(text.String()))
	return err
}

// cut shortens a text to so many characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
