package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"codemode/internal/config"
)

// redactor masks what a server's entry keeps secret: its environment, its headers and what Options.Secrets says, as
// written and as expanded. Short values (true, 8080, info) are no secrets, and masking them would mask half of any text.
type redactor struct {
	secrets map[string]bool
	mask    *strings.Replacer // nil when a secret was added since
}

const (
	maxPlain = 5 // characters a value may have and be shown
	masked   = "***"
)

func newRedactor(c config.Server, more ...string) *redactor {
	r := &redactor{secrets: map[string]bool{}}
	for _, v := range c.Env {
		if !strings.Contains(v, "${") { // else what it expands to is the secret
			r.add(v)
		}
	}
	for _, v := range c.Headers {
		r.add(v)
	}
	for _, v := range more {
		r.add(v)
	}
	r.build()
	return r
}

// add adds a value, and each of its lines: a tail may have only some of them. It is called before the first
// text is masked.
func (r *redactor) add(value string) {
	for _, s := range append(strings.Split(value, "\n"), value) {
		s = strings.TrimSpace(s)
		if len([]rune(s)) <= maxPlain {
			continue
		}
		r.secrets[s] = true
		if quoted, err := json.Marshal(s); err == nil {
			r.secrets[string(quoted[1:len(quoted)-1])] = true
		}
	}
}

// build must follow the last add.
func (r *redactor) build() {
	all := make([]string, 0, len(r.secrets))
	for s := range r.secrets {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { // longer first: one may contain another
		return len(all[i]) > len(all[j]) || len(all[i]) == len(all[j]) && all[i] < all[j]
	})
	pairs := make([]string, 0, 2*len(all))
	for _, s := range all {
		pairs = append(pairs, s, masked)
	}
	r.mask = strings.NewReplacer(pairs...)
}

func (r *redactor) text(s string) string { return r.mask.Replace(s) }

// tail is the end of a text whose beginning may be in the middle of a secret when it was cut.
func (r *redactor) tail(s string, cut bool) string {
	if cut {
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		} else {
			s = s[min(len(s), r.longest()):]
		}
	}
	return strings.TrimSpace(r.text(strings.ToValidUTF8(s, "\ufffd")))
}

func (r *redactor) longest() int {
	n := 0
	for s := range r.secrets {
		n = max(n, len(s))
	}
	return n
}

// error is err without secrets; errors.Is and errors.As still see what it was.
func (r *redactor) error(err error) error {
	if err == nil {
		return errors.New("no answer")
	}
	if text := r.text(err.Error()); text != err.Error() {
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

// Redact is a text without what the servers' entries keep secret, of those that run and those that do not.
func (p *Pool) Redact(text string) string {
	p.mu.Lock()
	servers := slices.Collect(maps.Values(p.servers))
	p.mu.Unlock()
	for _, s := range servers {
		text = s.secrets().text(text)
		var live *session
		s.update(func(st *serverState) { live = st.live })
		if live != nil { // what its references meant when it started
			text = live.secrets.text(text)
		}
	}
	return text
}

// ownSecrets are what the server's entry keeps secret, whether or not it can be started.
func (s *server) ownSecrets() *redactor {
	r := newRedactor(s.config, s.pool.opts.Secrets(s.config)...)
	defer r.build()
	if c, err := s.expanded(r); err == nil {
		_, _ = ownEnvironment(c, s.pool.opts.Lookup, r)
	}
	for _, secret := range slices.Collect(maps.Keys(r.secrets)) {
		for _, form := range encodings(secret) {
			r.add(form)
		}
	}
	return r
}

// encodings are how a caller may have to write a secret: in base64, in a URL, in JSON that is itself a text.
func encodings(secret string) []string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(secret) // a text never fails
	quoted := strings.TrimSuffix(strings.TrimPrefix(text.String(), `"`), "\"\n")
	var ascii strings.Builder // as Python writes JSON
	for _, unit := range utf16.Encode([]rune(quoted)) {
		if unit < utf8.RuneSelf {
			ascii.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	query := url.QueryEscape(secret)
	return []string{
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(secret), quoted, ascii.String(),
	}
}
