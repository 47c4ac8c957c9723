// Package clientcfg is the files in which people configure MCP servers, codemode's own and those of AI
// clients: it finds and reads them, and says of every entry whether it can be used and why not.
//
// It never starts a process, never prints and never follows what an entry says. One bad entry costs only
// itself, one bad file only itself: what is wrong comes back as [Problem] values beside what is right. An
// entry that came with a project counts only once its user has approved it, see [Approvals].
// Everything here is a function of its arguments and the files; nothing needs closing.
package clientcfg

import (
	"fmt"
	"slices"

	"codemode/internal/config"
)

// A Problem is a file or an entry that cannot be used, or not as it is meant.
type Problem struct {
	Client string // source the file belongs to, see [Sources]
	File   string
	Line   int    // 0 when the whole file is meant
	Column int    // 0 when the whole line is meant
	Server string // empty when the file is meant
	Err    error  // never holds a value of the file: those may be secret

	// Unread says that servers of the user's may stand there that are not known, since it could not be read as a whole.
	Unread bool

	// Restricts says that what cannot be read may restrict a server, which other files may have, too.
	Restricts bool
}

func (p Problem) Error() string {
	switch {
	case p.Line == 0:
		return fmt.Sprintf("reading servers file %q: %v", p.File, p.Err)
	case p.Column == 0:
		return fmt.Sprintf("reading servers file %q: line %d: %v", p.File, p.Line, p.Err)
	}
	return fmt.Sprintf("reading servers file %q: line %d, column %d: %v", p.File, p.Line, p.Column, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

// Own says whether the problem is in a place that is codemode's own, which every command tells. Those in
// the files of other programs are for the commands that are about servers.
func (p Problem) Own() bool { return isOwn(p.Client) }

// A Scope says whose an entry is.
type Scope string

// The scopes. Entries of a project's files are untrusted until the user approves them.
const (
	User    Scope = "user"    // for everything the user does
	Local   Scope = "local"   // the user's, for one project
	System  Scope = "system"  // the machine's
	Project Scope = "project" // came with the project
)

// A Status says what becomes of an entry.
type Status string

// The statuses.
const (
	Ready         Status = "ready"
	Disabled      Status = "disabled"       // switched off where it is configured
	NeedsInput    Status = "needs-input"    // refers to what is not set
	NeedsProgram  Status = "needs-program"  // the program that it starts is not there
	NeedsSignIn   Status = "needs-sign-in"  // its server has answered that its user must sign in, and nobody has
	NeedsApproval Status = "needs-approval" // came with the project, and the user has not approved it as it is now
	SelfReference Status = "self-reference" // would start codemode, or the program it replaces, again
	Duplicate     Status = "duplicate-of"   // another entry starts the same
	Shadowed      Status = "shadowed"       // another entry of the same program has its name
	Elsewhere     Status = "other-project"  // for a project that is not the working directory's
	Invalid       Status = "problem"        // cannot be used
)

// An Entry is one server in one file.
type Entry struct {
	Server       config.Server // Server.Name is what it is called here, such as "github@cursor"
	Written      string        // its name in the file
	Client       string        // source the file belongs to, see [Sources]
	Scope        Scope
	Line         int // of Server.Source; 0 is unknown
	Status       Status
	Reason       string               // why it has this status; empty for what is ready
	Ways         []string             // out of NeedsInput, where they are known
	Of           string               // Duplicate and Shadowed: what the entry that counts is called
	AlsoIn       []string             // what else starts the same, as "cursor (user)"
	Aggregator   string               // the program that offers other servers through this one, if it is one
	Notes        []string             // what is odd, none of which keeps it from being used
	Restrictions *config.Restrictions // those it runs behind, by its own word or by mcp.sandbox; nil is none
	StartsSelf   bool                 // it starts codemode, or the program it replaces, which mcp.allow_self may allow
	Texts        []string             // Invalid: all that it has, for what another program may start of it is not known
	Perhaps      []Mistaken           // what may be one with it

	column   int
	key      string               // what it starts, see identity
	unpinned string               // the same, without package versions
	narrower *config.Restrictions // those of an entry that is one with this
	folded   bool                 // it is Duplicate, and has a say: no project's that is not approved
	unsure   bool                 // a file of the user's before its own is not known
	noValues bool                 // it says nothing but whether a server of this name is on
	explicit string               // the folder the entry itself names to start in
	envFile  string               // the file of variables as it is written

	mistaken  bool  // it is Invalid by a mistake, and the user's: another program may start it all the same
	tells     tells // of what is mistaken
	restricts bool  // it has fields about a sandbox
}

// tells is how much of what makes two entries one is without a mistake.
type tells int

const (
	tellsNothing tells = iota
	tellsProgram       // with its arguments, or the address
	tellsAll
)

// Mistaken is an entry of the user's with a mistake, by which it is not known whether it is one with another.
type Mistaken struct {
	Name      string // that would count if it were, see config.Server.Also
	Written   string
	File      string
	Restricts bool // it has fields about a sandbox
}

// Place is where the entry is, for people.
func (e Entry) Place() string { return fmt.Sprintf("%s (%s)", e.Client, e.Scope) }

// Plugins are files that came with the plugins of a client. What they say has a meaning only within that.
type Plugins struct {
	Client string // its title
	Files  []string
}

// Skipped is an entry that would start codemode, or the program it replaces, again.
type Skipped struct {
	Server config.Server
	Reason string // what gave it away
}

// Found is what the sources hold together.
type Found struct {
	Entries  []Entry   // all of them, in the order of precedence
	Problems []Problem // in the order of the files
	Blank    []string  // files of the user's with nothing in them, which somebody may be about to write

	Plugins []Plugins // of clients that have any, whose servers they alone can start

	Folders []string // with Env.AllProjects: those for which a client's file of the user's has servers, or some off

	Servers []config.Server // of Entries, those that can be asked for by name, disabled ones included
	Skipped []Skipped       // of Entries, the self-references

	off, offThere map[string][]switchOff // see finder
}

// Named are the entries that a user can mean by a name: the one that is called so here, else, when nothing is,
// all whose name is that in their files.
func (f Found) Named(name string) (entries []Entry) {
	for _, e := range f.Entries {
		if e.Server.Name == name && e.Counts() {
			return []Entry{e}
		}
		if e.Written == name {
			entries = append(entries, e)
		}
	}
	return entries
}

// SwitchesOff says whether a file of its client's has an entry off that need not be among these.
func (f Found) SwitchesOff(e Entry) bool {
	return slices.ContainsFunc(f.off[e.Client], func(off switchOff) bool { return off.means(&e) })
}

// NarrowedBy is the project's file by which its client has an entry of the user's off, or fewer of its tools, where the
// project is open; empty is none.
func (f Found) NarrowedBy(e Entry) string {
	e.Status = Ready
	for _, off := range f.offThere[e.Client] {
		if e.Scope != Project && off.means(&e) {
			return off.by
		}
	}
	for _, o := range f.Entries {
		narrows := o.Server.Disabled || o.Server.ToolsAllow != nil || len(o.Server.ToolsDeny) > 0 || o.Status == Invalid
		if narrows && o.Scope == Project && e.Scope != Project && o.Client == e.Client && o.Written == e.Written {
			return o.Server.Source
		}
	}
	return ""
}

// Counts says whether the entry can be asked for by name.
func (e Entry) Counts() bool {
	switch e.Status {
	case Ready, Disabled, NeedsInput, NeedsProgram, NeedsSignIn:
		return true
	}
	return false
}
