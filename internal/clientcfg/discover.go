package clientcfg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/config"
)

// Options says what is looked for, and where.
type Options struct {
	Env       Env
	Servers   config.Servers // what codemode is told itself
	Sources   []string       // discovery.sources, see [Sources]; nil is all
	Approvals *Approvals     // nil: nothing of a project is approved
	Self      Self

	// Overlay has the texts of files as they would be, by path, to find what would come of a change before it is made;
	// nil is that one of codemode's own folder would be gone.
	Overlay map[string][]byte

	// Secret returns a secret of codemode's own, to which entries in its own files may refer.
	Secret func(name string) (string, error)

	// Program says what keeps the program of a server from being started, whose references are replaced; nil does not
	// look.
	Program func(config.Server) error

	// SignedOut says whether a server by URL, whose references are replaced, wants a sign-in that there is not; nil
	// does not look.
	SignedOut func(config.Server) bool
}

// A Search is the sources, of which those that are codemode's own have been read.
type Search struct{ finder *finder }

// Look reads what codemode is told itself. The clients' files are read, and all entries judged, by Judge.
func Look(opts Options) Search {
	f := &finder{opts: opts, seen: map[string]bool{}, off: map[string][]switchOff{}, offThere: map[string][]switchOff{}}
	var unknown []string
	f.chosen, unknown = selectSources(opts.Sources)
	for _, name := range unknown {
		f.problems = append(
			f.problems, Problem{Client: configID, File: "discovery.sources", Err: &UnknownSourceError{name}},
		)
	}
	f.own()
	f.count()
	return Search{f}
}

// OwnProblems are those with what codemode is told itself.
func (s Search) OwnProblems() []Problem { return slices.Clip(s.finder.problems) }

// Discover reads every source and says of each entry what becomes of it.
func Discover(opts Options) Found { return Look(opts).Judge() }

// Judge is called once, and says of each entry what becomes of it. The order of precedence is: files
// named for this very start, config.toml, ~/MCPs, the user's files of each client, the project's files: what came with
// a project takes no name away from what the user has, approved or not.
//
// Of one program, the first entry of a name hides the others, as it does in that program. Where entries of
// different programs share a name, the later is called name@client. Entries that start the same are one. An
// entry of a project that is not approved has no part in this: a stranger's file cannot take a name away.
func (s Search) Judge() Found {
	f, opts := s.finder, s.finder.opts
	f.users()
	f.projects()
	f.switchOff()
	if !f.unsure {
		f.sure = len(f.entries)
	}
	for i := range f.entries[f.sure:] {
		f.entries[f.sure+i].unsure = true
	}

	m := &merger{
		entries: f.entries, problems: f.problems, opts: opts, self: newSelfFinder(opts.Env, opts.Self),
		names: map[string]*Entry{}, hidden: map[string]*Entry{}, keys: map[string]*Entry{},
		unpinned: map[string]*Entry{}, unknown: map[string]string{},
	}
	m.merge()
	found := m.found()
	found.Plugins, found.Blank, found.Folders, found.off = f.plugins(), f.blank, f.folders, f.off
	found.offThere = f.offThere
	return found
}

// count is called after each file of the user's: what is read behind one that is not known is unsure.
func (f *finder) count() {
	if f.unsure {
		return
	}
	f.sure = len(f.entries)
	f.unsure = len(f.blank) > 0 || slices.ContainsFunc(f.problems, func(p Problem) bool { return p.Unread })
}

// switchOff applies what one file of a client says about the servers of another.
func (f *finder) switchOff() {
	for i := range f.entries {
		e := &f.entries[i]
		for _, off := range f.off[e.Client] {
			if off.means(e) && !(e.Server.Disabled && e.Reason != "") {
				e.Server.Disabled, e.Reason = true, fmt.Sprintf("%q switches it off", off.by)
			}
		}
	}
}

