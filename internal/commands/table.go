package commands

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/bridge"

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

// table prints rows under a head. The last column gives way when the terminal is too narrow.
func (p sheet) table(head []string, rows [][]cell) error {
	var out strings.Builder
	if p.width == 0 {
		return p.lines(rows)
	}
	top := cells(head...)
	for i := range top {
		top[i].colour = bold
	}
	rows = append([][]cell{top}, rows...)
	widths := make([]int, len(head))
	for _, row := range rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	fit(widths[:len(widths)-1], p.width-minLast)
	for _, row := range rows {
		p.line(&out, row, widths)
	}
	_, err := io.WriteString(p.out, out.String())
	return err
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
		p.line(&out, row, widths)
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

// minLast is what is left for the last column, whatever is in the others.
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

func (p sheet) line(out *strings.Builder, row []cell, widths []int) {
	at := 0
	for i, c := range row {
		width := widths[i]
		if i == len(row)-1 {
			width = max(p.width-at, 1)
		}
		text := cut(c.text, width)
		out.WriteString(p.paint(text, c.colour))
		if i < len(row)-1 {
			pad := widths[i] - utf8.RuneCountInString(text) + 2
			out.WriteString(strings.Repeat(" ", pad))
			at += widths[i] + 2
		}
	}
	out.WriteByte('\n')
}

// wrap breaks a text between its words into lines that have room behind an indent; the first is not indented itself.
func (p sheet) wrap(indent int, text, colour string) string {
	room := max(p.width-indent-1, 20)
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
	_, err := io.WriteString(p.out, bridge.Visible(s))
	return err
}

// json prints a value for programs.
func (p sheet) json(v any) error {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// cut shortens a text to so many characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
