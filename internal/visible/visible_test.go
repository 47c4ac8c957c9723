package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 日 😀\n\t":        "plain é 日 😀\n\t",
		"\x1b[31mred\x1b[0m\x00": `\x1b[31mred\x1b[0m\x00`,
		"a\rb\r\n":               `a\rb\r` + "\n",
		"a\u2028b\u202ec\u0085":  `a\u2028b\u202ec\x85`,
		"bad \xff\xfe utf-8":     `bad \xff\xfe utf-8`,
		"replaced \ufffd":        "replaced \ufffd",

		"\u200e\u200f\u061c\u200b\u2060\u2064\ufeff":   `\u200e\u200f\u061c\u200b\u2060\u2064\ufeff`,
		"see\U000e0001\U000e0041\U000e007f":            `see\U000e0001\U000e0041\U000e007f`,
		"\u00ad\u3164\ufff9\u180e\U000e0100\U000e01ef": `\xad\u3164\ufff9\u180e\U000e0100\U000e01ef`,
		"\u034f\u115f\u17b4\ufe0f\u2065":               `\u034f\u115f\u17b4\ufe0f\u2065`,
		"\u2764\ufe0f 1\ufe0f\u20e3":                   "\u2764\ufe0f 1\ufe0f\u20e3",
		"👩\u200d💻 می\u200cخواهم ❤\ufe0f\u200d🔥":        "👩\u200d💻 می\u200cخواهم ❤\ufe0f\u200d🔥",
		"user\u200d = us\ufe0fer\u200c 1\u200d":        `user\u200d = us\ufe0fer\u200c 1\u200d`,
		"\u200d😀\ufe0f\ufe01\u200d\u200d":              `\u200d` + "😀\ufe0f" + `\ufe01\u200d\u200d`,
		"😀\ufe00 ж\ufe0d 直\ufe00 ∩\ufe00 ☎\ufe0e":      `😀\ufe00 ж\ufe0d ` + "直\ufe00 ∩\ufe00 ☎\ufe0e",
	} {
		if got := Text(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestShowJSON has the ways in which arguments could look like others.
func TestShowJSON(t *testing.T) {
	for sent, want := range map[string]string{
		"{ \"a\":\n [1, 2.50, -0, 1E400, true, null, {}] }":    `{"a":[1,2.50,-0,1E400,true,null,{}]}`,
		`{"path":"\u002f\u0065tc"}`:                            `{"path":"/etc"}`,
		`{"a":"\/ \b \r\n\t \" \\ \u0022 <"}`:                  `{"a":"/ \u0008 \u000d\n\t \" \\ \" <"}`,
		`{"a":"x","\u0061":"y"}`:                               `{"a":"x","a":"y"}`,
		`"日本 é déjà 😀 \ud83d\ude00"`:                           `"日本 é déjà 😀 😀"`,
		`"\ud800 \uDC00 \ud800\u0041 \ud83d\ud83d\ude00"`:      `"\ud800 \udc00 \ud800A \ud83d😀"`,
		"\"\ufffd \\ufffd \\uFFFD\"":                           `"\ufffd \ufffd \ufffd"`,
		"\"a\xffb\"":                                           `"a\xffb"`,
		"\"\u2800\u034f\u17b4\u3164\ufe0f\u00a0\u3000\u202e\"": `"\u2800\u034f\u17b4\u3164\ufe0f\u00a0\u3000\u202e"`,
		"\"see\U000e0041\u007f\u0085\"":                        `"see\udb40\udc41\u007f\u0085"`,
		"\"e\u0301 \u0301 \u20dd 한\u3099\"":                    `"e\u0301 \u0301 \u20dd 한\u3099"`,
		"\"हिन्दी ภาษาไทย བསྒྲུབས\"":                           `"हिन्दी ภาษาไทย བསྒྲུབས"`,
		"\"ก" + strings.Repeat("\u0e49", 6) + "\"":             "\"ก" + strings.Repeat("\u0e49", 4) + `\u0e49\u0e49"`,
		"{\"א\":\"ب\",\"n\":\"٣\"}":                            `{"\u05d0":"\u0628","n":"\u0663"}`,
		`{"a":`:                                                `no JSON: "{\"a\":"`,
		``:                                                     `nothing`,
	} {
		if got := Value(json.RawMessage(sent), 1000); got != want {
			t.Errorf("%q is shown as\n%s, want\n%s", sent, got, want)
		}
	}
}

// TestShowJSONCuts holds that what is cut is cut at the end of a value, said, and no more than needed: what comes after
// a long string is shown.
func TestShowJSONCuts(t *testing.T) {
	x := strings.Repeat("x", 5000)
	for sent, want := range map[string]string{
		`{"pad":"` + x + `","path":"/etc/passwd"}`:          `{"pad":"` + x[:100] + `"<4900 bytes not shown>,"path":"/etc/passwd"}`,
		`{"pad":"<9 bytes not shown>` + x + `"}`:            `{"pad":"<9 bytes not shown>` + x[:81] + `"<4919 bytes not shown>}`,
		`["` + strings.Repeat(`\u0000`, 50) + `"]`:          `["` + strings.Repeat(`\u0000`, 16) + `"<204 bytes not shown>]`,
		`[` + strings.Repeat("1", 5000) + `]`:               `[` + strings.Repeat("1", 100) + `<4900 bytes not shown>]`,
		`[` + strings.Repeat("1234,", 100) + `"a"]`:         `[` + strings.Repeat("1234,", 39) + `1234<305 bytes not shown>`,
		`{"` + x + `":1,"b":2}`:                             `{"` + x[:100] + `"<4900 bytes not shown>:1,"b":2}`,
		`["` + strings.Repeat(`xxx","`, 100) + `"]`:         `["` + strings.Repeat(`xxx","`, 32) + `xxx",<405 bytes not shown>`,
		`["` + strings.Repeat("é", 300) + `"]`:              `["` + strings.Repeat("é", 50) + `"<500 bytes not shown>]`,
		`{"a":"` + x + `","b":"` + x + `","c":"` + x + `"}`: `{"a":"` + x[:25] + `"<4975 bytes not shown>,"b":"` + x[:25] + `"<4975 bytes not shown>,"c":"` + x[:25] + `"<4975 bytes not shown>}`,
	} {
		if got := Value(json.RawMessage(sent), 200); got != want {
			t.Errorf("%.30s… is shown as\n%s, want\n%s", sent, got, want)
		}
	}
}

func TestShowName(t *testing.T) {
	for name, want := range map[string]string{
		"fs.read_file-2":         "fs.read_file-2",
		"\x1fdelete_file":        `"\u001fdelete_file"`,
		"delete_file ":           `"delete_file "`,
		`a\u001fb`:               `"a\\u001fb"`,
		"":                       `""`,
		"dеlete":                 `"dеlete"`, // a Cyrillic е: quoted, it is not a name as others
		"a\u2800 <\ufeff>":       `"a\u2800 <\ufeff>"`,
		strings.Repeat("n", 300): `"` + strings.Repeat("n", 256) + `"<44 bytes not shown>`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
	}
}

// TestShowCall holds that no two tools are shown as one.
func TestShowCall(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"fs", "read_file", "fs.read_file"},
		{"a", "b.c", "a.b.c"},
		{"a.b", "c", `"a.b".c`},
		{"a.b@cursor", "c", `"a.b@cursor".c`},
		{`"a`, `b".c`, `"\"a"."b\".c"`},
		{"fs", "delete_\u212a", `fs."delete_\u212a"`}, // the sign of Kelvin
		{strings.Repeat("a.", 200), "c", `"` + strings.Repeat("a.", 128) + `"<144 bytes not shown>.c`},
	} {
		if got := Call(c.server, c.tool); got != c.want {
			t.Errorf("%q of %q is shown as %s, want %s", c.tool, c.server, got, c.want)
		}
	}
}

