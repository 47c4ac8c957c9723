package jsonc_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"codemode/internal/clientcfg/jsonc"
)

// read is what a text is without what JSON has not, or why it is not JSON.
func read(text string) (plain []byte, extras []jsonc.Extra, err error) {
	plain, extras = jsonc.Plain([]byte(text))
	d := jsonc.NewDecoder(plain, 0, len(plain))
	if _, _, err = d.Next(); err == nil {
		err = d.End()
	}
	return plain, extras, err
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [1, "}"]}`:                     `{"a": [1, "}"]}`,
		"// a\n{} // b":                       "    \n{}     ",
		`[1,]`:                                `[1 ]`,
		"[1 /* , */ , // ]\r\n ] /**/":        "[1           " + "     \n ]     ",
		`{"a//": "/*", "b": {"c\"": "\\",},}`: `{"a//": "/*", "b": {"c\"": "\\" } }`,
	} {
		got, extras, err := read(text)
		if string(got) != want || err != nil {
			t.Errorf("%q is\n%q, not\n%q; %v", text, got, want, err)
		}
		for _, e := range extras {
			if len(bytes.TrimSpace(got[e.Start:e.End])) > 0 {
				t.Errorf("%q: %v is not blank", text, e)
			}
		}
	}
}

func TestNotJSON(t *testing.T) {
	for text, want := range map[string]int{
		`[,]`: 1, `{,}`: 1, `[1,,]`: 3, `{"a":,}`: 5, `,`: 0, `[1],`: 3, `{} /*`: 3, `/`: 0, `{} {}`: 3, `["\x"]`: 2, `["a`: 3,
		`{'a': 1}`: 1, `[01]`: 2, `{"a": trUe}`: 8, `{"a": 1]`: 7,
	} {
		_, _, err := read(text)
		at, reason := jsonc.Explain([]byte(text), err)
		if err == nil || at != want || reason == "" {
			t.Errorf("%s: %v, explained as %q at %d, not at %d", text, err, reason, at, want)
		}
	}
}

// FuzzPlain holds that nothing but comments and commas is made blank, and that plain JSON stays as it is.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{`{"a": "//\"", "b": [1, /* , */ 2,],} // c`, `[1,/**/]`, "{\"\\", `/*/`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, extras, err := read(text)
		again, more := jsonc.Plain(plain)
		var syntax *jsontext.SyntacticError
		switch {
		case err == nil && (!bytes.Equal(again, plain) || more != nil):
			t.Errorf("%q has more: %q", text, again)
		case err != nil && !errors.As(err, &syntax) && len(bytes.TrimSpace(plain)) > 0:
			t.Errorf("%q: an error without a place: %v", text, err)
		}
		rest := []byte(text)
		for _, e := range extras {
			part := text[e.Start:e.End]
			if part != "," && part[:2] != "//" && (part[:2] != "/*" || part[len(part)-2:] != "*/") {
				t.Errorf("%q: %q is neither", text, part)
			}
			copy(rest[e.Start:e.End], plain[e.Start:])
		}
		if !bytes.Equal(rest, plain) {
			t.Errorf("%q became %q", text, plain)
		}
	})
}
