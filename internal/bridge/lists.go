package bridge

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/catalog"
	"codemode/internal/catalog/store"
	"codemode/internal/config"
)

// lists is what servers said of their tools, and what their results have looked like, kept from one process to the
// next: what is searched and documented need not be started.
type lists struct {
	store  *store.Store // nil keeps nothing
	tenant string
	maxAge time.Duration // 0 is for ever
	expand func(config.Server, func(variable, value string)) (config.Server, error)
	log    *slog.Logger

	mu   sync.Mutex
	keys map[string]keyed             // by server
	seen map[string]map[string]*looks // by server and tool
}

// keyed is what an entry's list is kept under.
type keyed struct {
	entry config.Server
	key   string
}

// looks is what a tool's results have looked like.
type looks struct {
	shape *catalog.Shape
	count int
	fresh bool // not kept yet
}

// maxLooked is how many results of a tool one process learns from: the next hundred look like the first ones.
const maxLooked = 5

func newLists(opts Options) *lists {
	l := &lists{
		tenant: opts.Config.Tenant, maxAge: opts.Config.Catalog.MaxAge, expand: opts.Expand, log: opts.Log,
		keys: map[string]keyed{}, seen: map[string]map[string]*looks{},
	}
	if opts.CatalogDir != "" {
		l.store = store.New(opts.CatalogDir, opts.Disk)
	}
	return l
}

// key names what is kept of a server: by everything that decides what it lists, the values of variables included.
func (l *lists) key(c config.Server) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.keys[c.Name]; ok && reflect.DeepEqual(k.entry, c) {
		return k.key
	}
	meant := c
	if l.expand != nil {
		if expanded, err := l.expand(c, func(string, string) {}); err == nil {
			meant = expanded
		}
	}
	meant.Name, meant.Source, meant.Description, meant.Disabled = "", "", "", false
	definition, err := json.Marshal(meant)
	if err != nil {
		panic(err) // texts, lists and tables of them
	}
	secrets := slices.Concat(slices.Sorted(maps.Values(meant.Env)), slices.Sorted(maps.Values(meant.Headers)))
	key := store.Key(definition, l.tenant, secrets...)
	l.keys[c.Name] = keyed{c, key}
	return key
}

// load returns what is kept of a server and not too old.
func (l *lists) load(c config.Server) (store.Entry, bool) {
	if l.store == nil {
		return store.Entry{}, false
	}
	e, ok := l.store.Load(l.key(c))
	if !ok || l.maxAge > 0 && e.Age(time.Now()) > l.maxAge {
		return store.Entry{}, false
	}
	return e, true
}

// save keeps what a server has just listed. A cache that cannot be written costs only time.
func (l *lists) save(c config.Server, tools []json.RawMessage) {
	if l.store == nil {
		return
	}
	if err := l.store.Save(l.key(c), tools, time.Now()); err != nil && !errors.Is(err, store.ErrTooLarge) {
		l.log.Debug("keeping a list of tools", "server", c.Name, "error", err)
	}
}

// maxLearned is the size of a result from which on nothing is learned of its shape: others wait meanwhile.
const maxLearned = 1 << 20

// saw learns from a tool's result what its results look like. It keeps no values.
func (l *lists) saw(server, tool string, result json.RawMessage) {
	if l.store == nil || len(result) > maxLearned {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := l.seen[server]
	if tools == nil {
		tools = map[string]*looks{}
		l.seen[server] = tools
	}
	k := tools[tool]
	if k == nil {
		k = &looks{}
		tools[tool] = k
	}
	if k.count >= maxLooked {
		return
	}
	k.count++
	if value := valueIn(result); value != nil {
		shape, news := catalog.Seen(k.shape, value)
		k.shape, k.fresh = shape, k.fresh || news
	}
}

// forget drops what was learned of a server's results in this process: the next ones are another entry's.
func (l *lists) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, server)
}

// valueIn is the part of a result that code gets as its value, where that is JSON.
func valueIn(result json.RawMessage) []byte {
	r := gjson.ParseBytes(result)
	if r.Get("isError").Bool() {
		return nil
	}
	if v := r.Get("structuredContent"); v.IsObject() {
		return []byte(v.Raw)
	}
	content := r.Get("content").Array()
	if len(content) != 1 || content[0].Get("type").Str != "text" {
		return nil
	}
	if text := content[0].Get("text").Str; gjson.Valid(text) {
		return []byte(text)
	}
	return []byte(`""`)
}

// flush keeps what was learned.
func (l *lists) flush(all []config.Server) {
	if l.store == nil {
		return
	}
	for _, c := range all {
		shapes := map[string]*catalog.Shape{}
		l.mu.Lock()
		for tool, k := range l.seen[c.Name] {
			if k.fresh {
				shapes[tool], k.fresh = k.shape, false
			}
		}
		l.mu.Unlock()
		if len(shapes) == 0 {
			continue
		}
		if err := l.store.Learn(l.key(c), shapes, time.Now()); err != nil {
			l.log.Debug("keeping what results look like", "server", c.Name, "error", err)
		}
	}
}
