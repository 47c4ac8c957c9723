package commands

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/config"
)

// A view is what code of one tenant can call in one folder, as files are or would be.
type view struct {
	found    clientcfg.Found
	at       map[entryAt]*clientcfg.Entry
	named    map[string]*clientcfg.Entry // those that a server is called by
	callable map[string]bool             // by name
	aliases  map[string]string           // in code, by name: some have a number, for another server was there first
}

// entryAt tells an entry of a file, whatever becomes of it.
type entryAt struct{ source, project, written string }

func placeOf(e clientcfg.Entry) entryAt {
	return entryAt{e.Server.Source, e.Server.Project, e.Written}
}

// view looks anew. overlay is as of clientcfg.Options.
func (t *tenancy) view(overlay map[string][]byte) view {
	t.overlay = overlay
	t.discover()
	v := view{
		found: t.found, callable: setOf(names(t.usable)), at: map[entryAt]*clientcfg.Entry{},
		named: map[string]*clientcfg.Entry{}, aliases: t.aliases,
	}
	for i := range v.found.Entries {
		e := &v.found.Entries[i]
		v.at[placeOf(*e)] = e
		if e.Counts() || e.Status == withheld {
			v.named[e.Server.Name] = e
		}
	}
	return v
}

// server is the entry that counts for one: itself, or the one that it is one with. There may be none.
func (v view) server(e *clientcfg.Entry) *clientcfg.Entry {
	name := e.Server.Name
	if e.Status == clientcfg.Duplicate {
		name = e.Of
	}
	if is := v.named[name]; is == e || e.Status == clientcfg.Duplicate {
		return is
	}
	return nil
}

// A snapshot is of what code of one tenant can call in one folder before servers move from file to file.
type snapshot struct {
	view
	of     *tenancy
	in     string                      // what tells it from others: tenant, folder, whose codemode, which variables
	serves func(client string) bool    // whether it is of the codemode of a client; nil is of none's
	first  map[string]*clientcfg.Entry // what names in code meant before other clients' servers moved
}

// snapshots are of all tenants, and of what clients start codemode as, in this folder, in each that a client has
// servers for, or some off, or of which a tenant has approved something, and elsewhere. planned is an overlay of what
// is to be before, and then what is to be afterwards, as far as it is about what clients start codemode as.
func (t *tenancy) snapshots(planned, then map[string][]byte) (list []snapshot) {
	add := func(of *tenancy, as string, serves func(string) bool) {
		of.allProjects = false
		if of.env.Dir != t.env.Dir {
			as += " in " + quote(of.env.Dir)
		}
		if of.env.isBare {
			as += " without this shell's settings"
		}
		list = append(list, snapshot{view: of.view(planned), of: of, in: as, serves: serves})
	}
	folders, starts := t.started(planned, then)
	for _, dir := range folders {
		for _, of := range t.withoutFlags(t.config.Tenants, dir) {
			as := ""
			if of.config.Tenant != t.config.Tenant {
				as = " for tenant " + quote(of.config.Tenant)
			}
			add(of, as, nil)
		}
		for _, e := range starts {
			if e.Scope == clientcfg.Local && e.Server.Project != dir {
				continue
			}
			for _, env := range t.env.withBare() {
				if of, err := t.startedBy(e, env.in(dir)); err == nil {
					add(of, " as "+titleOf(e)+" starts codemode", func(id string) bool { return id == e.Client })
				}
			}
		}
	}
	for _, env := range t.env.withBare() {
		if of, err := t.startedBy(t.usualEntry(), env); err == nil {
			add(of, "", func(client string) bool {
				return !slices.ContainsFunc(starts, func(e clientcfg.Entry) bool { return e.Client == client })
			})
		}
	}
	return list
}

