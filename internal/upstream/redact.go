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
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"codemode/internal/config"
)

// redactor masks what a server's entry keeps secret: its environment, its headers and what Options.Secrets says, as
// written and as expanded. Short values (true, 8080, info) are no secrets, and masking them would mask half of any text.
type redactor struct {
	secrets map[string]bool
	mask    mask // of those there were when it was built
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
	r.mask = slices.Collect(maps.Keys(r.secrets))
}

func (r *redactor) text(s string) string { return r.mask.text(s) }

// mask is texts to hide in another.
type mask []string

// span is a part of a text, from its first byte to the one after its last.
type span struct{ from, to int }

// text hides all that any of the texts covers. To replace one after the other would show the rest of what overlaps
// with another.
func (m mask) text(s string) string {
	var covered []span
	for _, hide := range m {
		for from := 0; ; {
			i := strings.Index(s[from:], hide)
			if i < 0 {
				break
			}
			at := from + i
			covered = cover(covered, span{at, at + len(hide)})
			from = at + 1 // it may overlap with itself
		}
	}
	if covered == nil {
		return s
	}
	slices.SortFunc(covered, func(a, b span) int { return a.from - b.from })
	joined := covered[:0]
	for _, c := range covered {
		joined = cover(joined, c)
	}
	var b strings.Builder
	end := 0
	for _, c := range joined {
		b.WriteString(s[end:c.from] + masked)
		end = c.to
	}
	return b.String() + s[end:]
}

// cover adds a span that does not begin before the last one to a list, or makes the last longer.
func cover(list []span, next span) []span {
	if n := len(list) - 1; n >= 0 && list[n].from <= next.from && next.from < list[n].to {
		list[n].to = max(list[n].to, next.to)
		return list
	}
	return append(list, next)
}

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

// Redactor takes out of a text what the servers' entries keep secret now, of those that run and those that do not. The
// secrets of all are looked for at once: one server's may be a part of another's.
func (p *Pool) Redactor() func(text string) string {
	p.mu.Lock()
	servers := slices.Collect(maps.Values(p.servers))
	p.mu.Unlock()
	all := map[string]bool{}
	for _, s := range servers {
		maps.Copy(all, s.secrets().secrets)
		var live *session
		s.update(func(st *serverState) { live = st.live })
		if live != nil { // what its references meant when it started
			maps.Copy(all, live.secrets.secrets)
		}
	}
	return mask(slices.Collect(maps.Keys(all))).text
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
