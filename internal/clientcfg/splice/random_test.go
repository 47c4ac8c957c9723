package splice_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
	"codemode/internal/clientcfg/splice/splicetest"
)

// family is how its documents are edited.
type family struct {
	format splice.Format
	entry  []splice.Member
}

var families = map[string]family{
	"JSON":      {splice.JSON, entry},
	"JSONC":     {splice.JSONC, entry},
	"TOML":      {splice.TOML, entry},
	"TOMLArray": {splice.TOMLArray, entry},
	"YAML":      {splice.YAML, gooseEntry},
}

// TestRandom edits documents that nobody would write: they stay what they were but for the entry.
func TestRandom(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same, n := 0, splicetest.Count(500, 10_000)
			for seed := range uint64(n) {
				d := splicetest.Families[name](seed)
				if once := edited(t, f, d); once == d.Text {
					same++
				}
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, d.Text)
				}
			}
			t.Logf("%d of %d are byte-identical after an entry was set and removed", same, n)
		})
	}
}

// edited sets an entry twice, changes it, removes it, and removes the others; it returns the text after
// the entry was removed.
func edited(t *testing.T, f family, d splicetest.Document) string {
	src, container := d.Text, d.Container
	path := append(container[:len(container):len(container)], "codemode")
	before := parsed(t, f.format, src)
	if t.Failed() {
		return ""
	}
	had, err := before.Entries(container)
	if err != nil {
		t.Errorf("entries: %v", err)
		return ""
	}
	set := must(t)(before.Set(path, f.entry))
	check := func(what, text string, entries []string) {
		names, err := parsed(t, f.format, text).Entries(container)
		if err != nil || !reflect.DeepEqual(names, entries) && len(names)+len(entries) > 0 {
			t.Errorf("%s: it has %q, not %q: %v\n%s", what, names, entries, err, text)
		}
		for i := range d.Comments {
			if !strings.Contains(text, fmt.Sprintf("c%d }", i)) {
				t.Errorf("%s: comment c%d is lost\n%s", what, i, text)
			}
		}
		for i := range d.Inner {
			if has := strings.Contains(text, fmt.Sprintf("i%d }", i)); has != (what != "remove others") {
				t.Errorf("%s: comment i%d: %v\n%s", what, i, has, text)
			}
		}
	}
	check("set", set, append(had[:len(had):len(had)], "codemode"))
	if again := must(t)(parsed(t, f.format, set).Set(path, f.entry)); again != set {
		t.Errorf("set again: it changes\n%q\nto\n%q", set, again)
	}
	other := []splice.Member{
		{Key: f.entry[0].Key, Value: "other"}, {Key: "env", Value: []splice.Member{{Key: "K", Value: "v"}}},
	}
	changed := must(t)(parsed(t, f.format, set).Set(path, other))
	check("change", changed, append(had[:len(had):len(had)], "codemode"))
	once := must(t)(parsed(t, f.format, set).Remove(path, had == nil))
	check("remove", once, had)
	if !reflect.DeepEqual(values(parsed(t, f.format, once)), values(before)) {
		t.Errorf("remove: it is not what it was\n%s", once)
	}
	if len(had) > 0 {
		alone := must(t)(parsed(t, f.format, set).RemoveAll(container, had, false))
		check("remove others", alone, []string{"codemode"})
	}
	return once
}

func values(d *splice.Document) any {
	v, _ := d.Get(nil)
	m, _ := v.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	for name, inner := range m { // a container may be null, empty or not there
		table, isTable := inner.(map[string]any)
		list, isList := inner.([]any)
		if inner == nil || isTable && len(table) == 0 || isList && len(list) == 0 {
			delete(m, name)
		}
	}
	return m
}

func parsed(t *testing.T, f splice.Format, src string) *splice.Document {
	d, err := splice.Parse([]byte(src), f)
	if err != nil {
		t.Errorf("parse: %v\n%s", err, src)
		d, _ = splice.Parse(nil, f)
	}
	return d
}

func must(t *testing.T) func([]byte, error) string {
	return func(out []byte, err error) string {
		if err != nil {
			t.Error(err)
		}
		return string(bytes.Clone(out))
	}
}
