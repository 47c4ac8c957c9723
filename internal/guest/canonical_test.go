package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCanonical(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }
	many := func(last string) string {
		return `{"` + strings.Join(strings.Split("abcdefghijklmnopqrstuvw", ""), `":1,"`) + `":1,"` + last + `":2}`
	}
	for _, c := range []struct{ in, want, refused string }{
		{in: ` { "a" : [ 1 , 1.0, -0, 9007199254740993, 1E+400 ] , "b" : null } `, want: `{"a":[1,1.0,-0,9007199254740993,1E+400],"b":null}`},
		{in: `{"path":"\u002f\u0065tc\/passwd"}`, want: `{"path":"/etc/passwd"}`},
		{in: `"\ud83d\ude00\u0000\u0007\n\"\\<\u2028"`, want: `"😀\u0000\u0007\n\"\\<` + "\u2028" + `"`},
		{in: `"\ufffd"`, want: `"` + "\ufffd" + `"`},
		{in: `{"a":1,"A":2,"":3}`, want: `{"a":1,"A":2,"":3}`},
		{in: `[{"a":1},{"a":{"a":1}}]`, want: `[{"a":1},{"a":{"a":1}}]`},
		{in: `{}`, want: `{}`},
		{in: `[[],{}]`, want: `[[],{}]`},
		{in: deep(1000), want: deep(1000)},
		{in: many("x"), want: many("x")},
		{in: deep(1002), refused: "deeper than 1000"},
		{in: deep(1 << 20), refused: "deeper than 1000"},
		{in: many("q"), refused: `the member "q" is there twice`},
		{in: `{"path":"/tmp/x","path":"/etc/passwd"}`, refused: `the member "path" is there twice`},
		{in: `{"b":{"a":1},"a":[{"a":1,"b":":"}],"c":"a"}`, want: `{"b":{"a":1},"a":[{"a":1,"b":":"}],"c":"a"}`},
		{in: `{"a\"":1,"a\\":{"a":{}},"a":[],"a\u0022":2}`, refused: `the member "a\"" is there twice`},
		{in: `{"a":1,"\u0061":2}`, refused: `the member "a" is there twice`},
		{in: `[{"x":[{"b":1,"c":{},"b":1}]}]`, refused: `the member "b" is there twice`},
		{in: `"\ud800"`, refused: "surrogate"},
		{in: `"\ud800\u0041"`, refused: "surrogate"},
		{in: `"\udc00\ud800"`, refused: "surrogate"},
		{in: `{"\ud83d\ud83d\ude00":1}`, refused: "surrogate"},
		{in: "\"\xff\"", refused: "invalid UTF-8"},
		{in: "\"\xed\xa0\x80\"", refused: "invalid UTF-8"},
		{in: "\"\x00\"", refused: "invalid character"},
		{in: `{"a":1}{`, refused: "after top-level value"},
		{in: `{"a":1,}`, refused: "invalid character"},
		{in: `{"a" 1}`, refused: "invalid character"},
		{in: `[1,]`, refused: "invalid character"},
		{in: `[1}`, refused: "invalid character"},
		{in: `01`, refused: "invalid character"},
		{in: ``, refused: "unexpected EOF"},
		{in: `"\u00`, refused: "unexpected EOF"},
	} {
		got, err := Canonical([]byte(c.in))
		switch {
		case err != nil && c.refused != "" && strings.Contains(err.Error(), c.refused):
		case err != nil || c.refused != "" || string(got) != c.want:
			t.Errorf("%.100s: %.200s, %v", c.in, got, err)
		}
	}
}

// TestCanonicalTakesLittle holds that a value takes little more memory than it has bytes, whatever there are many of.
func TestCanonicalTakesLittle(t *testing.T) {
	var members strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&members, `"%x":1,`, i*2654435761%(1<<32)) // in no order
	}
	for name, c := range map[string]struct {
		value string
		times uint64
	}{
		"objects": {`[` + strings.Repeat(`{},`, 1<<20) + `{}]`, 2},
		"texts":   {`[` + strings.Repeat(`"",`, 1<<20) + `""]`, 2},
		"members": {`{` + members.String() + `"z":1}`, 6},
	} {
		var before, after runtime.MemStats
		value := []byte(c.value)
		runtime.ReadMemStats(&before)
		if got, err := Canonical(value); err != nil || string(got) != c.value {
			t.Errorf("%s: %.100s, %v", name, got, err)
		}
		runtime.ReadMemStats(&after)
		if took, size := after.TotalAlloc-before.TotalAlloc, uint64(len(value)); took > c.times*size {
			t.Errorf("%s: %d bytes for %d", name, took, size)
		}
	}
}

// FuzzCanonical holds that a canonical value means what the value means to encoding/json, and is its own canonical
// form; what jsontext refuses, two members of one name above all, is refused.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,1.0,"\u0061\ud83d\ude00"],"b":{"c":null}}`, `{"a":1,"\u0061":2}`, `"\ud800"`, `[true,false]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := Canonical(value)
		if valid := jsontext.Value(value).IsValid(); valid != (err == nil) && !Deeper(value, maxCanonicalDepth) {
			t.Errorf("%q: %v, and to jsontext it is valid: %v", value, err, valid)
		}
		if err != nil {
			return
		}
		if again, err := Canonical(got); err != nil || !bytes.Equal(got, again) {
			t.Errorf("%q became %q, then %q, %v", value, got, again, err)
		}
		if a, b := decoded(t, value), decoded(t, got); !reflect.DeepEqual(a, b) {
			t.Errorf("%q became %q", value, got)
		}
	})
}

// decoded is a value as encoding/json reads it, with numbers as they are written.
func decoded(t *testing.T, value []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Errorf("%q is taken for JSON: %v", value, err)
	}
	return v
}

// TestReplaceTexts: texts are replaced wherever they are, names of members and all else stay byte for byte.
func TestReplaceTexts(t *testing.T) {
	replace := func(text string) (string, error) {
		if text == "x" {
			return `/a "b"`, nil
		}
		return text, nil
	}
	for in, want := range map[string]string{
		`{"x":"x","y":["x",{"x":1.0},"xx","\\x","é"],"z":"x"}`: `{"x":"/a \"b\"","y":["/a \"b\"",{"x":1.0},"xx","\\x","é"],"z":"/a \"b\""}`,
		`{}`:          `{}`,
		`{"a":"\"x"}`: `{"a":"\"x"}`,
	} {
		if got, err := ReplaceTexts([]byte(in), replace); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	fails := func(string) (string, error) { return "", errors.New("no") }
	if _, err := ReplaceTexts([]byte(`["x"]`), fails); err == nil {
		t.Error("an error is lost")
	}
}

// TestMembersOfACall holds that a call's members are those of exactly these names: what another reader may take for one
// is none.
func TestMembersOfACall(t *testing.T) {
	c, err := ParseToolCall(json.RawMessage(`{"server":"a","Server":"b","\u0074ool":"c","TOOL":"d","x":[{}],` +
		`"progress":true,"arguments":{"y": 1},"Arguments":{}}`))
	if err != nil || c.Server != "a" || c.Tool != "c" || !c.Progress || string(c.Arguments) != `{"y":1}` {
		t.Errorf("%+v, %s, %v", c, c.Arguments, err)
	}
	for _, bad := range []string{
		`[]`, `{`, `{"server":1}`, `{"tool":{}}`, `{"arguments":[]}`, `{"arguments":null}`, `{"a" 1}`,
	} {
		if c, err := ParseToolCall(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %+v", bad, c)
		}
	}
}
