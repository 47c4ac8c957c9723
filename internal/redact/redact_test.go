package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"mime/quotedprintable"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

func redactor(values ...string) *Redactor {
	s := &Secrets{}
	s.Add(values...)
	return s.Redactor()
}

func TestRedactor(t *testing.T) {
	s := &Secrets{}
	for name, value := range map[string]string{
		"TOKEN": "abcdef123", "LONGER": "abcdef123-and-more", "SHORT": "true!", "SIX": "sixsix",
		"KEY": "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n}", "QUOTED": `pass"word`,
		"Authorization": "Bearer xyzzy", "API_KEY": "k3y", "PASSWORD": "é€",
		"MAX_TOKENS": "4096", "USE_AUTH": "yes", "SECRET": "none", "GIT_AUTHOR_NAME": "Bob",
		"Proxy-Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p4ss")),
		"DB_PASS":             "a b", "UNI_KEY": "pässwörtchen-ü",
	} {
		s.AddNamed(name, value)
	}
	r := s.Redactor()
	for _, c := range []struct{ in, want string }{
		{"token abcdef123.", "token ***."},
		{"token ABCdef123.", "token ***."},
		{"abcdef123-and-more", "***"},
		{"true!", "true!"},
		{"sixsix", "***"},
		{"only MIIEvQIBADANBg of it", "only *** of it"},
		{"}", "}"},
		{`{"p":"pass\"word"}`, `{"p":"***"}`},
		{"Bearer xyzzy, xyzzy, xyzzyx", "***, ***, xyzzyx"},
		{"Bearer xyzzyx", "***x"},
		{"sixsixsix.", "***."},
		{"a sixsixteen", "a ***teen"},
		{"abcdef123-and-moresixsix", "******"},
		{"sixsixabcdef123-and-mor", "******-and-mor"},
		{"k3y k3y! (k3y) x=k3y k3ys ok3y k3_y K3Y", "*** ***! (***) x=*** k3ys ok3y k3_y ***"},
		{"é€ éé€ é€.", "*** éé€ ***."},
		{"4096 tokens, yes, none of Bob's", "4096 tokens, yes, none of Bob's"},
		{"p4ss me", "*** me"},
		{"PÄSSWÖRTCHEN-Ü, pässwörtchen-ü, Ü-NEHCTRÖWSSÄP", "***, ***, ***"},
		{"É€ ÉÉ€ É€.", "*** ÉÉ€ ***."},
		{"?p=a+b&q=a%20b", "?p=***&q=***"},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
	cause := io.ErrUnexpectedEOF
	err := r.Error(fmt.Errorf("of abcdef123: %w", cause))
	if strings.Contains(err.Error(), "abcdef") || !errors.Is(err, cause) ||
		r.Error(nil) != nil || r.Error(cause) != cause {
		t.Errorf("the error is %v", err)
	}
}

// TestEncodings holds that a secret is found in whatever it has become, by nothing of it being left.
func TestEncodings(t *testing.T) {
	for _, secret := range []string{
		"wJalrXUtnFEMI/K7MDENG+b", "pass word!=&ünd €\"<>", "Tr0ub4dor", "sixsix", "k3y", "z",
	} {
		r := redactor(secret)
		for name, text := range forms(secret) {
			got := r.Text("before: " + text + " …")
			if !strings.HasPrefix(got, "before: ") || !strings.HasSuffix(got, " …") || !strings.Contains(got, Mask) {
				t.Errorf("%s of %q: %q became %q", name, secret, text, got)
			}
			rest := strings.TrimSuffix(strings.TrimPrefix(got, "before: "), " …")
			if len(rest) > 20 || strings.Contains(rest, secret) {
				t.Errorf("%s of %q: %q became %q", name, secret, text, got)
			}
		}
	}
}

