package yamldoc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice/splicetest"
	"codemode/internal/clientcfg/yamldoc"
)

const sample = "é: &x 'it''s # none' # one\nlist: [a, \"]#\", {b: c}] # two\nblock: |\n  # text\n...\nmore\n"

func TestPlaces(t *testing.T) {
	doc, err := yamldoc.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var comments []string
	for _, c := range doc.Comments() {
		comments = append(comments, sample[c.Start:c.End])
	}
	if want := []string{"# one", "# two"}; !slices.Equal(comments, want) {
		t.Errorf("comments %q, want %q", comments, want)
	}
	list := doc.Root.Content[3]
	at := doc.Offset(list)
	if got := sample[at:doc.FlowEnd(at, doc.Comments())]; got != `[a, "]#", {b: c}]` {
		t.Errorf("the list is %q", got)
	}
	if colon, ok := doc.Colon(doc.Root.Content[2]); !ok || sample[colon-5:colon] != "list:" {
		t.Errorf("the colon is at %d, %v", colon, ok)
	}
	if got := sample[doc.End():]; !doc.More || got != "...\nmore\n" {
		t.Errorf("behind its end is %q, more: %v", got, doc.More)
	}
}

func TestErrors(t *testing.T) {
	for text, line := range map[string]int{"a: 1\n\tb: 2\n": 2, "a: *secret\n": 0, "a: 1\na: 2\n": 2} {
		doc, err := yamldoc.Parse([]byte(text))
		if err == nil {
			_, err = doc.Values()
		}
		var e *yamldoc.Error
		if !errors.As(err, &e) || e.Line != line || e.Reason == "" {
			t.Errorf("%q: %v, of %+v", text, err, e)
		}
	}
}

// TestComments holds that of documents that nobody would write every comment is found, and what looks like one is not.
func TestComments(t *testing.T) {
	for seed := range uint64(splicetest.Count(50, 2000)) {
		made := splicetest.Families["YAML"](seed)
		doc, err := yamldoc.Parse([]byte(made.Text))
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		want := made.Comments + made.Inner // and of a plain scalar's end, which may have one of those in it
		want += strings.Count(made.Text, "it's # not") - strings.Count(made.Text, "it's # not  # ")
		if got := len(doc.Comments()); got != want {
			t.Errorf("%d: %d comments, want %d", seed, got, want)
		}
	}
}
