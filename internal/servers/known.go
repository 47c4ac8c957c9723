package servers

import (
	"context"
	"sync"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/config"
)

// Known is the catalog of every server whose tools are known without starting anything, and the names of the others.
func (s *Inventory) Known() (known *catalog.Catalog, others []string) {
	var work sync.WaitGroup
	for _, c := range s.Configured().All {
		work.Go(func() { s.recall(c) })
	}
	work.Wait()
	return s.Catalog(), s.unknown()
}

// Listed says how many tools a server had when it was last asked, and when that was. Nothing is started for it.
func (s *Inventory) Listed(server string) (tools int, at time.Time, ok bool) {
	c, found := s.Find(server)
	if !found {
		return 0, time.Time{}, false
	}
	s.recall(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[c.Name]
	if !ok {
		return 0, time.Time{}, false
	}
	return len(k.Docs.Tools), k.listed, true
}

// maxListing is how many servers are asked for their tools at once: each of them is a process that starts.
const maxListing = 32

// List asks servers for their tools, side by side, starting them. done is told of each, one after the other.
func (s *Inventory) List(ctx context.Context, names []string, done func(server string, tools int, err error)) {
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		room = make(chan struct{}, maxListing)
	)
	for _, name := range names {
		c, ok := s.Find(name)
		if !ok {
			done(name, 0, &UnknownServerError{Name: name})
			continue
		}
		room <- struct{}{}
		work.Go(func() {
			tools, err := s.listOne(ctx, c)
			<-room
			mu.Lock()
			defer mu.Unlock()
			done(c.Name, tools, err)
		})
	}
	work.Wait()
}

func (s *Inventory) listOne(ctx context.Context, c config.Server) (int, error) {
	k, err := s.relist(ctx, c)
	if err != nil {
		return 0, err
	}
	return len(k.Server.Tools), nil
}
