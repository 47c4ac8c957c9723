package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/upstream"
)

// servers is what the bridge knows of the user's servers: their names and aliases as they are configured now, their
// tools once someone asked. It is the only place where upstream's definitions become the guest's.
type servers struct {
	pool     *upstream.Pool
	changed  func(server string) // a server some guest may know has other tools now
	patience time.Duration       // searchPatience, but in tests
	lists    *lists

	admission *admission

	mu       sync.Mutex
	set      *serverSet
	known    map[string]*known
	recalled map[string]bool  // servers whose list of an earlier process was asked for
	index    *catalog.Catalog // of what is known; nil after a change
	asking   map[string]*asking
	epoch    map[string]int // grows when a server's tools change, so that a listing that began before is not kept
}

// A server that has listed the same tools askedInVain times, one after the other, is not asked again for names that it
// does not list for as long as nothingNew.
const (
	askedInVain = 3
	nothingNew  = 5 * time.Second
)

// known is a server whose tools have been listed.
type known struct {
	server guest.Server
	docs   catalog.Server
	calls  map[string]policy.Call // by tool: what a policy goes by, and has said already
	epoch  int
	list   []json.RawMessage // as the server sent it, or an earlier process has kept it

	// Guarded by servers.mu.
	listed time.Time
	kept   bool // by an earlier process, and the server has not been asked
}

func newServers(set *serverSet, lists *lists, admission *admission, changed func(string)) *servers {
	return &servers{
		admission: admission, set: set, changed: changed, patience: searchPatience, lists: lists,
		known: map[string]*known{}, recalled: map[string]bool{}, epoch: map[string]int{}, asking: map[string]*asking{},
	}
}

// configured is what is configured now.
func (s *servers) configured() *serverSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// find returns the configured server of that name or, failing that, alias.
func (s *servers) find(name string) (config.Server, bool) { return s.configured().find(name) }

// peek returns what is known of a server without starting it.
func (s *servers) peek(name string) (guest.Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known[name]; ok {
		return k.server, true
	}
	return guest.Server{}, false
}

// mark says which version of a server a guest has been told.
type mark struct {
	known, loaded bool
	epoch         int
}

// view is a server as a run sees it: with its tools once they are known, loaded when the run may call it.
func (s *servers) view(c config.Server, selected []string) (guest.Server, mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[c.Name]
	if !ok {
		return s.set.entry(c), mark{epoch: s.epoch[c.Name]}
	}
	g := k.server
	g.Loaded = selected == nil || slices.Contains(selected, c.Name)
	return g, mark{known: true, loaded: g.Loaded, epoch: k.epoch}
}

// epochOf is the version of a server's tools.
func (s *servers) epochOf(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch[name]
}

// load returns a server with its tools. It is started only when nobody has kept its list.
func (s *servers) load(ctx context.Context, c config.Server) (guest.Server, error) {
	k, err := s.know(ctx, c)
	if err != nil {
		return guest.Server{}, err
	}
	return k.server, nil
}

func (s *servers) know(ctx context.Context, c config.Server) (*known, error) {
	s.mu.Lock()
	k := s.known[c.Name]
	s.mu.Unlock()
	if k == nil {
		k = s.recall(c)
	}
	if k == nil {
		return s.list(ctx, c)
	}
	return k, nil
}

// recall takes up what an earlier process has kept of a server, if nothing is known of it yet.
func (s *servers) recall(c config.Server) *known {
	s.mu.Lock()
	asked, epoch := s.recalled[c.Name], s.epoch[c.Name]
	s.recalled[c.Name] = true
	s.mu.Unlock()
	if asked {
		return nil
	}
	e, ok := s.lists.load(c)
	if !ok {
		return nil
	}
	k := s.describe(c, e.Tools, e.Shapes)
	k.listed, k.kept = e.Saved, true
	return s.learn(c, k, epoch)
}

// list asks the server for its tools, starting it when that is needed.
func (s *servers) list(ctx context.Context, c config.Server) (*known, error) {
	s.mu.Lock()
	epoch := s.epoch[c.Name]
	s.mu.Unlock()
	raw, err := s.pool.Tools(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	if s.configured().has(c) { // else these may be the tools of its successor
		s.lists.save(c, raw)
	}
	kept, _ := s.lists.load(c)
	k := s.describe(c, raw, kept.Shapes)
	k.listed = time.Now()
	return s.learn(c, k, epoch), nil
}

// learn makes k what is known of a server, unless the server or its entry has changed since that epoch.
func (s *servers) learn(c config.Server, k *known, epoch int) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.epoch = epoch; s.epoch[c.Name] == epoch && s.set.has(c) {
		s.known[c.Name], s.index = k, nil
	}
	return k
}