// merger decides which entries count.
type merger struct {
	opts     Options
	self     *selfFinder
	entries  []Entry
	problems []Problem
	names    map[string]*Entry // by what they are called
	hidden   map[string]*Entry // by program and name: the entry that hides others
	keys     map[string]*Entry // by what they start
	unpinned map[string]*Entry // by what they start, whatever the version
	unknown  map[string]string // by name, what an entry of the user's starts that has a mistake; "" is not known
	mistaken []*Entry          // of which it is not known whether they are one with another
}

// merge judges the entries that have a say first, then those of a project that is not approved.
func (m *merger) merge() {
	var waiting []*Entry
	for i := range m.entries {
		e := &m.entries[i]
		e.Server.Own = isOwn(e.Client) && e.Scope != Project
		switch {
		case e.Status == Invalid:
			m.mistake(e)
			if before, twice := m.unknown[e.Written]; e.Scope != Project && (!twice || before == e.key) {
				m.unknown[e.Written] = e.key
			} else if e.Scope != Project {
				m.unknown[e.Written] = ""
			}
			continue
		case e.Status == Elsewhere:
			continue
		case m.isSelf(e):
			continue
		}
		e.Aggregator = aggregator(e.Server)
		e.key, e.unpinned = identity(*e, m.opts.Env)
		if e.Scope == Project && e.Server.EnvFile != "" {
			e.Server.EnvHash = hashEnvFile(e.Server)
		}
		if !m.opts.Approvals.Approved(*e) {
			waiting = append(waiting, e)
			continue
		}
		m.judge(e)
	}
	for _, e := range waiting {
		if first, same := m.keys[e.key]; same {
			m.duplicate(e, first)
			continue
		}
		if first, hides := m.hidden[program(e)+"\x00"+e.Written]; hides {
			m.shadow(e, first)
			continue
		}
		e.Status, e.Reason = NeedsApproval, "it came with the project"
		if pin(*e).Hash == "" {
			e.Status, e.Reason = Invalid, "its file of variables is not a plain file within the project"
			continue
		}
		if m.opts.Approvals.knew(*e) {
			e.Reason = "it has changed since it was approved"
		}
	}
}

// mistake has the name of an entry of the user's count that has a mistake, unless another one hides it: it is that of
// what the entry starts if all is there that decides, else perhaps that of any that it may start.
func (m *merger) mistake(e *Entry) {
	if _, hides := m.hidden[program(e)+"\x00"+e.Written]; hides || !e.mistaken {
		return
	}
	if e.tells == tellsAll && !e.restricts && !isOwn(e.Client) {
		e.key, _ = identity(*e, m.opts.Env)
		e.folded = true
		return
	}
	m.mistaken = append(m.mistaken, e)
}

func (m *merger) isSelf(e *Entry) bool {
	reason := m.self.reason(e.Server)
	e.StartsSelf = reason != ""
	if !e.StartsSelf || m.opts.Servers.AllowSelf {
		return false
	}
	e.Status, e.Reason = SelfReference, reason
	return true
}

// program is what hides by name within itself.
func program(e *Entry) string {
	if isOwn(e.Client) {
		return ""
	}
	return e.Client
}

func (m *merger) judge(e *Entry) {
	place := program(e) + "\x00" + e.Written
	if first, ok := m.hidden[place]; ok && (isOwn(e.Client) || first.key != e.key) {
		m.shadow(e, first)
		return
	} else if !ok {
		m.hidden[place] = e
	}
	if first, ok := m.keys[e.key]; ok && isOneWith(e, first) {
		m.duplicate(e, first)
		e.folded = true
		if own := e.Scope != Project || first.Scope == Project; own && !isOwn(first.Client) && first.narrower == nil {
			first.narrower = e.Server.Sandbox
		}
		return
	}
	m.keys[e.key] = e
	if other, ok := m.unpinned[e.unpinned]; ok && other.key != e.key {
		note(e, "%q in %s starts another version of the same", other.Server.Name, other.Place())
		note(other, "%q in %s starts another version of the same", e.Written, e.Place())
	}
	m.unpinned[e.unpinned] = e
	m.call(e)
	switch {
	case e.Server.Disabled:
		e.Status = Disabled
	default:
		e.Status, e.Reason, e.Ways = m.opts.unmet(e.Server)
	}
}

