package servers

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
	"codemode/internal/quota"
	"codemode/internal/upstream"
)

// Lists is what servers said of their tools, and what their results have looked like, kept from one process to the
// next: what is searched and documented need not be started.
type Lists struct {
	ListsOptions
	store *store.Store // nil keeps nothing

	mu   sync.Mutex
	keys map[string]keyed             // by server
	seen map[string]map[string]*looks // by server and tool
}

// keyed is what an entry's list is kept under.
type keyed struct {
	entry  config.Server
	signIn string
	key    string
}

// looks is what a tool's results have looked like.
type looks struct {
	shape *catalog.Shape
	count int
	fresh bool // not kept yet
}

// maxLooked is how many results of a tool one process learns from: the next hundred look like the first ones.
const maxLooked = 5

// ListsOptions is what lists are made from.
type ListsOptions struct {
	Dir    string        // of the files; empty keeps nothing
	Disk   *quota.Budget // for them; nil is none
	Tenant string
	MaxAge time.Duration // of a list that is used; 0 is for ever
	// Lookup is the environment that a path of a file of variables may refer to; nil reads none.
	Lookup func(string) (string, bool)
	// Expand replaces the references in a server's entry; nil leaves them.
	Expand func(s config.Server, resolved func(variable, value string)) (config.Server, error)
	// SignedInAs names who is signed in at a server by URL; nil is nobody, anywhere. What one may see is not another's.
	SignedInAs func(config.Server) string
	Log        *slog.Logger
}

// OpenLists returns the lists that are kept in a folder.
func OpenLists(opts ListsOptions) *Lists {
	l := &Lists{ListsOptions: opts, keys: map[string]keyed{}, seen: map[string]map[string]*looks{}}
	if opts.Dir != "" {
		l.store = store.New(opts.Dir, opts.Disk)
	}
	return l
}

// key names what is kept of a server: by everything that decides what it lists, the values of variables included.
func (l *Lists) key(c config.Server) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	signIn := ""
	if l.SignedInAs != nil && c.URL != "" {
		signIn = l.SignedInAs(c)
	}
	// A file of variables may have other values meanwhile.
	if k, ok := l.keys[c.Name]; ok && c.EnvFile == "" && k.signIn == signIn && reflect.DeepEqual(k.entry, c) {
		return k.key
	}
	meant := c
	if l.Expand != nil {
		if expanded, err := l.Expand(c, func(string, string) {}); err == nil {
			meant = expanded
		}
	}
	if meant.EnvFile != "" && l.Lookup != nil {
		if variables, err := upstream.Variables(meant, l.Lookup); err == nil {
			meant.Env = variables
		}
	}
	meant.Name, meant.Source, meant.Description, meant.Disabled = "", "", "", false
	definition, err := json.Marshal(meant)
	if err != nil {
		panic(err) // texts, lists and tables of them
	}
	secrets := slices.Concat(slices.Sorted(maps.Values(meant.Env)), slices.Sorted(maps.Values(meant.Headers)))
	if signIn != "" {
		secrets = append(secrets, signIn)
	}
	key := store.Key(definition, l.Tenant, secrets...)
	l.keys[c.Name] = keyed{c, signIn, key}
	return key
}

// Load returns what is kept of a server and not too old.
func (l *Lists) Load(c config.Server) (store.Entry, bool) {
	if l.store == nil {
		return store.Entry{}, false
	}
	e, ok := l.store.Load(l.key(c))
	age := e.Age(time.Now())
	if !ok || l.MaxAge > 0 && age > l.MaxAge || e.Fresh > 0 && age > e.Fresh {
		return store.Entry{}, false
	}
	return e, true
}

// Save keeps what a server has just listed, and for how long it says that this is good; 0 is not said. A cache that
// cannot be written costs only time.
func (l *Lists) Save(c config.Server, tools []json.RawMessage, fresh time.Duration) {
	if l.store == nil {
		return
	}
	if err := l.store.Save(l.key(c), tools, time.Now(), fresh); err != nil && !errors.Is(err, store.ErrTooLarge) {
		l.Log.Debug("keeping a list of tools", "server", c.Name, "error", err)
	}
}

// maxLearned is the size of a result from which on nothing is learned of its shape: others wait meanwhile.
const maxLearned = 1 << 20

// Saw learns from a tool's result what its results look like. It keeps no values.
func (l *Lists) Saw(server, tool string, result json.RawMessage) {
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
func (l *Lists) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, server)
}

// valueIn is the part of a result that code gets as its value, where that is JSON.
func valueIn(result json.RawMessage) []byte {
	if upstream.IsError(result) {
		return nil
	}
	r := gjson.ParseBytes(result)
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

// Flush keeps what was learned.
func (l *Lists) Flush(all []config.Server) {
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
			l.Log.Debug("keeping what results look like", "server", c.Name, "error", err)
		}
	}
}