// TestEvident goes through all of Unicode: what is shown as it is has a glyph of its own and stays in its place.
func TestEvident(t *testing.T) {
	shown := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !evident(r, 'x', 0) {
			continue
		}
		shown++
		p, _ := bidi.LookupRune(r)
		switch class := p.Class(); {
		case !unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != ' ',
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control),
			class == bidi.R, class == bidi.AL, class == bidi.AN, class == bidi.BN, class >= bidi.Control:
			t.Errorf("%U is taken for evident", r)
		}
	}
	if shown < 100000 {
		t.Errorf("%d characters are shown as they are", shown)
	}
}

// TestNoTwoAlike holds that of texts which Unicode takes for the same one at most is shown as it is.
func TestNoTwoAlike(t *testing.T) {
	for _, odd := range []string{
		"\u212a", "\u037e", "\u1fef", "\u0387", "\uf900", "\U0002f804", "\u1100\u1161", "\uac00\u11a8", "e\u0301", "\u0928\u093c",
		"\u2024", "\u2010", "\u2011", "\u2044", "\u2215", "\u2236", "\u201a", "\u2032", "\ufb01", "\uff21", "\U0001d400",
	} {
		same := norm.NFKC.String(odd)
		if shown, plain := Word(odd); plain || shown == odd {
			t.Errorf("%+q is shown as it is, as %+q is", odd, same)
		}
		sent, _ := json.Marshal(odd) // a text never fails
		if shown := Value(sent, 100); !strings.Contains(shown, `\u`) {
			t.Errorf("%+q is shown as %s", odd, shown)
		}
	}
	for _, text := range []string{"K;`·", "豈", "a–b — “c” ’d’ é ½ ² № ™", "가각", "é", "\u0e01\u0e49", "한국어", "हिन्दी"} {
		if shown, plain := Word(text); !plain {
			t.Errorf("%q is shown as %s", text, shown)
		}
	}
}

