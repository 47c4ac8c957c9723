// Package redact keeps secrets out of texts that leave codemode: errors, logs, reports, lists.
//
// It owns what a secret is, by its name and by its look ([Finder]), and how one that is known is found in a text
// ([Redactor]). It reads no file and no environment, and knows no format of an entry.
//
// The rule, which is the same everywhere:
//
//   - A value of more than five characters is looked for anywhere, in the middle of a word, too.
//   - A value of up to five is a secret only where its name says so (API_KEY, password, Authorization) or codemode
//     keeps it as one (${secret:NAME}), and is looked for as a whole word: in the middle of others it would be in every
//     text. Words such as true and none are no secrets, nor are settings about secrets, such as MAX_TOKENS.
//   - Either is found in whatever case (letters beyond ASCII as they are, all small or all capitals), reversed,
//     percent-encoded, as base64 (in whatever it is encoded with, such as user:KEY) and as hex, with the
//     escapes of JSON and programming languages, and with those of HTML and quoted-printable. Base64 and hex of
//     more than five characters may be in lines.
//   - Each line of a value is a secret by itself, and so is what a server may tell of it alone: the password in an
//     address, in JSON or behind NAME=, an entry of a list.
//
// What is encoded in another way, twice in different ones, or taken apart otherwise is not recognised.
//
// A mask says that there was a secret. Where code can have chosen the text, that would answer its guesses: such texts
// have a Redactor of their own ([Secrets.ForCode]).
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Mask stands where a secret was.
const Mask = "***"

// maxShort is how many characters a value may have that is no secret by itself.
const maxShort = 5

func isShort(s string) bool { return utf8.RuneCountInString(s) <= maxShort }

// Secrets is a set of values. The zero value is empty.
type Secrets struct{ values map[string]bool }

// Add adds values that are known to be secrets, and each of their longer lines.
func (s *Secrets) Add(values ...string) {
	if s.values == nil {
		s.values = map[string]bool{}
	}
	for _, value := range values {
		value = strings.TrimSpace(value)
		if !harmless(value) {
			s.values[value] = true
		}
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); !isShort(line) {
				s.values[line] = true
			}
		}
	}
}

// AddNamed adds the value of a variable, a header, a flag, as far as the rule makes it a secret. A nil *Secrets is for
// who wants to know none.
func (s *Secrets) AddNamed(name, value string) {
	if s == nil {
		return
	}
	named := Named(name)
	for _, v := range append(credentials(value), strings.TrimSpace(value)) {
		if isSecret(v, named) {
			s.Add(v)
		}
	}
	s.Add(parts(value, named)...)
	if lines := strings.ReplaceAll(value, `\n`, "\n"); lines != value { // as a key stands in a variable
		s.AddNamed(name, lines)
	}
}

// AddIn adds what looks like a secret in a text, such as the password in a proxy's address.
func (s *Secrets) AddIn(text string) {
	f := &Finder{}
	f.Text(text)
	s.Add(f.Found...)
}

// Merge adds what is in another set.
func (s *Secrets) Merge(other *Secrets) { s.Add(slices.Collect(maps.Keys(other.values))...) }

// credentials are the parts of "Bearer TOKEN" and "Basic BASE64" that could be told alone.
func credentials(value string) []string {
	scheme, token, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok || !isScheme(scheme) {
		return nil
	}
	token = strings.TrimSpace(token)
	decoded, err := base64.StdEncoding.DecodeString(token)
	_, password, isPair := strings.Cut(string(decoded), ":")
	if !strings.EqualFold(scheme, "basic") || err != nil || !isPair {
		return []string{token}
	}
	return []string{token, password}
}

func isScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token", "digest"}, strings.ToLower(word))
}

// Redactor returns what takes the values out of texts. Those that are added later are not among them.
func (s *Secrets) Redactor() *Redactor { return newRedactor(slices.Collect(maps.Keys(s.values)), nil) }

// ForCode is a Redactor of texts that go to code, which may have had a part in them. It must not tell code which of its
// guesses is a secret, so what code has sent itself, as told says, is none; and what can be found by trying all that
// there is, a number or a short value with a digit, is hidden with everything that looks like it.
func (s *Secrets) ForCode(told func(value string) bool) *Redactor {
	var values, guessed []string
	known := func(v string) bool { return guessable(v) || told(v) } // a scheme before it hides no more
	for v := range s.values {
		switch {
		case guessable(v):
			guessed = append(guessed, v)
		case !told(v) && !slices.ContainsFunc(credentials(v), known):
			values = append(values, v)
		}
	}
	return newRedactor(values, guessed)
}

func guessable(v string) bool {
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	return strings.ContainsAny(v, "0123456789") && (isShort(v) || !strings.ContainsFunc(v, notDigit))
}

func newRedactor(values, guessed []string) *Redactor {
	r := &Redactor{values: values, guessed: guessed}
	for _, v := range slices.Concat(values, guessed) {
		r.longest = max(r.longest, maxEncoded*len(v))
	}
	r.matcher = sync.OnceValue(func() *matcher { return newMatcher(values, &exactly) }) // most are never asked
	r.lookalike = sync.OnceValue(func() *matcher { return newMatcher(guessed, &alike) })
	return r
}