// started are the entries by which clients start codemode with settings of their own, and the folders to look at, each
// once: with those that are known home, and the root as one that no client has anything for.
func (t *tenancy) started(overlays ...map[string][]byte) (folders []string, entries []clientcfg.Entry) {
	home, _ := t.home()
	folders = []string{t.env.Dir}
	for _, of := range t.withoutFlags(t.config.Tenants, t.env.Dir) {
		for _, of.overlay = range overlays {
			of.discover()
			folders = append(append(folders, of.found.Folders...), of.approvals.Folders()...)
			for _, e := range of.found.Entries {
				known := func(o clientcfg.Entry) bool { return startsSame(o, e) }
				if !t.isCodemode(e) || slices.ContainsFunc(entries, known) {
					continue
				}
				folders = append(folders, t.startsIn(e.Server))
				if hasSettings(e) {
					entries = append(entries, e)
				}
			}
		}
	}
	folders = append(folders, home, filepath.VolumeName(t.env.Dir)+string(filepath.Separator))
	known := map[string]bool{"": true}
	return slices.DeleteFunc(folders, func(dir string) bool {
		defer func() { known[dir] = true }()
		return known[dir]
	}), entries
}

// startsSame says whether two entries are one, that starts codemode alike.
func startsSame(a, b clientcfg.Entry) bool {
	return placeOf(a) == placeOf(b) && slices.Equal(a.Server.Args, b.Server.Args) &&
		maps.Equal(a.Server.Env, b.Server.Env) && a.Server.Cwd == b.Server.Cwd
}

// loosening is what has something held less tightly once servers have moved.
type loosening struct {
	limit, permit string // that holds no more, or does now; none is that it cannot be called, and can then
	alias         string // or what it is called in code, which another was
	deprived      string // or what its client would have no more
	why           string // it cannot: what it is
	was, is       string // what it is called
	in            string // see snapshot
}

// loosened compares how things are, or would be, with how they were. from has the entries that moved, by where they are
// then.
func (b snapshot) loosened(overlay map[string][]byte, from map[entryAt][]clientcfg.Entry) (list []loosening) {
	then := b.of.view(overlay)
	list = b.deprived(then, from)
	for i := range then.found.Entries {
		e := &then.found.Entries[i]
		is := then.server(e)
		if is == nil {
			continue
		}
		origins, moved := from[placeOf(*e)]
		if !moved {
			origins = []clientcfg.Entry{*e}
		}
		for _, origin := range origins {
			for _, entry := range b.entriesOf(origin, moved) {
				for _, l := range b.looserThan(entry, moved, *is, then) {
					l.was, l.is, l.in = titleOf(origin), titleOf(*e), b.in
					list = append(list, l)
				}
			}
		}
	}
	return append(list, b.renamed(then, from)...)
}

// deprived is what clients would have no more.
func (b snapshot) deprived(then view, from map[entryAt][]clientcfg.Entry) (list []loosening) {
	for at, origins := range from {
		is := clientcfg.Entry{Server: config.Server{Source: at.source, Project: at.project}, Written: at.written}
		for _, o := range origins {
			needs := b.serves != nil && b.serves(o.Client) && !o.Server.Disabled
			file, deprived := b.found.NarrowedBy(o), ""
			switch {
			case isOwn(o):
			case b.of.isOff(o.Client, o.Scope == clientcfg.Project):
				deprived = "codemode is switched off there, or its run_python is"
			case file != "":
				deprived = fmt.Sprintf("%q has it switched off, or fewer of its tools", file)
			case needs && !then.calls(is):
				deprived = "codemode could not call " + titleOf(o)
			}
			if deprived != "" {
				list = append(list, loosening{deprived: deprived, in: b.in})
			}
		}
	}
	return list
}

// meanings are what names in code mean.
func (v view) meanings() map[string]*clientcfg.Entry {
	means := map[string]*clientcfg.Entry{}
	for name, alias := range v.aliases {
		means[alias] = v.named[name]
	}
	return means
}

// renamed are the names in code that mean another server than before, or than at first.
func (b snapshot) renamed(then view, from map[entryAt][]clientcfg.Entry) (list []loosening) {
	before := map[string]*clientcfg.Entry{}
	maps.Copy(before, b.first)
	maps.Copy(before, b.meanings())
	for _, name := range slices.Sorted(maps.Keys(then.aliases)) {
		alias := then.aliases[name]
		was, is := before[alias], then.named[name]
		if was == nil || clientcfg.SameServer(*was, *is) {
			continue
		}
		origin := func(o clientcfg.Entry) bool { return clientcfg.SameServer(*was, o) }
		if !slices.ContainsFunc(from[placeOf(*is)], origin) {
			list = append(list, loosening{alias: alias, was: titleOf(*was), is: titleOf(*is), in: b.in})
		}
	}
	return list
}