// isOneWith says whether an entry is one with another that starts the same. In codemode's own files two are two, as
// they were written; but a project's are not a second one of a server that its user has elsewhere, whose names would
// not hold for it.
func isOneWith(e, first *Entry) bool {
	return !isOwn(e.Client) || e.Scope == Project && (first.Scope != Project || !isOwn(first.Client))
}

// unsure says whether another entry may have a name before this one: in a file that is not known, or with a mistake.
func (m *merger) unsure(e *Entry) bool {
	key, taken := m.unknown[e.Written]
	return e.unsure || taken && key != e.key
}

// call gives an entry the name it is asked for by.
func (m *merger) call(e *Entry) {
	first, taken := m.names[e.Written]
	name := e.Written
	unsure := m.unsure(e)
	qualified := isQualified(e.Written)
	if taken || unsure || qualified {
		name = e.Written + "@" + e.Client
		for n := 2; m.names[name] != nil; n++ {
			name = fmt.Sprintf("%s@%s-%d", e.Written, e.Client, n)
		}
	}
	switch {
	case qualified:
		note(e, "it is called %q here, since %q is how codemode calls a server of another file", name, e.Written)
	case taken:
		note(e, "it is called %q here, since %q is the one in %s", name, e.Written, first.Place())
	case unsure:
		m.names[name] = e // which nothing else is called meanwhile
		e.Server.Doubted = map[string]string{e.Written: name}
		name = e.Written
	}
	e.Server.Name = name
	m.names[name] = e
}

// isQualified says whether a name has the form NAME@CLIENT, by which codemode tells servers of one name apart: what
// policy says of it is about that client's server, which need not be there now.
func isQualified(name string) bool {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return false
	}
	id := strings.TrimRight(name[at+1:], "-0123456789")
	return isOwn(id) || slices.ContainsFunc(Clients(), func(c Client) bool { return strings.EqualFold(c.ID, id) })
}

func (m *merger) shadow(e, first *Entry) {
	e.Status, e.Of = Shadowed, first.Server.Name
	if first.Status == Duplicate {
		e.Of = first.Of
	}
	e.Reason = fmt.Sprintf("server %q is hidden by the one of that name in %q", e.Written, first.Server.Source)
	if isOwn(e.Client) && e.Scope != Project && e.key != first.key {
		note(first, "it hides the one of that name in %q", e.Server.Source)
	}
}

// duplicate folds an entry into the one that starts the same. What one program has switched off and another
// on is on; but what codemode is told itself counts as it is.
func (m *merger) duplicate(e, first *Entry) {
	e.Status, e.Of = Duplicate, first.Server.Name
	e.Reason = fmt.Sprintf("%q in %s starts the same", first.Server.Name, first.Place())
	first.AlsoIn = append(first.AlsoIn, e.Place())
	if e.Server.Disabled == first.Server.Disabled || isOwn(first.Client) || e.Client == first.Client ||
		e.Scope == Project {
		return
	}
	note(first, "it is switched off in one of %s and %s, and on in the other", first.Place(), e.Place())
	if first.Status == Disabled {
		first.Server.Disabled = false
		first.Status, first.Reason, first.Ways = m.opts.unmet(first.Server)
	}
}

