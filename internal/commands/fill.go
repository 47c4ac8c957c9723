package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"codemode/internal/inquiry"

	"golang.org/x/term"
)

// fill puts what a server asks before the user: to open a URL, or to fill in a form, line by line. As with a call, it
// is a word that agrees; what the server says stands behind bars, so that nothing of it passes for codemode's.
func (t *terminal) fill(ctx context.Context, q inquiry.Prompt) (values map[string]any, yes bool, err error) {
	err = t.put(ctx, oneLine(q.Who)+"\n"+t.barred(q.Text), func(ctx context.Context, word string) error {
		if yes, err = t.agree(ctx, q, word); yes && err == nil {
			values, err = t.fields(ctx, q.Fields)
		}
		if errors.Is(err, io.EOF) { // Ctrl-D is a no at any time
			fmt.Fprintln(t.out)
			yes, err = false, nil
		}
		return err
	})
	return values, yes, err
}

// barred is a server's text behind bars on a terminal that folds none of its lines, and leaves room for what is asked.
func (t *terminal) barred(text string) string {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		columns, rows = 80, 24
	}
	lines := barredLines(text, max(8, columns-2))
	if room := max(4, rows-10); len(lines) > room {
		more := len(lines) - room
		lines = append(lines[:room], fmt.Sprintf("codemode: %d more lines of it are not shown", more))
	}
	return strings.Join(lines, "\n")
}

// barredLines folds a text at a number of columns.
func barredLines(text string, columns int) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for _, folded := range foldWords(oneLine(line), columns, true) {
			lines = append(lines, "| "+folded)
		}
	}
	return lines
}

// agree has the user say whether the server gets what it wants.
func (t *terminal) agree(ctx context.Context, q inquiry.Prompt, word string) (bool, error) {
	what := "fill in its form, which that server gets"
	if q.URL != "" {
		fmt.Fprintf(t.out, "It wants you to open this, at your own risk:\n  %s\n", oneLine(q.URL))
		what = "say that you have opened it"
		if u, err := url.Parse(q.URL); err == nil { // of a long one the beginning may have left the screen
			what += ", a page of " + oneLine(u.Host)
		}
	}
	t.say(fmt.Sprintf("codemode: answer the server?\nType %s to %s, or no: ", word, what))
	for range maxWrong {
		switch typed, err := t.typedLine(ctx); {
		case err != nil:
			return false, err
		case typed == word:
			return true, nil
		case typed == "", typed == "n", typed == "no":
			return false, nil
		default:
			t.say(fmt.Sprintf("%s is no answer: %s or no? ", oneLine(quote(typed)), word))
		}
	}
	fmt.Fprintln(t.out)
	return false, nil
}

// fields reads a value for each field, of which all that the server has written stands behind bars. One that is not
// understood maxWrong times ends it as Ctrl-D does.
func (t *terminal) fields(ctx context.Context, list []inquiry.Field) (map[string]any, error) {
	values := map[string]any{}
	for _, f := range list {
		what := fmt.Sprintf("%s (%s)", f.Name, f.Takes)
		if f.About != "" {
			what = f.About + "\n" + what
		}
		fmt.Fprintf(t.out, "%s\ncodemode: your answer: ", t.barred(what))
		wrong := 0
		for {
			typed, err := t.typedLine(ctx)
			if err != nil {
				return nil, err
			}
			value, given, err := f.Read(typed)
			if err == nil {
				if given {
					values[f.Name] = value
				}
				break
			}
			if wrong++; wrong == maxWrong {
				return nil, io.EOF
			}
			fmt.Fprintf(t.out, "%s; codemode: your answer: ", oneLine(err.Error()))
		}
	}
	return values, nil
}
