package clientcfg

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg/textpos"
)

// What one file can hold, and how many mistakes of it are told. Nobody has that many.
const (
	maxServers  = 1000
	maxProblems = 100
)

// file is one file while it is read.
type file struct {
	client  *Client
	scope   Scope
	key     []string
	path    string
	project string // folder of the project that it came with
	env     *Env

	root        node
	description string
	entries     []Entry
	problems    []Problem
	off         []switchOff
	folders     []string // see Found
	full        bool     // it has more than maxServers
	noTable     bool     // it has no table of servers, as far as this client is concerned
	blank       bool     // it has nothing but white space, and in JSON comments
}

// parse reads the text of a file.
func (f *file) parse(data []byte) {
	data, marked, wide, err := decodeText(data)
	switch {
	case err != nil: // some programs read all the same what is there
		f.problem(place{}, "", err)
		f.unread()
		f.problems[0].Restricts = f.problems[0].Unread
		return
	case wide && !isOwn(f.client.ID):
		f.problem(place{}, "", fmt.Errorf("it is in UTF-16, which %s does not read", f.client.Title))
	case marked && f.client.Strict:
		f.problem(place{}, "", fmt.Errorf("it begins with a byte order mark, for which %s rejects it", f.client.Title))
	}
	var at place
	switch ext := filepath.Ext(f.path); {
	case textpos.IsBlank(data):
		err = errEmpty
	case ext == ".toml":
		f.root, at, err = parseTOML(data)
	case ext == ".yaml", ext == ".yml":
		f.root, at, err = parseYAML(data)
	default:
		f.root, at, err = f.parseJSON(data)
	}
	f.blank = err == errEmpty
	switch {
	case f.blank && !isOwn(f.client.ID):
	case err != nil:
		f.problem(at, "", err)
		f.unread()
	case f.root.value != nil:
		f.tables()
	}
	for i := range f.problems {
		p := &f.problems[i]
		p.Restricts = p.Unread && mayRestrict(data)
	}
}

// unread has the last problem be one by which it is not known what servers there are.
func (f *file) unread() { f.problems[len(f.problems)-1].Unread = f.scope != Project }

// mayRestrict says whether a text that cannot be read may be about restrictions, or is cut off before it could be.
func mayRestrict(data []byte) bool {
	return !bytes.HasSuffix(bytes.TrimSpace(data), []byte("}")) ||
		bytes.Contains(data, []byte("sandbox")) || bytes.Contains(data, []byte("abled"))
}

// errEmpty is of a file that has nothing but white space and comments.
var errEmpty = errors.New("it is empty")

// tables reads every table of servers that the file has.
func (f *file) tables() {
	if f.client.ID == "claude-code" && f.scope == User {
		f.claudeProjects()
	}
	if _, ok := f.root.value.(*object); !ok {
		f.problem(f.root.place, "", errors.New(`there is no {"mcpServers": {…}} in it`))
		f.unread()
		return
	}
	if isOwn(f.client.ID) && !f.writtenFor() {
		return
	}
	f.description = ""
	if v, ok := f.root.get("description"); ok {
		f.description, _ = v.value.(string) // one that is no text describes nothing
	}
	f.twice()
	table, ok := f.root.at(f.key...)
	if inner, nested := openCodeV2(table); f.client.Entry == Argv && nested {
		table = inner
	}
	first := len(f.entries)
	switch {
	case ok:
		f.table(table, f.key[len(f.key)-1])
	case f.client.Bare && f.looksBare():
		f.table(f.root, "")
	default:
		f.noTable = !f.otherKey()
	}
	f.switchOffs(f.entries[first:])
}

// writtenFor takes the rules for the entries of a file of codemode's own from the client that it says it was written
// for.
func (f *file) writtenFor() bool {
	v, ok := f.root.get("client")
	if !ok {
		return true
	}
	id, _ := v.value.(string)
	for _, c := range clients {
		if c.ID == id {
			own := *f.client
			own.Entry, own.Dialect, own.BareURL, own.Unit = c.Entry, c.Dialect.Adopted(), c.BareURL, c.Unit
			f.client = &own
			return true
		}
	}
	f.problem(v.place, "", errors.New(`"client" names none that codemode knows`))
	return false
}

