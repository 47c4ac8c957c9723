package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/servers"
	"codemode/internal/upstream"
)

// findServers is discover, with the error of findOwn.
func (t *tenancy) findServers() error {
	err := t.findOwn()
	if err == nil {
		t.judge()
	}
	return err
}

// findOwn is look, whose error is a file that is not there and that this command line names.
func (t *tenancy) findOwn() error {
	t.look()
	for _, name := range t.cmd.StringSlice("servers-file") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(t.env.Dir, name)
		}
		for _, p := range t.found.Problems {
			if p.File == name && errors.Is(p.Err, fs.ErrNotExist) {
				return p
			}
		}
	}
	return nil
}

func (t *tenancy) machine() clientcfg.Env {
	home, _ := t.home()
	return clientcfg.Env{
		OS: runtime.GOOS, Home: home, WorkDir: t.env.Dir, Lookup: t.env.Lookup, Secrets: t.secretStore().File,
		AllProjects: t.allProjects,
	}
}

// discovery says where servers are looked for.
func (t *tenancy) discovery() clientcfg.Options {
	return clientcfg.Options{
		Env: t.machine(), Servers: t.config.Servers, Sources: t.config.Discovery.Sources, Overlay: t.overlay,
	}
}

// discover looks for servers, again when it has before.
func (t *tenancy) discover() {
	t.look()
	t.judge()
}

// look begins to look for servers: in what is codemode's own, whose problems every command tells.
func (t *tenancy) look() {
	t.basis = basis{began: time.Now()}
	programs := upstream.NewPrograms(t.env.Lookup)
	opts := t.discovery()
	opts.Env.Lookup = t.basis.lookup(opts.Env.Lookup)
	opts.Approvals = t.approvals
	opts.Self = clientcfg.Self{Executable: t.env.Self}
	opts.Secret = t.hasSecret
	opts.Program = programs.Missing
	opts.SignedOut = func(s config.Server) bool { return t.signIns(s).Wanted(s.URL) }
	search := clientcfg.Look(opts)
	t.found = clientcfg.Found{Problems: search.OwnProblems()}
	t.judging = sync.OnceFunc(func() {
		t.found = search.Judge()
		t.basis.programs = programs.Tried()
		t.selectUsable()
	})
}

// judge finds the servers of clients, and says of all what becomes of them, unless that is done.
func (t *tenancy) judge() {
	if t.judging != nil {
		t.judging()
	}
}

// selectUsable says which of the servers found code can be given.
func (t *tenancy) selectUsable() {
	doubt, held, machine := t.doubts(), map[string]bool{}, t.machine()
	unread := doubt.names(machine.Home)
	for i := range t.found.Entries {
		e := &t.found.Entries[i]
		t.noteDoubted(e)
		switch why := cmp.Or(doubt.why(*e, t.config.Servers), t.mistaken(*e)); {
		case !e.Counts() || e.Status == clientcfg.Disabled:
		case why != "":
			held[e.Server.Name] = true
			e.Status, e.Reason = withheld, why
		case unread != "" && t.config.Policy.LimitsNames():
			e.Notes = append(e.Notes, unread+", and may have it by a name that policy.deny or policy.confirm has")
		}
	}
	t.usable = slices.DeleteFunc(t.found.Servers, func(s config.Server) bool {
		return s.Disabled || held[s.Name] || !t.config.Servers.Selects(s)
	})
	t.found.Servers = nil // of many, a copy takes longer than what is done with it
	for i := range t.usable {
		t.usable[i].Stamp = clientcfg.Stamp(t.usable[i], machine)
		t.usable[i].Line = 0 // an entry that has only moved is what it was
		t.usable[i].Unread = unread
	}
	t.aliases = servers.Aliases(t.usable, t.usersOwn()...)
	t.ready = nil
	for _, e := range t.found.Entries {
		if _, usable := t.aliases[e.Server.Name]; usable && e.Status == clientcfg.Ready {
			t.ready = append(t.ready, e.Server.Name)
		}
	}
}

// noteDoubted notes that what allows by the name of a server does not hold for it meanwhile.
func (t *tenancy) noteDoubted(e *clientcfg.Entry) {
	rules := slices.Concat(t.config.Policy.Allow, t.config.Policy.Approved, t.config.Servers.Include)
	for _, name := range slices.Sorted(maps.Keys(e.Server.Doubted)) {
		if len(rules) > 0 && e.Server.Doubted[name] != name {
			e.Notes = append(e.Notes, fmt.Sprintf(
				"%q may be another's, in what cannot be read: policy.allow, policy.approved and mcp.include go by %q",
				name, e.Server.Doubted[name],
			))
		}
	}
}

// usersOwn are the user's own servers, whether they can be used or not.
func (t *tenancy) usersOwn() (list []config.Server) {
	for _, e := range t.found.Entries {
		if e.Server.Project == "" && e.Status != clientcfg.SelfReference {
			list = append(list, e.Server)
		}
	}
	return list
}

// given are the servers that code is given: those that lack a variable or their program would only fail, with each
// call.
func (t *tenancy) given() []config.Server {
	t.judge()
	lacking := setOf(t.lacking(clientcfg.NeedsInput), t.lacking(clientcfg.NeedsProgram))
	if len(lacking) == 0 {
		return slices.Clip(t.usable)
	}
	return slices.DeleteFunc(slices.Clone(t.usable), func(s config.Server) bool { return lacking[s.Name] })
}

// configured are the servers of a bridge that runs code.
func (t *tenancy) configured() *servers.Set { return t.setWith(t.given()) }

// setWith is these servers, with what is known of the others.
func (t *tenancy) setWith(list []config.Server) *servers.Set {
	set := servers.NewSet(list, t.unusable())
	set.Unread = t.unknownSecrets()
	for _, e := range t.found.Entries {
		_, known := set.Named(e.Server.Name)
		if own := t.approvals.Approved(e); own && (!known || !e.Counts()) && e.Status != clientcfg.Invalid {
			set.Others = append(set.Others, e.Server) // a stranger's would take out of the log what a stranger likes
		}
	}
	return set
}

// unknownSecrets is a file of the user's whose servers' values are not known, or one's are not; there may be none.
func (t *tenancy) unknownSecrets() string {
	if file, _ := t.unreadFile(); file != "" {
		return file
	}
	for _, e := range t.found.Entries {
		if e.Status == clientcfg.Invalid && e.Scope != clientcfg.Project {
			return e.Server.Source
		}
	}
	return ""
}

// unusable are the servers that code cannot be given, under each name that they may be asked for by. One that starts
// codemode itself is left out: mending it is not what helps.
func (t *tenancy) unusable() (list []servers.Unusable) {
	known := setOf(names(t.given()))
	for _, e := range t.found.Entries {
		if e.Status == clientcfg.SelfReference {
			continue
		}
		for _, name := range []string{e.Server.Name, e.Written} {
			if !known[name] {
				known[name] = true
				own := e.Server.Project == "" && name == e.Server.Name
				err := &unusableError{t.chosen(e)}
				list = append(list, servers.Unusable{Name: name, Err: err, Own: own, First: e.Server.Own})
			}
		}
	}
	return list
}