// upper is a text whose letters of ASCII are capitals.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func forms(secret string) map[string]string {
	var qp strings.Builder
	w := quotedprintable.NewWriter(&qp)
	_, _ = w.Write([]byte(secret))
	_ = w.Close()
	asJSON, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(asJSON))
	every := func(format string) string {
		var b strings.Builder
		for i := range len(secret) {
			fmt.Fprintf(&b, format, secret[i])
		}
		return b.String()
	}
	units := func(format string) string { // of JSON, two for a character beyond the first 65536
		var b strings.Builder
		for _, r := range utf16.Encode([]rune(secret)) {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	chars := func(format string) string {
		var b strings.Builder
		for _, r := range secret {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	digits := hex.EncodeToString([]byte(secret))
	spaced := strings.TrimSpace(regexp.MustCompile("..").ReplaceAllString(digits, "$0 "))
	all := map[string]string{
		"itself": secret, "upper case": upper(secret), "reversed": reversed(secret),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"percent": every("%%%02X"), "percent twice": every("%%25%02x"),
		"json": string(asJSON[1 : len(asJSON)-1]), "json in json": string(twice[1 : len(twice)-1]),
		"python": strconv.QuoteToASCII(secret), "unicode escapes": units(`\u%04x`), "braces": chars(`\u{%x}`),
		"long escapes": chars(`\U%08x`), "bytes": every(`\x%02x`), "octal": every(`\%03o`),
		"html": html.EscapeString(secret), "entities": chars("&#%d;"), "hex entities": chars("&#x%X;"),
		"quoted-printable": qp.String(), "quoted-printable all": every("=%02X"),
		"hex": digits, "upper hex": strings.ToUpper(digits), "hex with blanks": spaced,
		"hex with colons":    strings.ReplaceAll(spaced, " ", ":"),
		"hex with dashes":    strings.ReplaceAll(spaced, " ", "-"),
		"hex of reversed":    hex.EncodeToString([]byte(reversed(secret))),
		"hex behind a digit": "a" + digits, "hex as C": "0x" + strings.ReplaceAll(spaced, " ", ", 0x"),
	}
	for _, user := range []string{"", "u:", "me:", "you:", "user:"} {
		for _, end := range []string{"", "\n", "!", "!!"} {
			plain := []byte(user + secret + end)
			all["base64 of "+user+"…"+end] = base64.StdEncoding.EncodeToString(plain)
			all["raw base64 of "+user+"…"+end] = base64.RawStdEncoding.EncodeToString(plain)
			all["url base64 of "+user+"…"+end] = base64.RawURLEncoding.EncodeToString(plain)
		}
	}
	return all
}

// TestForCode holds that what code may have chosen tells it of no guess whether it is a secret.
// TestLines: encoders break what they write after 64 or 76 characters, and a secret may be on either side.
func TestLines(t *testing.T) {
	long := strings.Repeat("xK9-vQ2_mZ7+", 9) + "end"
	for _, secret := range []string{"wJalrXUtnFEMI/K7MDENG+b", long} {
		r := redactor(secret)
		for before := range 80 {
			plain := []byte(strings.Repeat("y", before) + secret + strings.Repeat("z", 90))
			first, last := before*4/3+2, (before+len(secret))*4/3-2
			asBase64, asHex := base64.StdEncoding.EncodeToString(plain), hex.EncodeToString(plain)
			for _, c := range []struct {
				encoded     string
				first, last int
				width       int
			}{
				{asBase64, first, last, 64},
				{asBase64, first, last, 76},
				{asHex, 2 * before, 2 * (before + len(secret)), 60},
			} {
				for _, eol := range []string{"\n", "\r\n", "\n  "} {
					lines := regexp.MustCompile(fmt.Sprintf(".{%d}", c.width)).ReplaceAllString(c.encoded, "${0}"+eol)
					asJSON, _ := json.Marshal(lines)
					for _, text := range []string{lines, string(asJSON)} {
						got := r.Text(text)
						for at := c.first; at+8 <= c.last; at++ {
							if strings.Contains(got, c.encoded[at:at+8]) {
								t.Fatalf("of lines of %d that end with %q is left %q, of\n%s\nin\n%s",
									c.width, eol, c.encoded[at:at+8], text, got)
							}
						}
					}
				}
			}
		}
	}
}

func TestForCode(t *testing.T) {
	var numbers strings.Builder
	for n := range 10000 {
		fmt.Fprintf(&numbers, "%04d %x %[1]d ", n, fmt.Sprintf("%04d", n))
	}
	text := numbers.String() + "k3y, K4Z: 20261124 12345678x, Bearer 4711, Bearer 0815, " +
		base64.StdEncoding.EncodeToString([]byte("pin 1234 99990000"))
	mask := func(values ...string) string {
		s := &Secrets{}
		s.Add(values...)
		s.AddNamed("Authorization", "Bearer "+values[0])
		return s.ForCode(func(string) bool { return false }).Text(text)
	}
	one, other := mask("4711", "k3y", "20261124"), mask("0815", "a1b", "12345678")
	if one != other || strings.Contains(one, "4711") ||
		!strings.Contains(one, "***, ***: *** ***x, Bearer ***, Bearer ***, ") {
		t.Errorf("by what is secret, it is %.200q or %.200q", one[len(one)-200:], other[len(other)-200:])
	}
	for _, secret := range []string{
		"wJalrXUtnFEMI/K7MDENG+b", "pass word!=&ünd €\"<>", "Tr0ub4dor", "sixsix", "word",
	} {
		s := &Secrets{}
		s.Add(secret, "another-secret")
		for name, form := range forms(secret) {
			sent, _ := json.Marshal(map[string]any{"a": []string{"x", form}})
			told := s.Redactor().Sent("", sent)
			if !slices.Equal(told, []string{secret}) {
				t.Errorf("%s of %q: code has sent %q", name, secret, told)
			}
			isTold := func(v string) bool { return slices.Contains(told, v) }
			if got := s.ForCode(isTold).Text(form + " another-secret"); got != form+" ***" {
				t.Errorf("%s of %q became %q", name, secret, got)
			}
		}
		a, _ := json.Marshal(secret[:2])
		b, _ := json.Marshal(secret[2:])
		for _, sent := range []string{
			fmt.Sprintf(`{"a":%s,"b":%s}`, a, b), fmt.Sprintf(`[%s, %s]`, b, a),
			fmt.Sprintf(`{%q:1}`, secret[:2]+secret[2:]),
		} {
			if strings.Contains(secret, `"`) {
				continue
			}
			if told := s.Redactor().Sent("", []byte(sent)); !slices.Equal(told, []string{secret}) {
				t.Errorf("of %s code has sent %q", sent, told)
			}
		}
		if told := s.Redactor().Sent("tool", []byte(`{"a":"`+secret[:2]+`","n":[1,true]}`)); told != nil {
			t.Errorf("code has sent %q", told)
		}
	}
	s := &Secrets{}
	s.AddNamed("Authorization", "Bearer walnuts")
	told := s.Redactor().Sent("walnuts", nil)
	isTold := func(v string) bool { return slices.Contains(told, v) }
	if got := s.ForCode(isTold).Text("Bearer walnuts"); got != "Bearer walnuts" {
		t.Errorf("it became %q", got)
	}
}

// TestOrdinary holds that nothing else goes.
func TestOrdinary(t *testing.T) {
	r := redactor("wJalrXUtnFEMI/K7MDENG+b", "Tr0ub4dor", "k3y", "z9")
	for _, text := range []string{
		"", "an ordinary line: 12 of 100 % done, at 12:34:56\r\n", `{"a":"\u00e9\n\\","b":[1,2e5,true]}`,
		"k3 y k3yk3y z99 az9", strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo", 100),
		"deadbeef 0123456789abcdef &amp; &; %zz %4 \\", "\xff\xfe",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got := (&Secrets{}).Redactor().Text(text); got != text {
			t.Errorf("without secrets %q became %q", text, got)
		}
	}
}

func TestCut(t *testing.T) {
	r := redactor("abcdef123")
	for _, c := range []struct{ in, want string }{
		{"def123\nwhole abcdef123 line\n", "whole *** line"},
		{"def123 " + strings.Repeat("y", 200), strings.Repeat("y", 200-r.longest+len("def123 "))},
		{"def123", ""},
	} {
		if got := r.Tail(c.in, true); got != c.want {
			t.Errorf("the tail %q became %q, want %q", c.in, got, c.want)
		}
	}
	text := strings.Repeat("y", 200) + "abcdef123"
	for n := range text {
		if got := r.Head(text[:n], true); strings.Contains(got, "a") {
			t.Errorf("the head of %d bytes became %q", n, got)
		}
	}
	if got := r.Head(text, false); got != strings.Repeat("y", 200)+Mask {
		t.Errorf("the head became %q", got)
	}
}

// TestCutAnywhere holds that of a secret nothing is shown wherever a text was cut, and wherever that is cut in turn.
func TestCutAnywhere(t *testing.T) {
	for _, secret := range []string{
		"hunter2-SUPERSECRET-42", "-----BEGIN-----\nabcdefghijkl\nmnopqrstuvwx\n-----END-----",
	} {
		r := redactor(secret)
		for at := range 1200 {
			s := strings.Repeat("_", at) + secret + strings.Repeat("_", 1200-at)
			for _, got := range []string{r.Head(s[:700], true), r.Tail(s[len(s)-700:], true)} {
				if strings.Trim(strings.ReplaceAll(got, Mask, ""), "_") != "" {
					t.Fatalf("of a secret at %d: %q", at, got)
				}
			}
		}
	}
}

func TestJSON(t *testing.T) {
	r := redactor("abcdef123", "9876543")
	for in, want := range map[string]string{
		`{"a": "b" , "a":1e3}`: `{"a": "b" , "a":1e3}`,
		`{"a":"\u0061bcdef123","n":9876543,"abcdef123":[null,true,"x<y"],"a":2}`://
		`{"a":"***","n":"***","***":[null,true,"x<y"],"a":2}`,
		`no json abcdef123`: `no json ***`,
	} {
		if got := string(r.JSON([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// FuzzRedactor holds that no text, whatever is around and in it, still has a secret when it is redacted.
func FuzzRedactor(f *testing.F) {
	f.Add("a", "abcdef123", "\\")
	f.Add("%", "aaaaaaa", "=\n")
	f.Add("\\u00", "aabaab", "&#")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		secret = strings.TrimSpace(secret)
		if isShort(secret) || strings.ContainsAny(secret, "*\r\n\x00") || !utf8.ValidString(secret) {
			return
		}
		if strings.ContainsFunc(secret, unicode.IsControl) { // of which HTML has some stand for others
			return
		}
		r := redactor(secret)
		for name, text := range forms(secret) {
			if got := r.Text(text); !strings.Contains(got, Mask) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
		if got := r.Text(before + secret + after + secret); strings.Contains(got, secret) {
			t.Errorf("%q, %q, %q became %q", before, secret, after, got)
		}
	})
}

// manySecrets are those of forty servers.
func manySecrets(more ...string) *Redactor {
	s := &Secrets{}
	s.Add(more...)
	for i := range 200 {
		s.Add(fmt.Sprintf("sk-ant-api03-%032x-%d", i*7919, i))
	}
	return s.Redactor()
}

// ordinary is a line as servers write it; hostile are pieces of texts that are made to take long.
const ordinary = `2026-11-22T10:00:00Z ERROR request failed: GET https://api.example.com/v1/items?page=%32&n=3 ` +
	`{"error":"not \u0066ound"} at /usr/lib/node_modules/x.js:12:34` + "\n"

var hostile = map[string]string{
	"escapes": `\u0041%41&#65;=41`, "unicode": `\u0041`, "backslashes": `\`, "percent": "%41",
	"percent of percent": "%2525", "entities": "&#65;", "open entities": "&&&&;", "no escapes": `\uz&z;%z=z`,
	"quoted-printable": "=\n", "surrogates": `\ud83d\ude00`, "hex": "0123456789abcdef",
	"hex with colons": "6b:33:", "base64": "QUJDREVGR0hJSktMTU5P", "almost": "sk-ant-api03-",
	"lines of base64":       strings.Repeat("QUJDREVGR0hJSktMTU5P", 3) + "\n",
	"short lines of base64": "QUJDREVGR0hJSktMTU5P\n",
	"found":                 fmt.Sprintf("sk-ant-api03-%032x-%d ", 0, 0),
	"found as percent":      "%73%6B%2D" + strings.Repeat("%30", 40),
}

// TestWork holds that the time is linear, by the bytes that are looked at.
func TestWork(t *testing.T) {
	r := manySecrets("k3y")
	read := func(text string, n int) float64 {
		o := r.over()
		o.text(strings.Repeat(text, n/len(text)))
		return float64(o.searches[0].read) / float64(n)
	}
	if got := read(ordinary, 1<<16); got > 4 {
		t.Errorf("of ordinary text every byte is looked at %.1f times", got)
	}
	for name, text := range hostile {
		once, more := read(text, 1<<12), read(text, 1<<17)
		if more > 8 || more > 1.1*once+0.1 {
			t.Errorf("%s: every byte is looked at %.2f times, in more text %.2f times", name, once, more)
		}
	}
}

// BenchmarkText is of a megabyte.
func BenchmarkText(b *testing.B) {
	texts := maps.Clone(hostile)
	texts["ordinary"] = ordinary
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, short := range [][]string{nil, {"k3y"}} {
			b.Run(fmt.Sprintf("%s/short=%v", name, short != nil), func(b *testing.B) {
				r := manySecrets(short...)
				r.matcher()
				text := strings.Repeat(texts[name], 1<<20/len(texts[name]))
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.Text(text)
				}
			})
		}
	}
}

// BenchmarkSent is of a call's usual arguments.
func BenchmarkSent(b *testing.B) {
	r := redactor("sk-ant-api03-000000000000000000000000", "postgres://me:Tr0ub4dor@db.example/x", "Tr0ub4dor", "k3y")
	arguments := []byte(`{"owner":"octocat","repo":"hello-world","state":"open",` +
		`"labels":["bug","help wanted"],"page":2}`)
	for b.Loop() {
		r.Sent("list_issues", arguments)
	}
}