// current is what a server says of its tools, not what an earlier process has kept of that. The server is started for
// it.
func (s *servers) current(ctx context.Context, c config.Server) (*known, error) {
	k, err := s.know(ctx, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	kept := k.kept
	s.mu.Unlock()
	if !kept {
		return k, nil
	}
	return s.compare(ctx, c, k)
}

// compare replaces what is known of a server by what it says now, if that is anything else.
func (s *servers) compare(ctx context.Context, c config.Server, k *known) (*known, error) {
	raw, err := s.pool.Tools(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	same := slices.EqualFunc(k.list, raw, sameJSON)
	s.mu.Lock()
	ours := s.known[c.Name] == k && s.set.has(c) // nobody else has compared it meanwhile, and its entry is the same
	save := ours && (k.kept || !same)
	if ours && same {
		k.kept, k.listed = false, time.Now()
	}
	s.mu.Unlock()
	if save {
		s.lists.save(c, raw)
	}
	if ours && !same {
		s.forget(c.Name)
	}
	if same {
		return k, nil
	}
	now, err := s.know(ctx, c)
	if err == nil && !ours && !slices.EqualFunc(now.list, raw, sameJSON) { // of a listing that began before this one
		s.forget(c.Name)
		return s.know(ctx, c)
	}
	return now, err
}

// relist is know, but asks the server for its tools once more.
func (s *servers) relist(ctx context.Context, c config.Server) (*known, error) {
	k, err := s.know(ctx, c)
	if err != nil {
		return nil, err
	}
	s.pool.Refresh(c.Name)
	return s.compare(ctx, c, k)
}

// asking is a server that is asked once more, or was lately, and had nothing new to say.
type asking struct {
	over  chan struct{} // closed when it has answered
	vain  int           // how often, one after the other, it had nothing new to say; after over
	until time.Time     // when it may be asked again; after over
}

// again is relist for what code asks, which can make up names without end: a server that had nothing new to say is left
// alone for a while. Those who ask meanwhile wait for the one answer.
func (s *servers) again(ctx context.Context, c config.Server) (*known, error) {
	s.mu.Lock()
	a, vain := s.asking[c.Name], 0
	if a != nil {
		select {
		case <-a.over:
			if vain = a.vain; !time.Now().Before(a.until) {
				a = nil
			}
		default:
		}
	}
	if a != nil {
		s.mu.Unlock()
		select {
		case <-a.over:
			return s.know(ctx, c)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	a = &asking{over: make(chan struct{})}
	s.asking[c.Name] = a
	before := s.known[c.Name]
	s.mu.Unlock()
	defer close(a.over)
	k, err := s.relist(ctx, c)
	if err == nil && k == before {
		if a.vain = vain + 1; a.vain >= askedInVain {
			a.until = time.Now().Add(nothingNew)
		}
	}
	return k, err
}

// forget is called by the pool when a server's tools have changed.
func (s *servers) forget(name string) {
	if s.drop(name) {
		s.changed(name)
	}
}

// drop makes the next load ask the pool; it reports whether the server's tools were known.
func (s *servers) drop(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, had := s.known[name]
	delete(s.known, name)
	s.recalled[name] = true // what was kept is what has changed
	s.index = nil
	s.epoch[name]++
	return had
}

// loadAll loads the named servers side by side. A server that fails costs only itself.
func (s *servers) loadAll(ctx context.Context, list []config.Server) (loaded []guest.Server, failed []error) {
	type answer struct {
		server guest.Server
		err    error
	}
	answers := make([]answer, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() {
			g, err := s.load(ctx, c)
			answers[i] = answer{g, err}
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, a.err)
			continue
		}
		loaded = append(loaded, a.server)
	}
	return loaded, failed
}

// searchPatience is how long a search waits for servers to start: one that hangs must not cost a run its time.
// They go on starting, for the next search.
const searchPatience = 10 * time.Second

var errPatience = errors.New("the search did not wait any longer")

// await starts every server that nobody has asked yet. missed says why the tools of some are not known.
func (s *servers) await(ctx context.Context) (missed []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, errPatience)
	defer cancel()
	_, failed := s.loadAll(ctx, s.configured().all)
	for _, err := range failed {
		if start := new(upstream.StartError); errors.As(err, &start) && ctx.Err() == nil {
			missed = append(missed, "the search did not see the tools of "+start.Error())
		}
	}
	if ctx.Err() != nil {
		missed = append(
			missed, "the search did not see the tools of "+strings.Join(s.unknown(), ", ")+": not started yet",
		)
	}
	return missed
}

// unknown names the servers whose tools are not known.
func (s *servers) unknown() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.set.all {
		if _, ok := s.known[c.Name]; !ok {
			names = append(names, c.Name)
		}
	}
	return names
}

// snapshot is the catalog of everything known. Its index takes longer to make than to ask, so it is kept until
// something changes.
func (s *servers) snapshot() *catalog.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		docs := make([]catalog.Server, 0, len(s.known))
		for _, c := range s.set.all {
			if k, ok := s.known[c.Name]; ok {
				docs = append(docs, k.docs)
			}
		}
		s.index = catalog.New(docs)
	}
	return s.index
}

// unavailable is the answer to a call for a server this run cannot use.
func unavailable(server, hint string) (int, string, guest.ErrorData) {
	msg := fmt.Sprintf("Server '%s' is not available", server)
	return guest.CodeUnavailable, msg, guest.ErrorData{Server: server, Hint: hint}
}

// explain turns an upstream's failure into the error the guest gets.
func explain(server, tool string, err error) (int, string, guest.ErrorData) {
	data := guest.ErrorData{Server: server, Tool: tool}
	var start *upstream.StartError
	var call *upstream.CallError
	var none *noToolError
	switch {
	case errors.As(err, &none):
		data.Hint = none.hint()
		return guest.CodeUnavailable, none.Error(), data
	case errors.As(err, &start):
		data.Stderr, data.Hint = start.Stderr, start.Way()
		return guest.CodeUnavailable, start.Error(), data
	case errors.As(err, &call):
		data.Code, data.Stderr = call.Code, call.Stderr
		if json.Valid(call.Data) {
			data.Data = call.Data
		}
		return guest.CodeToolFailed, call.Error(), data
	case errors.Is(err, context.DeadlineExceeded):
		return guest.CodeTimeout, err.Error(), data
	case errors.Is(err, context.Canceled), errors.Is(err, errRunOver), errors.Is(err, errGuestCancelled):
		return guest.CodeCancelled, err.Error(), data
	default:
		return guest.CodeToolFailed, err.Error(), data
	}
}
