package redact

import "strings"

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
		return
	}
	if plain := strings.Trim(value, `"'`); plain != value && isSecret(plain, named) {
		f.hide(plain, named)
	}
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
	for _, part := range strings.FieldsFunc(value, isBetween) {
		part = strings.TrimSpace(part)
		if _, cookie, ok := strings.Cut(part, "="); ok && !isShort(cookie) {
			f.hide(cookie, true)
		}
		if odd := countDigits(part) > 0 || mixed(part, 0); odd && part != value && !isShort(part) {
			f.hide(part, true)
		}
	}
}

// isBetween says whether a character is between the entries of a list: a blank is between a scheme and its token.
func isBetween(r rune) bool { return strings.ContainsRune(",;|", r) }

// secretsOfAddress notes the password of a URL, or a user without one that could be a key, and what its query has by
// the name of a secret.
func (f *Finder) secretsOfAddress(s string) {
	_, s, _ = strings.Cut(s, "://")
	if user := userOf(s); user != "" {
		name, password, _ := strings.Cut(user, ":")
		if password == "" && countDigits(name) > 0 {
			f.secretPart(name, false)
		}
		f.secretPart(password, true)
	}
	_, query, _ := strings.Cut(s, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok && Named(name) {
			f.secretPart(value, true)
		}
	}
}
