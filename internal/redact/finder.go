package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"codemode/internal/lazyregexp"
)

// secretWord is what the name of a secret has in it.
const secretWord = `token|secret|passw|passphrase|passcode|pass\b|pass_|pwd\b|(?:\b|_)pw\b|(?:\b|_)pat\b|` +
	`key|auth(?:\b|[^o\W]|oriz)|cred|cookie|session|bearer|header|dsn\b|conn(?:ection)?[-_]?str|webhook|signature|` +
	`(?:\b|_)sig\b|(?:\b|_)otp\b|jwt|licen[sc]e|private|phrase|(?:\b|_)sas\b`

// quoted is a text in quotes, those of JSON in JSON and those that nobody closes included; bare is one without.
const (
	quoted = `\\+"[^"]*"|"(?:[^"\\]|\\.)*"|'[^']*'|["'](?s:.*)`
	bare   = `(?i:(?:bearer|basic|token|digest)\s+)?[^\s;"']+`
)

// What gives a secret away in any text: a name, or the prefixes of GitHub, OpenAI and Anthropic, Slack, GitLab, AWS,
// Google, npm, Stripe, Hugging Face and JSON Web Tokens, as their documentation had them in 2026-11.
var (
	secretName = lazyregexp.New(`(?i)` + secretWord + `|^-H$`)
	// A setting about secrets, whose value is none: MAX_TOKENS, SESSION_TIMEOUT.
	aboutSecrets = lazyregexp.New(`(?i)^\W*(?:max|min|num|use|enable|require)[-_]|` +
		`(?:timeout|limit|count|enabled|required|port|ttl|size|length|expiry|type|mode|scopes?)\W*$`)
	secretValue = lazyregexp.New(`\b(?:gh[pousr]_|github_pat_|sk-|[rs]k_live_|xox[abprs]-|glpat-|hf_|` +
		`AKIA|ASIA|AIza|npm_|eyJ)[A-Za-z0-9_.\-]{8,}`)
	// NAME=VALUE, "name": VALUE, {name:VALUE, name: VALUE, --name VALUE
	assignment = lazyregexp.New(`(?i)((?:[\w.-]*(?:` + secretWord + `)[\w.-]*` +
		`(?:\\*["']?\s*=>?\s*|\\*["']\s*:\s*|\s*:\s+)|` +
		`[{,]\s*[\w.-]*(?:` + secretWord + `)[\w.-]*\s*:|` +
		`(?:^|\s)--?[\w-]*(?:` + secretWord + `)[\w-]*\s+))(` + quoted + `|` + bare + `)`)
	assignedQuoted   = lazyregexp.New(`(?i)([\w.-]*(?:` + secretWord + `)[\w.-]*:)(` + quoted + `)`)
	assignedVariable = lazyregexp.New(`(\b[A-Z_][A-Z0-9_]{2,}=)(` + quoted + `|` + bare + `)`)
	authorization    = lazyregexp.New(`(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{6,})`)
	userPassword     = lazyregexp.New(`((?:^|[\s"'=(])[^\s:@/"'=({]*:)([^\s@"']+)@[\w\[(.-]`)
	oraclePassword   = lazyregexp.New(`(?i)(:(?:thin|oci):[^/@\s"']+/)([^@\s"']+)@`) // jdbc:oracle:thin:user/password@…

	// Authorization: SCHEME VALUE, <password>VALUE</password>, PWD={VALUE}, and netrc(5).
	headerLine   = lazyregexp.New(`(?i)(\b(?:authorization|cookie)\\*["']?\s*:\s*)([^\r\n"'\\]+)`)
	element      = lazyregexp.New(`(?i)(<[\w.:-]*(?:` + secretWord + `)[\w.:-]*>)([^<>]+)<`)
	inBraces     = lazyregexp.New(`(?i)(\b(?:pwd|password)\s*=\s*\{)([^{}]+)\}`)
	netrcMachine = lazyregexp.New(`(?i)(\blogin\s+\S+\s+password\s+)(\S+)`)

	// What is named as one, and what stands behind a variable of any name.
	assigned = []func() *regexp.Regexp{
		headerLine, element, inBraces, netrcMachine, assignment, assignedQuoted, authorization, oraclePassword,
		userPassword,
	}
	named = append(assigned[:len(assigned):len(assigned)], assignedVariable)

	privateKey = lazyregexp.New(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*-----|$)`)
	anyAddress = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	// Where an address begins behind another one, in a list without blanks.
	nextAddress = lazyregexp.New(`[,;|]\s*([A-Za-z][A-Za-z0-9+.-]*://)`)

	anyWord = lazyregexp.New(`[A-Za-z0-9_\-+=%~:/.@\\]{10,}`)
)

// A Finder finds secrets in the texts of an entry, by what they are called and by what they look like. In doubt a text
// is a secret: a readable argument less is cheaper than a secret told.
type Finder struct {
	// References replaces those in a text, such as ${TOKEN}; nil is of texts that have none.
	References func(s string, replace func(Reference) string) string
	Found      []string // so far

	kept []string // what characters from aside on stand for
}

// Reference is one in a text. What is Inner in it may be a secret: a default, a command.
type Reference struct{ Text, Inner string }

func (f *Finder) references(s string, replace func(Reference) string) string {
	if f.References == nil {
		return s
	}
	return f.References(s, replace)
}

// reference is one without what may be secret in it.
func (f *Finder) reference(r Reference, named bool) string {
	i := strings.LastIndex(r.Text, r.Inner)
	if i < 0 || !isSecret(r.Inner, named) {
		return r.Text
	}
	return r.Text[:i] + f.hide(r.Inner, named) + r.Text[i+len(r.Inner):]
}

// Named says whether a variable, a header, a member or a flag is named as those are that hold secrets.
func Named(name string) bool {
	return secretName().MatchString(name) && !aboutSecrets().MatchString(name)
}

// isSecret says whether a value is one, be it named as secrets are or not.
func isSecret(value string, named bool) bool {
	return !isShort(value) || named && !harmless(value)
}

// harmless are values that are no secret, whatever they are called.
func harmless(value string) bool {
	words := []string{"", "true", "false", "yes", "no", "on", "off", "none", "null"}
	return value == Mask || slices.Contains(words, strings.ToLower(value))
}

// Hide notes a secret, and is what stands in its place.
func (f *Finder) Hide(secret string) string { return f.hide(secret, true) }

// hide is Hide, of what is named as secrets are or not. Of what has more than one word, such as "Bearer …", each part
// that could be told alone is a secret by itself.
func (f *Finder) hide(secret string, named bool) string {
	for _, part := range strings.FieldsFunc(secret, isAside) {
		if isSecret(part, named) {
			f.Found = append(f.Found, part)
		}
	}
	for _, part := range credentials(secret) {
		if isSecret(part, named) {
			f.Found = append(f.Found, part)
		}
	}
	first, rest, ok := strings.Cut(strings.TrimSpace(secret), " ")
	switch {
	case !ok:
	case isScheme(first):
		f.hide(rest, named)
	default:
		f.hide(first, false)
		f.Text(rest)
	}
	return Mask
}

func (f *Finder) hideLooks(secret string) string { return f.hide(secret, false) }

// aside is the first of the characters that stand for what is not to be looked at again.
const aside = '\U000F0000'

// Text is a text, which need not be an entry's and may be JSON, in which what looks like a secret is masked.
func (f *Finder) Text(s string) string {
	first := len(f.kept)
	keep := func(text string) string {
		f.kept = append(f.kept, text)
		return string(rune(aside + len(f.kept) - 1))
	}
	s = f.references(s, func(r Reference) string { return keep(f.reference(r, false)) })
	if object, ok := f.json(s); ok {
		s = keep(object)
	}
	s = privateKey().ReplaceAllStringFunc(s, func(key string) string { return keep(f.hide(key, true)) })
	s = anyAddress().ReplaceAllStringFunc(s, func(address string) string { return keep(f.address(address)) })
	for _, p := range named {
		s = f.second(p(), s)
	}
	s = secretValue().ReplaceAllStringFunc(s, f.hideLooks)
	s = anyWord().ReplaceAllStringFunc(s, func(word string) string {
		if looksRandom(word) {
			return f.hideLooks(word)
		}
		return word
	})
	for i := len(f.kept) - 1; i >= first; i-- {
		s = strings.ReplaceAll(s, string(rune(aside+i)), f.kept[i])
	}
	f.kept = f.kept[:first]
	return s
}

func isAside(r rune) bool { return r >= aside && r < aside+0xffff }

// second masks the second group of every match, but for its quotes and what stands aside in it.
func (f *Finder) second(p *regexp.Regexp, s string) string {
	var out strings.Builder
	last := 0
	for _, at := range p.FindAllStringSubmatchIndex(s, -1) {
		value := s[at[4]:at[5]]
		plain := strings.Trim(value, `\"'`)
		rest := strings.TrimFunc(plain, isAside)
		named := Named(s[at[2]:at[3]])
		if rest == Mask || !isSecret(rest, named) {
			continue
		}
		i := strings.Index(value, rest)
		out.WriteString(s[last : at[4]+i])
		out.WriteString(f.hide(rest, named) + strings.Map(onlyAside, rest))
		last = at[4] + i + len(rest)
	}
	return out.String() + s[last:]
}

func onlyAside(r rune) rune {
	if isAside(r) {
		return r
	}
	return -1
}

// json masks a text that is an object or a list.
func (f *Finder) json(s string) (string, bool) {
	if s = strings.TrimSpace(s); s == "" || s[0] != '{' && s[0] != '[' {
		return "", false
	}
	masked := rewrite([]byte(s), func(t Text) string {
		long := t.Within || t.Name != "" && secretName().MatchString(t.Name)
		switch {
		case t.Kind == 'n':
			return t.Text
		case long && (Named(t.Name) || !isShort(t.Text)):
			return f.value(t.Text, Named(t.Name))
		case t.Kind == '"':
			return f.Text(t.Text)
		}
		return t.Text
	})
	return string(masked), masked != nil
}

// address masks, of a URL, the user, the values of the query, the fragment, and segments that look random: some
// services put the key in the path. A password may have characters in it that belong elsewhere in a URL.
func (f *Finder) address(s string) string {
	scheme, s, _ := strings.Cut(s, "://")
	if user := userOf(s); user != "" {
		s = s[len(user):]
		name, password, _ := strings.Cut(user, ":")
		f.secretPart(name, false)
		f.secretPart(password, true)
		s = f.hide(user, false) + s
	}
	s, fragment, hasFragment := strings.Cut(s, "#")
	s, query, hasQuery := strings.Cut(s, "?")
	segments := strings.Split(s, "/")
	for i, segment := range segments {
		segments[i] = f.second(assignment(), segment) // jdbc:sqlserver://host;password=…
		if i > 0 && looksRandom(segment) {
			segments[i] = f.hideLooks(segment)
		}
	}
	s = scheme + "://" + strings.Join(segments, "/")
	if hasQuery {
		s += "?" + f.query(query)
	}
	if hasFragment && fragment != "" {
		f.secretPart(fragment, false)
		s += "#" + Mask
	}
	return secretValue().ReplaceAllStringFunc(s, f.hideLooks)
}

// userOf is what stands before the host of a URL without its scheme.
func userOf(s string) string {
	host := s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		host = s[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		return s[:i]
	}
	if strings.Contains(host, ":") && !portAtEnd().MatchString(host) {
		return s[:max(0, strings.LastIndexByte(s, '@'))]
	}
	return ""
}

var portAtEnd = lazyregexp.New(`:\d+$`)

func (f *Finder) query(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok && strings.ContainsFunc(pair, isAside) && strings.TrimFunc(pair, isAside) == "":
		case !ok:
			f.secretPart(pair, false)
			pairs[i] = Mask
		case isSecret(value, Named(name)) && strings.TrimFunc(value, isAside) != "":
			f.secretPart(value, Named(name))
			pairs[i] = name + "=" + Mask
		}
	}
	return strings.Join(pairs, "&")
}