// entriesOf are what a server is compared with that an entry has become: the entry, or where that is for another folder
// alone those that start the same here. nil is that none may be callable, and no element that any may: it is known that
// each folder has what has moved.
func (b snapshot) entriesOf(origin clientcfg.Entry, moved bool) (list []*clientcfg.Entry) {
	if entry := b.at[placeOf(origin)]; entry != nil || !moved {
		return []*clientcfg.Entry{entry}
	}
	named := false
	for i := range b.found.Entries {
		e := &b.found.Entries[i]
		if clientcfg.SameServer(*e, origin) {
			list = append(list, e)
		}
		named = named || e.Client == origin.Client && e.Written == origin.Written
	}
	project := origin.Server.Project
	inside := strings.HasPrefix(b.of.env.Dir+string(os.PathSeparator), project+string(os.PathSeparator))
	if project == "" || inside || b.found.SwitchesOff(origin) || named && len(list) == 0 {
		return []*clientcfg.Entry{nil}
	}
	return list
}

// looserThan is in what a server is less tightly held than an entry was: as the one that this was one with, and, if the
// entry has moved, as it said itself.
func (b snapshot) looserThan(entry *clientcfg.Entry, moved bool, is clientcfg.Entry, then view) (list []loosening) {
	var was *clientcfg.Entry
	if entry != nil {
		was = b.server(entry)
	}
	if was != nil {
		list = b.less(is, *was, then)
	}
	if moved && entry != nil && entry != was {
		list = append(list, b.less(is, *entry, then)...)
	}
	off := moved && entry != nil && entry.Server.Disabled
	if !then.callable[is.Server.Name] || was != nil && !off && b.callable[was.Server.Name] {
		return list
	}
	why := "not callable"
	switch {
	case off, was != nil && was.Server.Disabled:
		why = "switched off"
	case entry == nil:
		why = "not there"
	}
	return append(list, loosening{why: why})
}

// less is in what a server is less tightly held than another was.
func (b snapshot) less(is, was clientcfg.Entry, then view) (list []loosening) {
	beside := b.of.limitsBeside(was.Server.Names(), b.aliases[was.Server.Name])
	for _, limit := range b.of.limitsBeside(is.Server.Names(), then.aliases[is.Server.Name]) {
		if !slices.Contains(beside, limit) {
			list = append(list, loosening{limit: limit})
		}
	}
	if was.Restrictions != nil && !reflect.DeepEqual(was.Restrictions, is.Restrictions) {
		list = append(list, loosening{limit: "the sandbox"})
	}
	old, now := was.Server, is.Server
	limited := old.ToolsAllow != nil || len(old.ToolsDeny) > 0
	if limited && !(slices.Equal(old.ToolsAllow, now.ToolsAllow) && slices.Equal(old.ToolsDeny, now.ToolsDeny)) {
		list = append(list, loosening{limit: "the list of tools"})
	}
	before := b.of.permits(was.Server)
	for _, permit := range b.of.permits(is.Server) {
		if !slices.Contains(before, permit) {
			list = append(list, loosening{permit: permit})
		}
	}
	return list
}

// permits are the patterns by which something of a server may be allowed.
func (t *tenancy) permits(s config.Server) []string {
	return t.config.Permits(slices.DeleteFunc(s.Names(), func(name string) bool {
		_, doubted := s.Doubted[name]
		return doubted
	}))
}

// loosens is why the last of some servers stays with its client; empty is that it may move.
func (s *installation) loosens(c install.Change) string {
	if s.in.Adopt.Choose != nil {
		s.ui.working("comparing what holds for servers")
		defer s.ui.done()
	}
	from := map[entryAt][]clientcfg.Entry{}
	for _, m := range c.Moves {
		at := entryAt{m.File, "", m.As}
		from[at] = append(from[at], m.Entry)
	}
	moving := c.Moves[len(c.Moves)-1].Entry
	planned := s.plannedBut(moving.Server.Source)
	then := maps.Clone(planned)
	maps.Copy(then, c.Files)
	if why := cmp.Or(s.unread(), s.anothers(moving.Client, then), s.unknownSettings(planned, then)); why != "" {
		return why
	}
	for _, b := range s.tenancy.snapshots(planned, then) {
		if _, known := s.first[b.in]; !known {
			s.first[b.in] = b.meanings()
		}
		b.first = s.first[b.in]
		for _, l := range b.loosened(then, from) {
			return l.would()
		}
	}
	if s.request.DryRun {
		s.planned[moving.Server.Source] = c.Files
	}
	return ""
}

