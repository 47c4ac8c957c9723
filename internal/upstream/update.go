package upstream

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"codemode/internal/config"
)

// errReplaced is why a server takes no more callers: its entry has changed, or is gone.
var errReplaced = errors.New("the server's entry has changed")

// Update makes these the pool's servers. One that would start as before keeps its process; any other that runs is
// stopped once the calls under way in it have ended, while new calls already go to its successor.
func (p *Pool) Update(servers []config.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	before := p.servers
	p.servers = make(map[string]*server, len(servers))
	for _, c := range servers {
		s, ok := before[c.Name]
		if !ok || !startsSame(s.config, c) {
			s = &server{pool: p, config: c, log: p.opts.Log.With("server", c.Name)}
			s.ctx, s.end = context.WithCancelCause(p.ctx)
			s.secrets = sync.OnceValue(s.ownSecrets)
		}
		p.servers[c.Name] = s
	}
	for name, s := range before {
		if p.servers[name] != s {
			s.retire(errReplaced)
		}
	}
}

// startsSame says whether two entries are the same to this package. What a server is called in files and which of
// its tools are offered is no reason to stop it.
func startsSame(a, b config.Server) bool {
	for _, c := range []*config.Server{&a, &b} {
		c.Description, c.Source, c.Line, c.Also, c.Unread, c.ToolsAllow, c.ToolsDeny = "", "", 0, nil, "", nil, nil
		c.Doubted = nil
	}
	return reflect.DeepEqual(a, b)
}

// use does something with a server, and with its successor when it is replaced before anything was done.
func use[T any](p *Pool, name string, do func(*server) (T, error)) (T, error) {
	for {
		s, err := p.server(name)
		if err == nil {
			err = s.enter()
		}
		var value T
		if err == nil {
			value, err = do(s)
			s.leave()
		}
		if !errors.Is(err, errReplaced) {
			return value, err
		}
	}
}

// enter counts a caller in, so that the process is not stopped before leave.
func (s *server) enter() (refusal error) {
	s.update(func(st *serverState) {
		if refusal = st.retired; refusal == nil {
			st.callers++
		}
	})
	return refusal
}

func (s *server) leave() {
	s.update(func(st *serverState) {
		st.callers--
		s.stopUnused(st)
	})
}

// retire lets nothing begin any more.
func (s *server) retire(why error) {
	s.update(func(st *serverState) {
		if st.retired == nil {
			st.retired = why
		}
		s.stopUnused(st)
	})
}

// stopUnused is called in update.
func (s *server) stopUnused(st *serverState) {
	if st.retired != nil && st.callers == 0 {
		s.end(st.retired)
	}
}