// secretPart notes a part of a URL as a secret, as it is written and as it is meant.
func (f *Finder) secretPart(s string, named bool) {
	f.hide(s, named)
	if meant, err := url.PathUnescape(s); err == nil && meant != s {
		f.hide(meant, named)
	}
}

// What a word of a key looks like: long and with too many digits for a name; letters of both kinds and digits; or
// base64, where a slash does not make it a path.
var (
	longWord   = lazyregexp.New(`^[A-Za-z0-9_\-+=%~:]{20,}$`)
	base64Word = lazyregexp.New(`^[A-Za-z0-9+][A-Za-z0-9+/]{30,}={0,2}$`)
	keyPart    = lazyregexp.New(`[A-Za-z0-9]{10,}`)
)

// looksRandom says whether a word looks like a key rather than a name, a path or a version.
func looksRandom(s string) bool {
	if strings.ContainsAny(s, `/\`) {
		return base64Word().MatchString(s) && strings.Count(s, "/") <= len(s)/16 && mixed(s, 1)
	}
	if countDigits(s) >= 3 && longWord().MatchString(s) {
		return true
	}
	for _, part := range keyPart().FindAllString(s, -1) {
		if mixed(part, 2) {
			return true
		}
	}
	return false
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

// mixed says whether a word has letters of both kinds and so many digits.
func mixed(s string, digits int) bool {
	return countDigits(s) >= digits &&
		strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower)
}
