package codemode_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	// listItem begins an item of a list; its text goes on below itself.
	listItem = regexp.MustCompile(`^ {0,3}(?:[-*+]|\d+\.) +`)

	// markup is what a line of a paragraph must not begin with, because it would begin something else.
	markup = regexp.MustCompile(`^(?:[-*+>|]$|#+$|\d+[.)]$|<!--|` + "```" + `)`)

	// apart is a line that is no prose: a heading, a table, a quotation, a comment, HTML, code.
	apart = regexp.MustCompile(`^(?:#|\||>|<|    |` + "```" + `)`)
)

// proseLines tells which lines of a document are prose: not those of code, of a table, or of what a test writes.
func proseLines(lines []string) []bool {
	prose := make([]bool, len(lines))
	fenced, made := false, false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimLeft(line, " "), "```")
		if strings.HasPrefix(line, "<!--") {
			made = line != "<!-- end -->"
		}
		prose[i] = line != "" && !fenced && !fence && !made && !apart.MatchString(line)
		fenced = fenced != fence
	}
	return prose
}

// wrap is a document whose paragraphs have no line of more than so many columns, as far as their words allow it. A
// paragraph that has none stays as it is.
func wrap(text string, columns int) string {
	lines := strings.Split(text, "\n")
	prose := proseLines(lines)
	var out []string
	for i := 0; i < len(lines); {
		end := i + 1
		for prose[i] && end < len(lines) && prose[end] && !listItem.MatchString(lines[end]) {
			end++
		}
		paragraph := lines[i:end]
		if prose[i] && slices.ContainsFunc(paragraph, func(l string) bool { return utf8.RuneCountInString(l) > columns }) {
			paragraph = wrapParagraph(paragraph, columns)
		}
		out = append(out, paragraph...)
		i = end
	}
	return strings.Join(out, "\n")
}

func wrapParagraph(paragraph []string, columns int) []string {
	first := listItem.FindString(paragraph[0])
	indent := strings.Repeat(" ", len(first))
	words := strings.Fields(strings.Join(paragraph, " ")[len(first):])
	var out []string
	begin := first
	for len(words) > 0 {
		n := 1
		for n < len(words) && utf8.RuneCountInString(begin+strings.Join(words[:n+1], " ")) <= columns {
			n++
		}
		for n > 1 && n < len(words) && markup.MatchString(words[n]) {
			n-- // the next line begins with a word before it
		}
		out = append(out, begin+strings.Join(words[:n], " "))
		words, begin = words[n:], indent
	}
	return out
}

// rewrap writes a document with its long lines wrapped.
func rewrap(t *testing.T, name, text string, columns int) string {
	t.Helper()
	wrapped := wrap(text, columns)
	if wrapped == text {
		return text
	}
	if err := os.WriteFile(name, []byte(wrapped), 0o644); err != nil {
		t.Fatal(err)
	}
	return wrapped
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"short\n":                                "short\n",
		"one two three four\n":                   "one two\nthree four\n",
		"one\ntwo three four\nfive\n":            "one two\nthree four\nfive\n",
		"- one two three\n- four\n":              "- one two\n  three\n- four\n",
		"10. one two three\n    four\n":          "10. one two\n    three\n    four\n",
		"one two\nthree\n\n    code code code\n": "one two\nthree\n\n    code code code\n",
		"| a b c d e f |\n":                      "| a b c d e f |\n",
		"# a heading of it\n":                    "# a heading of it\n",
		"```\na line of code\n```\n":             "```\na line of code\n```\n",
		"one two 3 - 4 five\n":                   "one two 3 -\n4 five\n",
		"<!-- made -->\nis made of it\n<!-- end -->\nand of that one\n": "<!-- made -->\nis made of it\n<!-- end -->\n" +
			"and of that\none\n",
		"incomprehensible words\n": "incomprehensible\nwords\n",
	} {
		if got := wrap(text, 11); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
