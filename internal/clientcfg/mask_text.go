package clientcfg

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// secretWord is what the name of a secret has in it.
const secretWord = `token|secret|passw|passphrase|passcode|pass\b|pass_|pwd\b|(?:\b|_)pw\b|(?:\b|_)pat\b|key|auth|cred|cookie|session|bearer|header|` +
	`dsn\b|conn(?:ection)?[-_]?str|webhook|signature|(?:\b|_)sig\b|(?:\b|_)otp\b|jwt|licen[sc]e|private|phrase|(?:\b|_)sas\b`

// quoted is a text in quotes, those of JSON in JSON and those that nobody closes included; bare is one without.
const (
	quoted = `\\+"[^"]*"|"(?:[^"\\]|\\.)*"|'[^']*'|["'](?s:.*)`
	bare   = `(?i:(?:bearer|basic|token|digest)\s+)?[^\s;"']+`
)

// What gives a secret away in any text: a name, or the prefixes of GitHub, OpenAI and Anthropic, Slack, GitLab, AWS,
// Google, npm, Stripe and JSON Web Tokens, as their documentation had them in 2026-11.
var (
	secretName  = pattern(`(?i)` + secretWord + `|^-H$`)
	secretValue = pattern(`\b(?:gh[pousr]_|github_pat_|sk-|[rs]k_live_|xox[abprs]-|glpat-|AKIA|ASIA|AIza|npm_|eyJ)[A-Za-z0-9_.\-]{8,}`)
	// NAME=VALUE, "name": VALUE, {name:VALUE, name: VALUE, --name VALUE
	assignment = pattern(`(?i)((?:[\w.-]*(?:` + secretWord + `)[\w.-]*(?:\\*["']?\s*=\s*|\\*["']\s*:\s*|\s*:\s+)|` +
		`[{,]\s*[\w.-]*(?:` + secretWord + `)[\w.-]*\s*:|(?:^|\s)--?[\w-]*(?:` + secretWord + `)[\w-]*\s+))(` + quoted + `|` + bare + `)`)
	assignedQuoted   = pattern(`(?i)([\w.-]*(?:` + secretWord + `)[\w.-]*:)(` + quoted + `)`)
	assignedVariable = pattern(`(\b[A-Z_][A-Z0-9_]{2,}=)(` + quoted + `|` + bare + `)`)
	authorization    = pattern(`(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{6,})`)
	userPassword     = pattern(`((?:^|[\s"'=(])[^\s:@/"'=({]*:)([^\s@"']+)@[\w\[(.-]`)
	named            = []func() *regexp.Regexp{assignment, assignedQuoted, assignedVariable, authorization, userPassword}
	anyAddress       = pattern(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	anyWord          = pattern(`[A-Za-z0-9_\-+=%~:/.@\\]{10,}`)
)

// aside is the first of the characters that stand for what is not to be looked at again.
const aside = '\U000F0000'

// text masks what looks like a secret in a text that need not be one.
func (m *masker) text(s string) string {
	first := len(m.kept)
	keep := func(text string) string {
		m.kept = append(m.kept, text)
		return string(rune(aside + len(m.kept) - 1))
	}
	s = replaceRefs(m.dialect, s, func(ref Ref) string { return keep(m.ref(ref)) })
	if object, ok := m.json(s); ok {
		s = keep(object)
	}
	s = anyAddress().ReplaceAllStringFunc(s, func(address string) string { return keep(m.address(address)) })
	for _, p := range named {
		s = m.second(p(), s)
	}
	s = secretValue().ReplaceAllStringFunc(s, m.hide)
	s = anyWord().ReplaceAllStringFunc(s, func(word string) string {
		if looksRandom(word) {
			return m.hide(word)
		}
		return word
	})
	for i := len(m.kept) - 1; i >= first; i-- {
		s = strings.ReplaceAll(s, string(rune(aside+i)), m.kept[i])
	}
	m.kept = m.kept[:first]
	return s
}

func isAside(r rune) bool { return r >= aside && r < aside+0xffff }

// second masks the second group of every match, but for its quotes and what stands aside in it.
func (m *masker) second(p *regexp.Regexp, s string) string {
	var out strings.Builder
	last := 0
	for _, at := range p.FindAllStringSubmatchIndex(s, -1) {
		value := s[at[4]:at[5]]
		plain := strings.Trim(value, `\"'`)
		rest := strings.TrimFunc(plain, isAside)
		if len([]rune(rest)) <= maxPlain || rest == mask {
			continue
		}
		i := strings.Index(value, rest)
		out.WriteString(s[last : at[4]+i])
		out.WriteString(m.hide(rest) + strings.Map(onlyAside, rest))
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
func (m *masker) json(s string) (string, bool) {
	if s = strings.TrimSpace(s); s == "" || s[0] != '{' && s[0] != '[' {
		return "", false
	}
	root, _, err := parseJSON([]byte(s), func([]string) verdict { return keepIt })
	if err != nil || root.value == nil {
		return "", false
	}
	var out strings.Builder
	m.member(&out, root, false)
	return out.String(), true
}

// member writes a value; all of it is secret where its name said so.
func (m *masker) member(out *strings.Builder, n node, secret bool) {
	switch v := n.value.(type) {
	case *object:
		out.WriteByte('{')
		for i, member := range v.members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(quotedJSON(member.name))
			out.WriteByte(':')
			m.member(out, member.value, secret || secretName().MatchString(member.name))
		}
		out.WriteByte('}')
	case *list:
		out.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				out.WriteByte(',')
			}
			m.member(out, item, secret)
		}
		out.WriteByte(']')
	default:
		text, isText := n.text()
		_, isString := v.(string)
		switch {
		case !isText:
			text = "null"
		case secret:
			text = m.value(text)
		case isString:
			text = m.text(text)
		}
		if isString || text == mask {
			out.Write(quotedJSON(text))
			return
		}
		out.WriteString(text)
	}
}

func quotedJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a text
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// address masks, of a URL, the user, the values of the query, the fragment, and segments that look random: some
// services put the key in the path. A password may have characters in it that belong elsewhere in a URL.
func (m *masker) address(s string) string {
	scheme, s, _ := strings.Cut(s, "://")
	user, host := "", s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		host = s[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user = s[:i]
	} else if i := strings.LastIndexByte(s, '@'); i >= 0 && strings.Contains(host, ":") && !portAtEnd().MatchString(host) {
		user = s[:i]
	}
	if user != "" {
		s = s[len(user):]
		name, password, _ := strings.Cut(user, ":")
		m.secretPart(name)
		m.secretPart(password)
		s = m.hide(user) + s
	}
	s, fragment, hasFragment := strings.Cut(s, "#")
	s, query, hasQuery := strings.Cut(s, "?")
	segments := strings.Split(s, "/")
	segments[0] = m.second(assignment(), segments[0]) // jdbc:sqlserver://host;password=…
	for i, segment := range segments[1:] {
		if looksRandom(segment) {
			segments[i+1] = m.hide(segment)
		}
	}
	s = scheme + "://" + strings.Join(segments, "/")
	if hasQuery {
		s += "?" + m.query(query)
	}
	if hasFragment && fragment != "" {
		m.secretPart(fragment)
		s += "#" + mask
	}
	return secretValue().ReplaceAllStringFunc(s, m.hide)
}

var portAtEnd = pattern(`:\d+$`)

func (m *masker) query(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok && strings.ContainsFunc(pair, isAside) && strings.TrimFunc(pair, isAside) == "":
		case !ok:
			m.secretPart(pair)
			pairs[i] = mask
		case len(value) > maxPlain && strings.TrimFunc(value, isAside) != "":
			m.secretPart(value)
			pairs[i] = name + "=" + mask
		}
	}
	return strings.Join(pairs, "&")
}

// secretPart notes a part of a URL as a secret, as it is written and as it is meant.
func (m *masker) secretPart(s string) {
	m.hide(s)
	if meant, err := url.PathUnescape(s); err == nil && meant != s {
		m.hide(meant)
	}
}

// What a word of a key looks like: long and with too many digits for a name; letters of both kinds and digits; or
// base64, where a slash does not make it a path.
var (
	longWord   = pattern(`^[A-Za-z0-9_\-+=%~:]{20,}$`)
	base64Word = pattern(`^[A-Za-z0-9+][A-Za-z0-9+/]{30,}={0,2}$`)
	keyPart    = pattern(`[A-Za-z0-9]{10,}`)
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
	return countDigits(s) >= digits && strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower)
}