func note(e *Entry, format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// otherNames are, by what is started, the names of the entries that are one with another: as they are called in their
// files, or, where another server is called so, as they would be if nothing else started the same.
func (m *merger) otherNames() map[string][]string {
	also := map[string][]string{}
	for _, e := range m.entries {
		if !e.folded {
			continue
		}
		for _, name := range append([]string{m.otherName(e)}, m.qualified(e)...) {
			if !slices.Contains(also[e.key], name) {
				also[e.key] = append(also[e.key], name)
			}
		}
	}
	return also
}

// qualified is the name of a client's server by which it can be told from all others, whether or not one of them has
// its name here: a rule by it holds in each folder. Nobody else is called so. A project's has it as doubt says.
func (m *merger) qualified(e Entry) (names []string) {
	name := e.Written + "@" + e.Client
	if other := m.names[name]; e.Scope == Project || other != nil && other.key != e.key {
		return nil
	}
	return []string{name}
}

func (m *merger) otherName(e Entry) string {
	if other, taken := m.names[e.Written]; taken && other.key != e.key || isQualified(e.Written) {
		return e.Written + "@" + e.Client
	}
	return e.Written
}

// doubt adds the names of an entry, and of others that are one with it, that may mean another server: one that is not
// known, or the user's own where a project's has its name.
func (m *merger) doubt(e *Entry) {
	add := func(name, instead string) {
		if e.Server.Doubted == nil {
			e.Server.Doubted = map[string]string{}
		}
		e.Server.Doubted[name] = instead
	}
	for i := range m.entries {
		x := &m.entries[i]
		if x != e && (!x.folded || x.key != e.key) {
			continue
		}
		qualified := x.Written + "@" + x.Client
		if x.Scope == Project && m.names[qualified] == nil && !slices.Contains(e.Server.Also, qualified) {
			add(qualified, qualified)
		}
		if x != e && m.names[x.Written] == nil && m.unsure(x) {
			add(x.Written, qualified)
		}
	}
}

// perhaps are the entries with a mistake that may be one with another. Two of codemode's own never are.
func (m *merger) perhaps(e Entry) (list []Mistaken) {
	for _, x := range m.mistaken {
		if isOwn(x.Client) && isOwn(e.Client) {
			continue
		}
		same := func(key string) bool { return slices.Contains(e.programs(m.opts.Env), key) }
		if x.tells == tellsNothing || slices.ContainsFunc(x.programs(m.opts.Env), same) {
			list = append(list, Mistaken{m.otherName(*x), x.Written, x.Server.Source, x.restricts})
		}
	}
	return list
}

// restrictions are those that an entry runs behind. In another program's file they can only be more than the user's
// own settings give it, and of entries that are one with each other one is enough that asks for them.
func (m *merger) restrictions(e *Entry) *config.Restrictions {
	server := e.Server
	if isOwn(e.Client) {
		return m.opts.Servers.RestrictionsOf(server)
	}
	server.Sandbox = nil
	if named := m.opts.Servers.RestrictionsOf(server); named != nil {
		return named
	}
	return cmp.Or(e.Server.Sandbox, e.narrower)
}

// found lists what was decided.
func (m *merger) found() Found {
	found := Found{Entries: m.entries, Problems: m.problems, Servers: slices.Grow([]config.Server(nil), len(m.names))}
	also := m.otherNames()
	for i := range m.entries {
		e := &m.entries[i]
		if e.Counts() {
			own := func(name string) bool { return name == e.Server.Name }
			e.Server.Also = slices.DeleteFunc(slices.Concat(m.qualified(*e), also[e.key]), own)
			if e.Scope == Project || len(e.Server.Also) > 0 {
				m.doubt(e)
			}
			e.Perhaps = m.perhaps(*e)
		}
		e.Restrictions = m.restrictions(e)
		switch {
		case e.Status == SelfReference:
			found.Skipped = append(found.Skipped, Skipped{e.Server, e.Reason})
		case e.Counts():
			s := e.Server // the entry's own stays as it was written, for an approval pins that
			s.Sandbox = e.Restrictions
			found.Servers = append(found.Servers, s)
		}
	}
	return found
}