// twice notes members on the way to the servers that are there more than once.
func (f *file) twice() {
	n := f.root
	for _, name := range f.key {
		count := 0
		o, _ := n.value.(*object)
		if o == nil {
			return
		}
		for _, m := range o.members {
			if m.name == name {
				count++
			}
			if m.name == name && count == 2 {
				f.problem(m.place, "", fmt.Errorf("%q is there twice; the last counts", name))
			}
		}
		n, _ = n.get(name)
	}
}

// otherKey reads a file whose servers are under the key that other programs use. Only of a file that is for
// servers alone is that a mistake.
func (f *file) otherKey() bool {
	own := isOwn(f.client.ID) || f.client.ID == "mcp"
	if !own && !strings.Contains(filepath.Base(f.path), "mcp") {
		return false
	}
	for _, name := range []string{"mcpServers", "servers"} {
		table, ok := f.root.get(name)
		if _, isObject := table.value.(*object); !ok || !isObject && !own {
			continue
		}
		first := len(f.entries)
		f.table(table, name)
		for i := range f.entries[first:] {
			if !own {
				note(
					&f.entries[first+i], "wrong key for %s: it is under %q, where %s does not look",
					filepath.Base(f.path), name, f.client.Title,
				)
			}
		}
		return true
	}
	if own {
		f.problem(f.root.place, "", errors.New(`it has neither "mcpServers" nor "servers"`))
	}
	return false
}

// looksBare says whether every member of the file could be a server.
func (f *file) looksBare() bool {
	for _, m := range f.root.value.(*object).members {
		_, hasCommand := m.value.get("command")
		_, hasURL := m.value.get("url")
		if !hasCommand && !hasURL && m.name != "$schema" {
			return false
		}
	}
	return true
}

// table reads servers by name, or a list of them.
func (f *file) table(v node, name string) {
	if l, ok := v.value.(*list); ok && f.client.List {
		for _, item := range l.items {
			f.add((&fields{entry: item}).text("name"), item.place, item)
		}
		return
	}
	o, ok := v.value.(*object)
	if !ok {
		f.problem(v.place, "", fmt.Errorf("%q is not an object of servers", name))
		if v.value != nil {
			f.unread()
		}
		return
	}
	f.entries = slices.Grow(f.entries, min(len(o.members), maxServers))
	last := make(map[string]int, len(o.members))
	for i, m := range o.members {
		if _, again := last[m.name]; again {
			f.problem(m.place, m.name, fmt.Errorf("server %q is there twice; the last counts", m.name))
		}
		last[m.name] = i
	}
	for i, m := range o.members {
		if last[m.name] != i || v.place == f.root.place && m.name == "$schema" {
			continue
		}
		f.add(m.name, m.place, m.value)
	}
}

func (f *file) add(name string, at place, v node) {
	if len(f.entries) >= maxServers {
		if !f.full {
			f.problem(at, "", fmt.Errorf("it has more than %d servers; the others are left out", maxServers))
		}
		f.full = true
		return
	}
	e := f.entry(name, at, v)
	if !e.noValues {
		f.entries = append(f.entries, e)
		return
	}
	what := "on"
	if e.Server.Disabled {
		what = "off"
		f.switchOff(func(e *Entry) bool { return e.Written == name })
	}
	f.problem(at, name, fmt.Errorf("server %q is only switched %s here, not defined", name, what))
}

// problem notes what is wrong, and where.
func (f *file) problem(at place, server string, err error) {
	switch {
	case len(f.problems) > maxProblems:
		return
	case len(f.problems) == maxProblems:
		server, err = "", errors.New("there is more that is wrong with it")
	}
	f.problems = append(f.problems, Problem{
		Client: f.client.ID, File: f.path, Line: at.line, Column: at.column, Server: server, Err: err,
	})
}