// FuzzShowJSON holds that what is shown whole means what was sent, and holds nothing that is not seen; and that what is
// cut keeps to its bound.
func FuzzShowJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":"\u202e\ud800\"\\","b":[1,-2.5e3,true]}`, `"\u0301<1 bytes not shown>"`, `[[{"":""}],"ก้้้้้้"]`, "\"\xed\xa0\x80\"", `1`,
	} {
		f.Add([]byte(seed), uint8(100))
	}
	f.Fuzz(func(t *testing.T, sent []byte, more uint8) {
		limit := 40 + int(more)
		shown := Value(sent, limit)
		for _, r := range shown {
			if !evident(r, -1, 0) && !unicode.Is(unicode.M, r) {
				t.Fatalf("%q has %U", shown, r)
			}
		}
		if len(shown) > limit+len(`no JSON: ""<1000000 bytes not shown>`) {
			t.Fatalf("%d bytes where %d are the limit", len(shown), limit)
		}
		whole := Value(sent, 20*len(sent)+100)
		if !json.Valid(sent) || !utf8.Valid(sent) {
			return
		}
		if got, want := meaning(t, []byte(whole)), meaning(t, sent); got != want {
			t.Fatalf("%s is shown as %s", sent, whole)
		}
	})
}

// meaning is a value's tokens, with strings as UTF-16: halves of pairs are not lost there.
func meaning(t *testing.T, value []byte) string {
	var b strings.Builder
	for len(value) > 0 {
		value = bytes.TrimLeft(value, " \t\r\n")
		if len(value) == 0 {
			break
		}
		n := tokenLength(value)
		if value[0] != '"' {
			b.Write(bytes.TrimSpace(value[:n]))
		} else {
			fmt.Fprintf(&b, "%x", units(t, string(value[1:n-1])))
		}
		b.WriteByte(' ')
		value = value[n:]
	}
	return b.String()
}

func units(t *testing.T, s string) (units []uint16) {
	for s != "" {
		if s[0] != '\\' {
			r, n := utf8.DecodeRuneInString(s)
			units, s = utf16.AppendRune(units, r), s[n:]
			continue
		}
		if s[1] != 'u' {
			at := strings.IndexByte(`"\/bfnrt`, s[1])
			units, s = append(units, uint16("\"\\/\b\f\n\r\t"[at])), s[2:]
			continue
		}
		unit, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		units, s = append(units, uint16(unit)), s[6:]
	}
	return units
}

// TestOddAddress holds that a host shows where it leads, or is refused.
func TestOddAddress(t *testing.T) {
	for host, odd := range map[string]bool{
		"2130706433": true, "0x7f.1": true, "127.0.0.1": false, "127.1": true, "::1": false, "::ffff:127.0.0.1": true,
		"0:0::1": true, "example.com": false, "7zip.org": false, "a.0x7f000001": true, "2130706433.": true,
	} {
		if OddAddress(host) != odd {
			t.Errorf("%q is odd: %v", host, !odd)
		}
	}
}

// TestValues holds that nothing in a decoded value is there and not seen, and that all else is what it was.
func TestValues(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":[1,"plain",null,1e3]}`:        `{"a":[1,"plain",null,1e3]}`,
		`{"k\u202e":"\u001b[31m\ud800x"}`:   `{"k\\u202e":"\\x1b[31m�x"}`,
		"[\"a\u200bb\U000e0041\", \"é日😀\"]": `["a\\u200bb\\U000e0041", "é日😀"]`,
		`"a\r\nb\tc \"q\" \\ \/"`:           `"a\r\nb\tc \"q\" \\ /"`,
		`["\ud83d\ude00","<&>","\u0000"]`:   `["😀","<&>","\\x00"]`,
		`"` + "\\" + `u2028"`:               `"\\u2028"`,
		``:                                  ``,
	} {
		if got := string(Values(json.RawMessage(value))); got != want {
			t.Errorf("%s became %s, want %s", value, got, want)
		}
	}
}
