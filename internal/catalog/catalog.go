// Package catalog is tools as documentation: their Python names, signatures, stubs, rendering and search.
//
// It owns the immutable [Catalog] snapshot that the docs, the search and the guest read. It does no I/O,
// has no clock and starts no goroutine; everything in it is a pure function of server names and tool
// definitions. Nothing needs closing.
package catalog

import "sync"

// Catalog is a snapshot of servers and their tools. Any number of goroutines may use it.
type Catalog struct {
	servers []Server
	index   func() *index // built at the first search
}

// New returns the catalog of these servers, which must not change any more.
func New(servers []Server) *Catalog {
	return &Catalog{servers: servers, index: sync.OnceValue(func() *index { return newIndex(servers) })}
}

// Servers returns all servers in the order they were given.
func (c *Catalog) Servers() []Server { return c.servers }

// Server finds a server by its real name or, failing that, its alias.
func (c *Catalog) Server(name string) (Server, bool) {
	return find(c.servers, name, func(s *Server) (string, string) { return s.Name, s.Alias })
}

// Tool finds a tool by its real name or, failing that, its alias.
func (s Server) Tool(name string) (Tool, bool) {
	return find(s.Tools, name, func(t *Tool) (string, string) { return t.Name, t.Alias })
}

// find prefers a real name: nothing may take a server's own name from it.
func find[T any](list []T, name string, names func(*T) (real, alias string)) (found T, ok bool) {
	for i := range list {
		real, alias := names(&list[i])
		if real == name {
			return list[i], true
		}
		if alias == name && !ok {
			found, ok = list[i], true
		}
	}
	return found, ok
}