// maxEncoded is how many bytes one of a secret may become: &#x00ff; and \U000000ff for a letter in two.
const maxEncoded = 10

// A Redactor takes known secrets out of texts. It may be used from any goroutine; its time is linear in the text.
type Redactor struct {
	values, guessed    []string // looked for as they are, by their looks
	matcher, lookalike func() *matcher
	longest            int // bytes that a secret may have in a text, in whichever form
}

// Text hides all that any of the secrets covers. To replace one after the other would show the rest of what overlaps
// with another.
func (r *Redactor) Text(s string) string {
	if r.longest == 0 || s == "" {
		return s
	}
	return r.over().text(s)
}

// Sent are the secrets that a name or a JSON value has in it, in whichever form, or taken apart into the value's texts,
// in their order or the other way about. Those that are hidden by their looks are not among them.
func (r *Redactor) Sent(name string, value []byte) (secrets []string) {
	if len(r.values) == 0 {
		return nil
	}
	if !json.Valid(value) {
		value = nil
	}
	all, parts := []string{name}, []string(nil)
	for from, to := range texts(value) {
		text := meaning(value[from:to])
		all = append(all, text)
		if !bytes.HasPrefix(bytes.TrimLeft(value[to:], " \t\r\n"), []byte(":")) {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		all = append(all, strings.Join(parts, ""))
		slices.Reverse(parts)
		all = append(all, strings.Join(parts, ""))
	}
	sent := strings.Join(all, "\n")
	exact := *r
	if exact.guessed = nil; !exact.in(sent) {
		return nil
	}
	for _, v := range r.values {
		if newRedactor([]string{v}, nil).in(sent) {
			secrets = append(secrets, v)
		}
	}
	return secrets
}

// in says whether a text has one of the secrets in it.
func (r *Redactor) in(s string) bool {
	for range r.over().coveredIn(s) {
		return true
	}
	return false
}

// Tail is the end of a text whose beginning may be in the middle of a secret when it was cut. It begins with a line
// where no secret goes on in one.
func (r *Redactor) Tail(s string, cut bool) string {
	if cut {
		first, rest, _ := strings.Cut(s, "\n")
		first = strings.TrimSuffix(first, "\r")
		softBreak := strings.HasSuffix(first, "=") || isWrapped([]byte(first)) // as quoted-printable and base64 go on
		if rest == "" || softBreak || r.multiline() {
			rest = s[r.outside(s, min(len(s), r.longest)).from:]
		}
		s = rest
	}
	return strings.TrimSpace(r.Text(strings.ToValidUTF8(s, "\ufffd")))
}

// multiline says whether one of the secrets has several lines.
func (r *Redactor) multiline() bool {
	has := func(v string) bool { return strings.Contains(v, "\n") }
	return slices.ContainsFunc(r.values, has) || slices.ContainsFunc(r.guessed, has)
}

// Head is the beginning of a text, whose end may be in the middle of a secret when it was cut.
func (r *Redactor) Head(s string, cut bool) string {
	if cut {
		s = s[:r.outside(s, max(0, len(s)-r.longest)).to]
	}
	return r.Text(strings.ToValidUTF8(s, "\ufffd"))
}

// outside is where to cut a text so that no secret is cut: there, or before or behind the one that there is in the
// middle of.
func (r *Redactor) outside(s string, at int) span {
	for covered := range r.over().coveredIn(s) {
		if covered.from < at && at < covered.to {
			return covered
		}
	}
	return span{at, at}
}

// JSON is a value whose texts, names and numbers have no secret, however they are written; what is not JSON is taken
// for a text. All else is as it was, byte for byte, and so are members of the names to spare.
func (r *Redactor) JSON(data []byte, spare ...string) []byte {
	if r.longest == 0 {
		return data
	}
	if !json.Valid(data) {
		return []byte(r.Text(string(data)))
	}
	over, done := r.over(), 0
	var out []byte
	for from, to := range texts(data) {
		meant := meaning(data[from:to])
		if slices.Contains(spare, meant) && bytes.HasPrefix(bytes.TrimLeft(data[to:], " \t\r\n"), []byte(":")) {
			continue
		}
		if text := over.text(meant); text != meant {
			out = append(slices.Grow(out, len(data)-done), data[done:from]...)
			out = appendText(out, text)
			done = to
		}
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// Error is err without secrets; errors.Is and errors.As still see what it was.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	was := err.Error()
	if text := r.Text(was); text != was {
		return &maskedError{text, err}
	}
	return err
}

// maskedError is an error whose text had a secret.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string        { return e.text }
func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *maskedError) As(target any) bool   { return errors.As(e.err, target) }

// span is a part of a text, from its first byte to the one after its last.
type span struct{ from, to int }

// wordAt says whether a short secret may begin or end between two parts of a text.
func wordAt(before, after []byte) bool {
	a, _ := utf8.DecodeLastRune(before)
	b, _ := utf8.DecodeRune(after)
	return !isWord(a) || !isWord(b)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
