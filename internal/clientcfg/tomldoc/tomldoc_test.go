package tomldoc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice/splicetest"
	"codemode/internal/clientcfg/textpos"
	"codemode/internal/clientcfg/tomldoc"
)

const sample = `title = 'é' # first
["a" . b]
  c.d = { e = [ 1, # second
    { f = true } ] }
[[list]] # third
x = 1_000
`

func TestParse(t *testing.T) {
	doc, err := tomldoc.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	cut := func(s textpos.Span) string { return sample[s.Start:s.End] }
	for _, s := range doc.Sections {
		fmt.Fprintf(&b, "%q %v %q\n", s.Name, s.Array, cut(s.Header))
		for _, p := range s.Pairs {
			fmt.Fprintf(&b, "  %q at %q: %q, %q\n", p.Name, sample[p.Starts[0]:p.Starts[0]+1], cut(p.At), p.Value.Text)
			for _, inner := range p.Value.Pairs {
				fmt.Fprintf(&b, "    %q: %q, %d items\n", inner.Name, cut(inner.Whole), len(inner.Value.Items))
			}
		}
	}
	for _, c := range doc.Comments {
		fmt.Fprintln(&b, cut(c))
	}
	want := `[] false ""
  ["title"] at "t": "'é'", "é"
["a" "b"] false "[\"a\" . b]"
  ["c" "d"] at "c": "{ e = [ 1, # second\n    { f = true } ] }", ""
    ["e"]: "e = [ 1, # second\n    { f = true } ]", 2 items
["list"] true "[[list]]"
  ["x"] at "x": "1_000", "1_000"
# first
# second
# third
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestErrors(t *testing.T) {
	for text, line := range map[string]int{"a = 1\na = 2\n": 2, "\n\n[x": 3, "a = 'x": 1} {
		var e *tomldoc.Error
		if _, err := tomldoc.Parse([]byte(text)); !errors.As(err, &e) || e.Line != line {
			t.Errorf("%q: %v, of %+v", text, err, e)
		}
	}
}

// TestSpans holds, for documents that nobody would write, that a pair's value is in it, and read alone is a value.
func TestSpans(t *testing.T) {
	for seed := range uint64(splicetest.Count(50, 2000)) {
		text := splicetest.Families["TOML"](seed).Text
		doc, err := tomldoc.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		for _, s := range doc.Sections {
			for _, p := range s.Pairs {
				alone, err := tomldoc.Parse([]byte(text[p.Whole.Start:p.Whole.End]))
				if err != nil || !slices.Equal(alone.Sections[0].Pairs[0].Name, p.Name) {
					t.Fatalf("%d: the pair %q: %v", seed, p.Name, err)
				}
				if _, err := tomldoc.Parse([]byte("v = " + text[p.At.Start:p.At.End])); err != nil {
					t.Fatalf("%d: the value of %q: %v", seed, p.Name, err)
				}
			}
		}
	}
}
