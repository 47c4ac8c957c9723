package servers

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	"codemode/internal/config"
)

// listLock has one caller at a time make what is known of a server from its list, or compare the two. With thousands of
// tools that takes long, and those who wait need only take what has been made.
type listLock struct {
	sync.Mutex
	of   config.Server
	last *Known // whether it is still what is known or not; nil is none
}

// lockList returns a server's lock, which the caller unlocks.
func (s *Inventory) lockList(name string) *listLock {
	s.mu.Lock()
	m := s.locks[name]
	if m == nil {
		m = &listLock{}
		s.locks[name] = m
	}
	s.mu.Unlock()
	m.Lock()
	return m
}

// recall takes up what an earlier process has kept of a server, if nothing is known of it yet.
func (s *Inventory) recall(c config.Server) *Known {
	defer s.lockList(c.Name).Unlock()
	s.mu.Lock()
	k, asked, epoch := s.known[c.Name], s.recalled[c.Name], s.epoch[c.Name]
	s.recalled[c.Name] = true
	s.mu.Unlock()
	if k != nil || asked {
		return k
	}
	e, ok := s.lists.Load(c)
	if !ok {
		return nil
	}
	k = s.describe(c, e.Tools, e.Shapes)
	k.listed, k.kept = e.Saved, true
	return s.learn(c, k, epoch)
}

// list asks the server for its tools, starting it when that is needed.
func (s *Inventory) list(ctx context.Context, c config.Server) (*Known, error) {
	s.mu.Lock()
	epoch := s.epoch[c.Name]
	s.mu.Unlock()
	raw, err := s.pool.Tools(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	m := s.lockList(c.Name)
	defer m.Unlock()
	if k := m.last; k != nil && k.Epoch == epoch && sameList(k.List, raw) && reflect.DeepEqual(m.of, c) {
		return k, nil
	}
	if s.Configured().has(c) { // else these may be the tools of its successor
		s.lists.Save(c, raw, s.pool.Fresh(c.Name))
	}
	kept, _ := s.lists.Load(c)
	k := s.describe(c, raw, kept.Shapes)
	k.listed, k.sent = time.Now(), raw
	m.of, m.last = c, s.learn(c, k, epoch)
	return m.last, nil
}

// learn makes k what is known of a server, unless the server or its entry has changed since that epoch.
func (s *Inventory) learn(c config.Server, k *Known, epoch int) *Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.Epoch = epoch; s.epoch[c.Name] == epoch && s.set.has(c) {
		s.known[c.Name], s.index = k, nil
	}
	return k
}

// confirm says whether what is known of a server is what it has listed, and whether it is still what is known: nobody
// else has compared it meanwhile, and its entry is the same. Then the list is kept.
func (s *Inventory) confirm(c config.Server, k *Known, raw []json.RawMessage) (same, ours bool) {
	defer s.lockList(c.Name).Unlock()
	s.mu.Lock()
	sent := k.sent
	s.mu.Unlock()
	same = sameList(sent, raw) || slices.EqualFunc(k.List, raw, sameJSON)
	s.mu.Lock()
	ours = s.known[c.Name] == k && s.set.has(c)
	save := ours && (k.kept || !same)
	if ours && same {
		k.kept, k.listed = false, time.Now()
		if !sameList(sent, raw) {
			k.sent, k.definitions = raw, definitionsIn(raw)
		}
	}
	s.mu.Unlock()
	if save {
		s.lists.Save(c, raw, s.pool.Fresh(c.Name))
	}
	return same, ours
}

// sameList says whether a list is the very one, not one like it. A pool gives all who ask the same.
func sameList(a, b []json.RawMessage) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
