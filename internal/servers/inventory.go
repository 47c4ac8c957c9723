// Package servers is what is known of the user's MCP servers: which are configured, under which Python names, and what
// tools they have.
//
// It owns the [Inventory] of them, and their lists of tools on disk. It never starts a server itself, which a pool does
// for it, and never calls a tool. Nothing of it needs to be closed but for [Lists.Flush], which whoever has opened the
// lists calls at the end.
package servers

import (
	"context"
	"encoding/json"
	"errors"
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

// Inventory is what is known of the user's servers: their names and aliases as they are configured now, their tools
// once someone asked. It is the only place where upstream's definitions become the guest's.
type Inventory struct {
	pool     Pool
	lists    *Lists
	judge    Judge
	changed  func(server string)
	find     func()        // sets set, once
	Patience time.Duration // of a search for servers that start

	mu       sync.Mutex
	set      *Set // empty until it has been found
	found    bool
	known    map[string]*Known
	recalled map[string]bool  // servers whose list of an earlier process was asked for
	index    *catalog.Catalog // of what is known; nil after a change
	asking   map[string]*asking
	locks    map[string]*listLock
	epoch    map[string]int // grows when a server's tools change, so that a listing that began before is not kept
}

// Known is a server whose tools have been listed.
type Known struct {
	Server guest.Server
	Docs   catalog.Server
	Calls  map[string]policy.Call // by tool: what a policy goes by, and has said already
	Epoch  int
	List   []json.RawMessage // as the server sent it, or an earlier process has kept it

	told [2]struct { // see Entry
		once sync.Once
		json json.RawMessage
	}

	// Guarded by Inventory.mu.
	sent        []json.RawMessage          // the list that it was compared with last, if the server was asked
	definitions map[string]json.RawMessage // by tool, as the server sends them, if it was asked
	listed      time.Time
	kept        bool // by an earlier process, and the server has not been asked
}

// Entry is Server for a guest that may call it, or may not, in JSON that is made once: with thousands of tools that
// takes long.
func (k *Known) Entry(loaded bool) any {
	entry, told := k.Server, &k.told[0]
	if entry.Loaded = loaded; loaded {
		told = &k.told[1]
	}
	told.once.Do(func() { told.json, _ = json.Marshal(entry) })
	if told.json == nil {
		return entry // it will be told why
	}
	return told.json
}

// Pool lists the tools of servers: upstream.Pool.
type Pool interface {
	Tools(ctx context.Context, server string) ([]json.RawMessage, error)
	Refresh(server string)
	Fresh(server string) time.Duration
	Update([]config.Server)
	KeepSecret(others []config.Server)
}

// Judge says of tools what a policy says.
type Judge interface {
	Prepare(policy.Call) policy.Call
	Note(policy.Call) string // empty where the tool may be called
}

// New returns an inventory of the set that find finds, which is called when something first asks for a server. What
// servers list comes from a pool that Use gives it; changed is told of a server that somebody may know, and that has
// other tools now.
func New(find func() *Set, lists *Lists, judge Judge, changed func(server string)) *Inventory {
	s := &Inventory{
		judge: judge, set: NewSet(nil, nil), changed: changed, Patience: searchPatience, lists: lists,
		known: map[string]*Known{}, recalled: map[string]bool{}, epoch: map[string]int{}, asking: map[string]*asking{},
		locks: map[string]*listLock{},
	}
	s.find = sync.OnceFunc(func() {
		set := find()
		s.pool.Update(set.All)
		s.pool.KeepSecret(set.Others)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.set, s.found = set, true
	})
	return s
}

// Use has the inventory ask a pool. It is called once, before anything else: the pool calls Forget.
func (s *Inventory) Use(pool Pool) { s.pool = pool }

// Found tells whether anything has asked for a server.
func (s *Inventory) Found() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// Configured is what is configured now.
func (s *Inventory) Configured() *Set {
	s.find()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// Flush keeps what was learned of the servers' results.
func (s *Inventory) Flush() {
	if s.Found() {
		s.lists.Flush(s.Configured().All)
	}
}

// Find returns the configured server of that name or, failing that, alias.
func (s *Inventory) Find(name string) (config.Server, bool) { return s.Configured().Find(name) }

// peek returns what is known of a server without starting it.
func (s *Inventory) peek(name string) (guest.Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known[name]; ok {
		return k.Server, true
	}
	return guest.Server{}, false
}

// Version says which version of a server a guest has been told.
type Version struct {
	Known, Loaded bool
	Epoch         int
}

// View is a server as a run sees it: with its tools once they are known, loaded when the run may call it.
func (s *Inventory) View(c config.Server, selected []string) (guest.Server, Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[c.Name]
	if !ok {
		return s.set.entry(c), Version{Epoch: s.epoch[c.Name]}
	}
	g := k.Server
	g.Loaded = selected == nil || slices.Contains(selected, c.Name)
	return g, Version{Known: true, Loaded: g.Loaded, Epoch: k.Epoch}
}

// Epoch is the version of a server's tools.
func (s *Inventory) Epoch(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch[name]
}

// Load returns a server with its tools. It is started only when nobody has kept its list.
func (s *Inventory) Load(ctx context.Context, c config.Server) (guest.Server, error) {
	k, err := s.Know(ctx, c)
	if err != nil {
		return guest.Server{}, err
	}
	return k.Server, nil
}

// Know returns what is known of a server, or asks it.
func (s *Inventory) Know(ctx context.Context, c config.Server) (*Known, error) {
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

// current is what a server says of its tools, not what an earlier process has kept of that. The server is started for
// it.
func (s *Inventory) current(ctx context.Context, c config.Server) (*Known, error) {
	k, err := s.Know(ctx, c)
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
func (s *Inventory) compare(ctx context.Context, c config.Server, k *Known) (*Known, error) {
	raw, err := s.pool.Tools(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	same, ours := s.confirm(c, k, raw)
	if ours && !same {
		s.Forget(c.Name)
	}
	if same {
		return k, nil
	}
	now, err := s.Know(ctx, c)
	if err == nil && !ours && !slices.EqualFunc(now.List, raw, sameJSON) { // of a listing that began before this one
		s.Forget(c.Name)
		return s.Know(ctx, c)
	}
	return now, err
}

// relist is Know, but asks the server for its tools once more.
func (s *Inventory) relist(ctx context.Context, c config.Server) (*Known, error) {
	k, err := s.Know(ctx, c)
	if err != nil {
		return nil, err
	}
	s.pool.Refresh(c.Name)
	return s.compare(ctx, c, k)
}

// Forget is called by the pool when a server's tools have changed.
func (s *Inventory) Forget(name string) {
	if s.drop(name) {
		s.changed(name)
	}
}

// drop makes the next load ask the pool; it reports whether the server's tools were known.
func (s *Inventory) drop(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, had := s.known[name]
	delete(s.known, name)
	s.recalled[name] = true // what was kept is what has changed
	s.index = nil
	s.epoch[name]++
	return had
}

// LoadAll loads the named servers side by side. A server that fails costs only itself.
func (s *Inventory) LoadAll(ctx context.Context, list []config.Server) (loaded []guest.Server, failed []error) {
	type answer struct {
		server guest.Server
		err    error
	}
	answers := make([]answer, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() {
			g, err := s.Load(ctx, c)
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

// LoadEvery starts every server that nobody has asked yet. missed says why the tools of some are not known.
func (s *Inventory) LoadEvery(ctx context.Context) (missed []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Patience, errPatience)
	defer cancel()
	_, failed := s.LoadAll(ctx, s.Configured().All)
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
func (s *Inventory) unknown() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.set.All {
		if _, ok := s.known[c.Name]; !ok {
			names = append(names, c.Name)
		}
	}
	return names
}

// KnownOf are the servers of a list whose tools are known when all have answered, or the patience is over.
func (s *Inventory) KnownOf(ctx context.Context, list []config.Server) map[string]*Known {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Patience, errPatience)
	defer cancel()
	s.LoadAll(ctx, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]*Known{}
	for _, c := range list {
		if k := s.known[c.Name]; k != nil {
			all[c.Name] = k
		}
	}
	return all
}

// Catalog is the catalog of everything known. Its index takes longer to make than to ask, so it is kept until
// something changes.
func (s *Inventory) Catalog() *catalog.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		docs := make([]catalog.Server, 0, len(s.known))
		for _, c := range s.set.All {
			if k, ok := s.known[c.Name]; ok {
				docs = append(docs, k.Docs)
			}
		}
		s.index = catalog.New(docs)
	}
	return s.index
}