// plannedBut is what a dry run has found so far that there would be, but for what comes of one client's file.
func (s *installation) plannedBut(path string) map[string][]byte {
	all := map[string][]byte{}
	for of, files := range s.planned {
		if of != path {
			maps.Copy(all, files)
		}
	}
	return all
}

// calls says whether code can call a server by what an entry of a place says.
func (v view) calls(of clientcfg.Entry) bool {
	e := v.at[placeOf(of)]
	if e == nil {
		return false
	}
	is := v.server(e)
	return is != nil && v.callable[is.Server.Name]
}

// would says what would be if servers moved.
func (l loosening) would() string {
	switch {
	case l.deprived != "":
		return l.deprived + l.in
	case l.alias != "":
		return fmt.Sprintf("mcp_%s is %s%s, and would be %s", l.alias, l.was, l.in, l.is)
	case l.limit != "" && l.was == l.is:
		return fmt.Sprintf("%s holds for %s%s, and would not any more", l.limit, l.was, l.in)
	case l.limit != "":
		return fmt.Sprintf("%s holds for %s%s, and would not for %s", l.limit, l.was, l.in, l.is)
	case l.permit != "":
		return fmt.Sprintf("%s does not hold for %s%s, and would for %s", l.permit, l.was, l.in, l.is)
	}
	return fmt.Sprintf("%s is %s%s, and %s could be called", l.was, l.why, l.in, l.is)
}

// warning says what is so since servers have moved.
func (l loosening) warning() string {
	switch {
	case l.alias != "":
		return fmt.Sprintf("mcp_%s was %s%s, and is %s", l.alias, l.was, l.in, l.is)
	case l.limit != "":
		return fmt.Sprintf("%s held for %s%s, and does not for %s", l.limit, l.was, l.in, l.is)
	case l.permit != "":
		return fmt.Sprintf("%s did not hold for %s%s, and does for %s", l.permit, l.was, l.in, l.is)
	}
	return fmt.Sprintf("%s was %s%s, and %s can be called", l.was, l.why, l.in, l.is)
}

// titleOf is an entry's name, and whose it is where it is not codemode's own.
func titleOf(e clientcfg.Entry) string {
	if isOwn(e) {
		return quote(e.Written)
	}
	return quote(e.Written) + " of " + e.Client
}

// warnLoosened tells of what is less tightly held since clients have servers back, or would be.
func (s *installation) warnLoosened(results []install.Result) {
	overlay := map[string][]byte{}
	for _, r := range results {
		if !s.request.DryRun || len(r.Moved) == 0 {
			continue
		}
		overlay[r.Path] = r.Text
		for _, m := range r.Moved {
			if m.Wrote {
				overlay[m.File] = nil
			}
		}
	}
	told := map[string]bool{}
	for _, b := range s.before {
		for _, l := range b.loosened(overlay, b.movedBack(results)) {
			text := l.warning()
			l.in = ""
			if !told[l.warning()] {
				told[l.warning()] = true
				s.ui.warn(text)
			}
		}
	}
}

// movedBack are codemode's own entries of servers that clients have back, whatever they are called by now, by where
// they are then.
func (b snapshot) movedBack(results []install.Result) map[entryAt][]clientcfg.Entry {
	from := map[entryAt][]clientcfg.Entry{}
	for _, r := range results {
		for _, m := range r.Moved {
			var own []clientcfg.Entry
			for _, e := range b.found.Entries {
				is := e.Server.Source == m.File && e.Written == m.As
				for _, t := range m.Tokens {
					is = is || slices.Contains(clientcfg.SecretNames(e.Server), t.Secret)
				}
				if is && isOwn(e) && e.Scope != clientcfg.Project {
					own = append(own, e)
				}
			}
			if len(own) > 0 {
				from[entryAt{r.Path, r.Folder(m), m.Name}] = own
			}
		}
	}
	return from
}
