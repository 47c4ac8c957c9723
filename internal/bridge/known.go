package bridge

import (
	"context"
	"sync"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/config"
)

// Known is the catalog of every server whose tools are known without starting anything, and the names of the others.
func (b *Bridge) Known() (known *catalog.Catalog, others []string) {
	var work sync.WaitGroup
	for _, c := range b.servers.configured().all {
		work.Go(func() { b.servers.recall(c) })
	}
	work.Wait()
	return b.servers.snapshot(), b.servers.unknown()
}

// Listed says how many tools a server had when it was last asked, and when that was. Nothing is started for it.
func (b *Bridge) Listed(server string) (tools int, at time.Time, ok bool) {
	c, found := b.servers.find(server)
	if !found {
		return 0, time.Time{}, false
	}
	b.servers.recall(c)
	b.servers.mu.Lock()
	defer b.servers.mu.Unlock()
	k, ok := b.servers.known[c.Name]
	if !ok {
		return 0, time.Time{}, false
	}
	return len(k.docs.Tools), k.listed, true
}

// PolicyNote is what the policy says of a tool; empty where it may be called.
func (b *Bridge) PolicyNote(server catalog.Server, t catalog.Tool) string {
	return b.admission.noteOn(server, t)
}

// maxListing is how many servers are asked for their tools at once: each of them is a process that starts.
const maxListing = 32

// List asks servers for their tools, side by side, starting them. done is told of each, one after the other.
func (b *Bridge) List(ctx context.Context, names []string, done func(server string, tools int, err error)) {
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		room = make(chan struct{}, maxListing)
	)
	for _, name := range names {
		c, ok := b.servers.find(name)
		if !ok {
			done(name, 0, &UnknownServerError{Name: name})
			continue
		}
		room <- struct{}{}
		work.Go(func() {
			tools, err := b.listOne(ctx, c)
			<-room
			mu.Lock()
			defer mu.Unlock()
			done(c.Name, tools, err)
		})
	}
	work.Wait()
}

func (b *Bridge) listOne(ctx context.Context, c config.Server) (int, error) {
	k, err := b.servers.relist(ctx, c)
	if err != nil {
		return 0, err
	}
	return len(k.server.Tools), nil
}
