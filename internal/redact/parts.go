package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fewWords are as many as a value may have whose words are keys, or a scheme and its key. More are a sentence.
const fewWords = 3

// parts are the parts of a variable's or a header's value that a server may tell alone: a password in an address, what
// a list or an object has, what stands in quotes, behind NAME= or behind a user. Words of other kinds are none: they
// would be masked wherever they stand.
func parts(value string, named bool) []string {
	f := &Finder{}
	f.parts(value, named)
	return f.Found
}

func (f *Finder) parts(value string, named bool) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		rewrite([]byte(value), func(t Text) string {
			secret := t.Within || named || Named(t.Name)
			if t.Kind == '"' && isSecret(t.Text, secret) && secret {
				f.hide(t.Text, secret)
			}
			f.parts(t.Text, secret)
			return t.Text
		})
		for _, p := range assigned { // it may be none of JSON
			f.second(p(), value)
		}
		return
	}
	if meant, err := url.PathUnescape(value); named && err == nil && meant != value {
		f.parts(meant, true)
	}
	if decoded, err := base64.StdEncoding.DecodeString(value); named && err == nil && isText(decoded) {
		f.parts(string(decoded), true)
	}
	if plain := strings.Trim(value, `"'`); plain != value && isSecret(plain, named) {
		f.hide(plain, named)
	}
	value = nextAddress().ReplaceAllString(value, " $1")
	f.pairs(value)
	value = anyAddress().ReplaceAllStringFunc(value, func(address string) string {
		f.secretsOfAddress(address)
		_, settings, _ := strings.Cut(address, ";")
		return ";" + settings // sqlserver://host;password=…
	})
	for _, p := range assigned {
		f.second(p(), value)
	}
	if !named {
		return
	}
	if _, password, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(value, " \t") && !isShort(password) {
		f.hide(password, true)
	}
	f.words(value)
	for _, part := range strings.FieldsFunc(value, isBetween) {
		part = strings.TrimSpace(part)
		if _, cookie, ok := strings.Cut(part, "="); ok && !isShort(cookie) {
			f.hide(cookie, true)
		}
		if isOdd(part) && part != value && !isShort(part) {
			f.hide(part, true)
		}
		for _, word := range strings.Fields(strings.ReplaceAll(part, ": ", ":")) {
			f.entry(word)
		}
	}
}

// entry notes what an entry of a list has beside a name: alice:KEY, alice->KEY, KEY:alice, alice/KEY.
func (f *Finder) entry(s string) {
	fields := strings.Split(strings.NewReplacer("->", ":", "=>", ":").Replace(s), ":")
	last := len(fields) - 1
	if last == 0 {
		if strings.Count(s, "/") != 1 {
			return
		}
		fields = strings.Split(s, "/")
	}
	for i, field := range fields {
		if !isShort(field) && (isOdd(field) || i > 0 && i == last) {
			f.hide(field, true)
		}
	}
}

// isOdd says whether a word has what names seldom have.
func isOdd(s string) bool { return countDigits(s) > 0 || mixed(s, 0) }

// words notes those of a value that are keys: behind a scheme of whatever name, or several in a row. The first, which
// may be the scheme, and those of a sentence are none unless they look odd.
func (f *Finder) words(value string) {
	words := strings.Fields(value)
	for i, word := range words {
		odd := countDigits(word) > 0 || i > 0 && mixed(word, 0)
		if len(words) > 1 && !isShort(word) && (odd || i > 0 && len(words) <= fewWords) {
			f.hide(word, true)
		}
	}
}

// isText says whether what was decoded can be a user and a password, or an object.
func isText(decoded []byte) bool {
	s := string(decoded)
	return utf8.ValidString(s) && strings.Contains(s, ":") &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// isBetween says whether a character is between the entries of a list: a blank is between a scheme and its token.
func isBetween(r rune) bool { return strings.ContainsRune(",;|", r) }

// gitHubsPassword stands where the user's name is a token of GitHub's (github.blog, "Easier builds and deployments
// using Git over HTTPS and OAuth" of 2012-09-21).
const gitHubsPassword = "x-oauth-basic"

// secretsOfAddress notes the password of a URL, or a user without one that could be a key, and what its query has by
// the name of a secret.
func (f *Finder) secretsOfAddress(s string) {
	_, s, _ = strings.Cut(s, "://")
	if user := userOf(s); user != "" {
		name, password, _ := strings.Cut(user, ":")
		if password == "" && countDigits(name) > 0 || password == gitHubsPassword {
			f.secretPart(name, password != "")
		}
		f.secretPart(password, true)
	}
	f.pairs(s)
}

// pairs notes what a query or a form has by the name of a secret, or within a value.
func (f *Finder) pairs(s string) {
	for _, pair := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("?&#", r) }) {
		name, value, ok := strings.Cut(pair, "=")
		if ok && Named(name) {
			f.secretPart(value, true)
		}
		if meant, err := url.QueryUnescape(value); err == nil && strings.ContainsRune(value, '%') {
			f.parts(meant, Named(name)) // odbc_connect=UID%3Dme%3BPWD%3D…
		}
	}
}
