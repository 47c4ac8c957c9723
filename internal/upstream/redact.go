package upstream

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"codemode/internal/config"
	"codemode/internal/redact"
)

// entrySecrets are the values that an entry has in it, and those that what came in when it was expanded made of them.
func (s *server) entrySecrets(c config.Server) *redact.Secrets {
	secrets := &redact.Secrets{}
	for _, table := range []map[string]string{c.Env, c.Headers} {
		for name, v := range table {
			if !strings.Contains(v, "${") { // else what it expands to is the secret
				secrets.AddNamed(name, v)
			}
		}
	}
	secrets.Add(s.pool.opts.Secrets(c)...)
	for _, address := range environment(s.pool.opts.Lookup, addressNames) {
		secrets.AddIn(address)
	}
	return secrets
}

// ownSecrets are what the server's entry keeps secret, whether or not it can be started.
func (s *server) ownSecrets() *redact.Secrets {
	secrets := s.entrySecrets(s.config)
	if c, err := s.expanded(secrets); err == nil {
		_, _ = ownEnvironment(c, s.pool.opts.Lookup, s.pool.opts.Trusted, secrets)
	}
	return secrets
}

// others are entries whose servers are not the pool's.
type others struct {
	entries []config.Server
	secrets []func() *redact.Secrets // of each
}

// KeepSecret has Redactor take out what these entries keep secret, too, whose servers are not the pool's.
func (p *Pool) KeepSecret(entries []config.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reflect.DeepEqual(p.others.entries, entries) {
		return
	}
	p.others = others{entries: entries}
	for _, c := range entries {
		s := &server{pool: p, config: c}
		p.others.secrets = append(p.others.secrets, sync.OnceValue(s.ownSecrets))
	}
}

// Redactor takes out of a text what the servers' entries keep secret now, of those that run and those that do not. The
// secrets of all are looked for at once: one server's may be a part of another's.
func (p *Pool) Redactor() *redact.Redactor {
	p.mu.Lock()
	servers := slices.SortedFunc(
		maps.Values(p.servers), func(a, b *server) int { return strings.Compare(a.config.Name, b.config.Name) },
	)
	before, others := p.redacting, p.others.secrets
	p.mu.Unlock()
	now := redacting{}
	for _, secrets := range others {
		now.of = append(now.of, secrets())
	}
	for _, s := range servers {
		now.of = append(now.of, s.secrets())
		s.update(func(st *serverState) {
			if st.live != nil { // what its references meant when it started
				now.of = append(now.of, st.live.secrets.all())
			}
		})
	}
	if before.redactor != nil && slices.Equal(before.of, now.of) {
		return before.redactor
	}
	all := redact.Secrets{}
	for _, s := range now.of {
		all.Merge(s)
	}
	now.redactor = all.Redactor()
	p.mu.Lock()
	p.redacting = now
	p.mu.Unlock()
	return now.redactor
}

// sessionSecrets are what a server's entry meant when its session began, and the last tokens of sign-ins that were sent
// to it since.
type sessionSecrets struct {
	mu    sync.Mutex
	entry *redact.Secrets   // replaced, never changed, when there are more
	sent  []*redact.Secrets // tokens, each with what is kept beside it
	sizes []int             // of those, in bytes
	known *redact.Secrets   // all of them; replaced as entry is
	over  *redact.Redactor  // them; nil until it is asked for
	code  *redact.Redactor  // those that code does not know; nil until it is asked for
	told  *sync.Map         // those that code has sent, to any session of the server's
	token string            // the last one that was sent
}

// What is known of tokens that are none any more: a server can have them renewed with each call, and each costs some
// hundred times its length.
const (
	maxTokens     = 8
	maxTokenBytes = 64 << 10
)

// add notes more of them.
func (s *sessionSecrets) add(more *redact.Secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry = merged(s.entry, more)
	s.merge()
}

// merge makes known of all there are. s.mu is held.
func (s *sessionSecrets) merge() {
	s.known, s.over, s.code = merged(append([]*redact.Secrets{s.entry}, s.sent...)...), nil, nil
}

func merged(list ...*redact.Secrets) *redact.Secrets {
	all := &redact.Secrets{}
	for _, some := range list {
		if some != nil {
			all.Merge(some)
		}
	}
	return all
}

func (s *sessionSecrets) all() *redact.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// protocolNames are members that a failure is known by, and what it has. An entry may have such a word as a setting.
var protocolNames = []string{
	"annotations", "content", "data", "description", "elicitationId", "elicitations", "isError", "message", "mimeType",
	"resource", "structuredContent",
}

// failure is what a server says of one without secrets: more than a result does of what the server was started with.
func (s *sessionSecrets) failure(data []byte) []byte { return s.forCode().JSON(data, protocolNames...) }

func (s *sessionSecrets) redactor() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = s.known.Redactor()
	}
	return s.over
}

// forCode is of what goes to code, rather than to the log.
func (s *sessionSecrets) forCode() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == nil {
		s.code = s.known.ForCode(func(value string) bool {
			_, told := s.told.Load(value)
			return told
		})
	}
	return s.code
}

// sends notes what code sends, a name and JSON, before it is sent: what it knows is no secret to it any more. Else a
// mask would tell it which of its guesses are right, now or when the server repeats them later.
func (s *sessionSecrets) sends(name string, value []byte) {
	sent := s.forCode().Sent(name, value)
	if sent == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range sent {
		s.told.Store(secret, true)
	}
	s.code = nil
}

// withToken has each token be noted before it is sent.
func (s *sessionSecrets) withToken(opts Options) Options {
	token := opts.Token
	opts.Token = func(ctx context.Context, server config.Server, refused string) (string, error) {
		now, err := token(ctx, server, refused)
		if err == nil && !s.knows(now) {
			s.addToken(now, opts.SignInSecrets(ctx, server))
		}
		return now, err
	}
	return opts
}

// knows says whether a token is the one that was sent last, as most are.
func (s *sessionSecrets) knows(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token == s.token
}

// addToken notes a token, and what else is kept of its sign-in, before it is sent. The oldest are forgotten.
func (s *sessionSecrets) addToken(token string, beside []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, size := &redact.Secrets{}, 0
	for _, value := range append(beside, token) {
		more.Add(value)
		size += len(value)
	}
	s.sent, s.sizes = append(s.sent, more), append(s.sizes, size)
	for _, earlier := range s.sizes[:len(s.sizes)-1] {
		size += earlier
	}
	for len(s.sent) > 1 && (len(s.sent) > maxTokens || size > maxTokenBytes) {
		size -= s.sizes[0]
		s.sent, s.sizes = s.sent[1:], s.sizes[1:]
	}
	s.merge()
	s.token = token
}

// redacting is a redactor and what it was made of: it is made anew only for others.
type redacting struct {
	of       []*redact.Secrets
	redactor *redact.Redactor
}
