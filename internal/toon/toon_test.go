package toon

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The specification's own cases.
func TestFixtures(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/toon/encode/*.json")
	if len(files) == 0 {
		t.Skip("no fixtures beside the repository")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var fixture struct {
			Tests []struct {
				Name     string
				Input    json.RawMessage
				Expected string
				Options  struct {
					Delimiter  string
					IndentSize int
				}
			}
		}
		if err := json.Unmarshal(data, &fixture); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(fixture.Tests) == 0 {
			t.Errorf("%s: no tests", file)
		}
		for _, test := range fixture.Tests {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+test.Name, func(t *testing.T) {
				opts := Options{IndentSize: test.Options.IndentSize}
				if d := test.Options.Delimiter; d != "" {
					opts.Delimiter = d[0]
				}
				got, err := Encode(test.Input, opts)
				if err != nil || string(got) != test.Expected {
					t.Errorf("%s\ngot  %q, %v\nwant %q", test.Input, got, err, test.Expected)
				}
			})
		}
	}
}

func TestEncode(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		opts           Options
	}{
		{name: "empty object", in: `{}`},
		{name: "empty array", in: `[]`, want: "[]"},
		{name: "empty values", in: `{"a": {}, "b": [], "c": "", "": null}`, want: "a:\nb: []\nc: \"\"\n\"\": null"},
		{name: "nested", in: `{"a": {"b": {"c": true}}, "d": 1}`, want: "a:\n  b:\n    c: true\nd: 1"},
		{name: "key order", in: `{"z": 1, "a": 2, "m": 3}`, want: "z: 1\na: 2\nm: 3"},
		{name: "equal keys", in: `{"a": 1, "b": 2, "a": 3}`, want: "a: 3\nb: 2"},
		{name: "inline", in: `{"a": ["x", "a,b", 1.50, null]}`, want: `a[4]: x,"a,b",1.5,null`},
		{name: "table", in: `[{"a": 1, "b": "x"}, {"b": "y", "a": 2}]`, want: "[2]{a,b}:\n  1,x\n  2,y"},
		{name: "grouped table", in: `{"r": [{"a": {"b": 1, "c": {"d": 2}}, "e": 3}]}`, want: "r[1]{a{b,c{d}},e}:\n  1,2,3"},
		{name: "table with wide rows", in: `[` + wide("1") + `,` + wide("2") + `]`, want: "[2]{" + strings.Join(letters, ",") + "}:\n  " + strings.Join(repeat("1"), ",") + "\n  " + strings.Join(repeat("2"), ",")},
		{name: "other keys", in: `[{"a": 1}, {"b": 1}]`, want: "[2]:\n  - a: 1\n  - b: 1"},
		{name: "more keys", in: `[{"a": 1}, {"a": 1, "b": 1}]`, want: "[2]:\n  - a: 1\n  - a: 1\n    b: 1"},
		{name: "mixed column", in: `[{"a": 1}, {"a": {"b": 1}}]`, want: "[2]:\n  - a: 1\n  - a:\n      b: 1"},
		{name: "named rows", in: `{"s": {"x": {"p": 1}, "y": {"p": 2}}}`, want: "s[2:]{p}:\n  x: 1\n  y: 2"},
		{name: "named rows at the root", in: `{"x y": {"p": {"q": 1}}, "z": {"p": {"q": 2}}}`, want: "[2:]{p{q}}:\n  \"x y\": 1\n  z: 2"},
		{name: "no table in a list", in: `[[{"a": 1}, {"a": 2}], 3]`, want: "[2]:\n  - [2]:\n    - a: 1\n    - a: 2\n  - 3"},
		{name: "no named rows in a list", in: `[{"a": {"x": [1]}, "b": {"x": [2]}}]`, want: "[1]:\n  - a:\n      x[1]: 1\n    b:\n      x[1]: 2"},
		{name: "arrays in a list", in: `[[], [1, 2], {}, "-", [[3]]]`, want: "[5]:\n  - [0]:\n  - [2]: 1,2\n  -\n  - \"-\"\n  - [1]:\n    - [1]: 3"},
		{name: "table after a hyphen", in: `[{"t": [{"a": 1}], "n": []}]`, want: "[1]:\n  - t[1]{a}:\n      1\n    n: []"},
		{name: "pipe", in: `{"a": ["x|y", "x,y"], "s": {"x": {"p": 1, "q": "|"}, "y": {"p": 2, "q": ","}}}`, want: "a[2|]: \"x|y\"|x,y\ns[2:|]{p|q}:\n  x: 1|\"|\"\n  y: 2|,", opts: Options{Delimiter: '|'}},
		{name: "tab", in: `["a", "b\tc"]`, want: "[2\t]: a\t\"b\\tc\"", opts: Options{Delimiter: '\t'}},
		{name: "indent", in: `{"a": {"b": 1}}`, want: "a:\n    b: 1", opts: Options{IndentSize: 4}},
		{name: "byte order mark", in: `["\ufeff"]`, want: "[1]: \uFEFF"},
		{name: "byte order mark at the start", in: `"\ufeff"`, want: "\"\uFEFF\""},
		{name: "surrogates", in: `"\ud83d\ude80 \ud800"`, want: "\U0001F680 \uFFFD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Encode([]byte(test.in), test.opts)
			if err != nil || string(got) != test.want {
				t.Errorf("%s\ngot  %q, %v\nwant %q", test.in, got, err, test.want)
			}
		})
	}
}

var letters = strings.Split("abcdefghijklmnopqrstuvwxyz", "")

func repeat(s string) []string { return strings.Split(strings.Repeat(s, len(letters)), "") }

// wide is an object with many keys, whose values are value.
func wide(value string) string {
	var fields []string
	for _, l := range letters {
		fields = append(fields, `"`+l+`": `+value)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func TestStrings(t *testing.T) {
	for _, s := range []string{"a b", "a-b", "a#b", "é", "1.", ".5", "1e", "True", "a.b", "a|b", "0x10", "x"} {
		check(t, s, s)
	}
	for s, want := range map[string]string{
		"": `""`, "true": `"true"`, "null": `"null"`, "0": `"0"`, "-0": `"-0"`, "+1.5E-3": `"+1.5E-3"`,
		" a": `" a"`, "a ": `"a "`, "-": `"-"`, "-a": `"-a"`, "#": `"#"`, "a:b": `"a:b"`, "a,b": `"a,b"`,
		`"`: `"\""`, `\`: `"\\"`, "[": `"["`, "}": `"}"`, "a\nb\r\t": `"a\nb\r\t"`, "\x00\x1f": `"\u0000\u001f"`,
	} {
		check(t, s, want)
	}
}

// check encodes the string s.
func check(t *testing.T, s, want string) {
	t.Helper()
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Encode(in, Options{}); err != nil || string(got) != want {
		t.Errorf("%q: got %q, %v; want %q", s, got, err, want)
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0e5": "0", "0e99999999999999999999": "0",
		"1": "1", "-7": "-7", "10": "10", "1.0": "1", "1.50": "1.5", "100e-2": "1", "120e-2": "1.2", "-12.34e1": "-123.4",
		"1e6": "1000000", "1E+20": "100000000000000000000", "123456789012345678901": "123456789012345678901",
		"1e21": "1e+21", "1234e20": "1.234e+23", "-1e21": "-1e+21",
		"1e-6": "0.000001", "0.00000123": "0.00000123", "1e-7": "1e-7", "0.000000123": "1.23e-7", "5e-324": "5e-324",
		"9007199254740993":           "9007199254740993",
		"0.1000000000000000055511":   "0.1000000000000000055511",
		"1E99999999999999999999":     "1e99999999999999999999",
		"12e2147483647":              "1.2e+2147483648",
		"-1.5e-99999999999999999999": "-1.5e-99999999999999999999",
	} {
		if got, err := Encode([]byte(in), Options{}); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, in := range []string{
		"", " ", "{", `{"a"}`, "1 2", "01", "nil", `"a`, "[1,]", strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6),
	} {
		if got, err := Encode([]byte(in), Options{}); err == nil {
			t.Errorf("%.20q: got %q, want an error", in, got)
		}
	}
	for _, opts := range []Options{{Delimiter: ';'}, {IndentSize: -1}} {
		if _, err := Encode([]byte("1"), opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
}

// A small document whose indentation alone is gigabytes.
func TestEncodeTooLarge(t *testing.T) {
	const depth = 9000
	in := strings.Repeat(`{"a":`, depth) + "[" + strings.Repeat("[[]],", 1e5) + "0]" + strings.Repeat("}", depth)
	got, err := Encode([]byte(in), Options{MaxSize: 1 << 20})
	if !errors.Is(err, errTooLarge) || got != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got, err := Encode([]byte(`"1234"`), Options{MaxSize: 6}); err != nil || len(got) != 6 {
		t.Errorf("at the limit: got %q, %v", got, err)
	}
}

func FuzzEncode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[{"b":1,"c":{"d":"x"}},{"b":2,"c":{"d":""}}]}`, `{"a":{"x":1},"b":{"x":-1e-9}}`, `[[],{},[{"":[]}],"- "]`,
		`"\ud800"`, `1e-400`,
	} {
		f.Add([]byte(seed), byte(','))
		f.Add([]byte(seed), byte('\t'))
	}
	f.Fuzz(func(t *testing.T, data []byte, delimiter byte) {
		got, err := Encode(data, Options{Delimiter: delimiter, MaxSize: 1 << 20})
		known := delimiter == 0 || delimiter == ',' || delimiter == '\t' || delimiter == '|'
		if valid := json.Valid(data) && known; valid != (err == nil) && !errors.Is(err, errTooLarge) {
			t.Fatalf("valid: %v, error: %v", valid, err)
		}
		for line := range strings.Lines(string(got)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.TrimRight(line, " ") != line || strings.ContainsAny(line, "\r\x00") {
				t.Fatalf("line %q ends in spaces or holds what must be escaped", line)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	rows := strings.Repeat(
		`{"id": 12345, "title": "a longer title: with a colon", "user": {"login": "ada", "admin": false}, "score": 0.75},`,
		1000,
	)
	data := []byte("[" + strings.TrimSuffix(rows, ",") + "]")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Encode(data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
