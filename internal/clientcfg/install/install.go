// Package install puts codemode into the configuration files of AI clients, and takes it out again so that every
// byte is as it was.
//
// It changes the bytes of one entry and no others, keeps what a file was in the folder of its ledger, and writes a
// file only as a whole and only while nobody else has changed it. It starts no process and prints nothing: what was
// done, and what the user should know of it, comes back as [Result] values. Nothing needs closing.
package install

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"codemode/internal/clientcfg"
)

// Installer is where and as what codemode is installed.
type Installer struct {
	Env    clientcfg.Env
	Self   clientcfg.Self // what is known of the codemode that runs
	Exe    string         // what an entry of the user's starts, absolute; see [Executable]
	State  string         // folder for the ledger and backups; empty is a machine where nothing can be kept
	Settle time.Duration  // how long clients that write from memory have to undo what was written
	Adopt  *Adopter       // takes over the other servers of the clients; nil: they stay
	Vault  *Vault         // where the tokens of adopted servers go; nil: they stay in their entries

	// Replace says whether codemode takes the place of an entry that starts the Python original; nil is a no.
	Replace func(clientcfg.Entry) bool

	planned map[string][]secret // a dry run's: those that there would be, by the client's file they come of
	hooks   hooks
}

// A Request is what to put where.
type Request struct {
	Client clientcfg.Client
	Scope  clientcfg.Scope // User or Project
	Name   string          // what codemode is called there
	Tenant string          // whose it is; empty is the default one's, or what an entry says already
	Pass   []string        // variables of the client's environment that codemode gets, too
	Force  bool            // also where the client is not detected, and over a foreign entry
	DryRun bool            // nothing is written
}

// An Action is what became of one file.
type Action string

// The actions.
const (
	Installed Action = "installed"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Removed   Action = "removed"
	Restored  Action = "restored" // servers that went out of the file alone are there again
	Absent    Action = "absent"   // there was nothing to remove
	Refused   Action = "refused"  // nothing was written, by decision
	Failed    Action = "failed"   // it was tried
)

// A Result is what became of one file of a client.
type Result struct {
	Client  string
	Scope   clientcfg.Scope
	Path    string // empty where there is none
	Action  Action
	Err     error    // Refused and Failed: why; but for a ForeignError's it holds no value of the file
	Notes   []string // what the user should know
	Diff    string   // DryRun: what would change, with secrets masked
	Text    []byte   // DryRun: what the file would be
	Backup  string   // what the file was before
	Snippet string   // Refused: what to put there by hand
	Moved   []Moved  // servers that went from one place to the other
	Stayed  []Stayed // servers that adoption left where they are
	Known   bool     // codemode had put itself there

	written bool
	key     []string
	target  *Target
}

// Removed says whether something of codemode's was taken away.
func (r Result) Removed() bool { return r.Action == Removed || r.Action == Restored }

// Done says whether all is as it was asked for.
func (r Result) Done() bool { return r.Action != Refused && r.Action != Failed }

// Reasons why nothing is written. Those of single files are made where they are found.
var (
	errNoState = errors.New(
		"there is no folder to keep in what the file was: neither HOME nor XDG_STATE_HOME names one",
	)
	errChanged   = errors.New("the file has changed meanwhile")
	errBusy      = errors.New("another program changes the file again and again; nothing of ours is in it")
	ErrReverted  = errors.New("it was written, and reverted by the client")
	ErrNotFound  = errors.New("the client is not installed here")
	errNoProject = errors.New("there is no project here: your home folder is none")
	errNoPass    = errors.New(
		"its entries hold variables only by value, so none can be passed on; " +
			"codemode's own servers can have them in [servers.NAME.env]",
	)
)

// A ForeignError is an entry under codemode's name that codemode has not written.
type ForeignError struct {
	Name string

	Command []string // what it starts, where that is codemode, but as a project's file says, which is a stranger's
	Differs []string // its members that are not as codemode would write them
}

func (e *ForeignError) Error() string {
	if e.Command == nil {
		return fmt.Sprintf("there is a server called %q that does not start codemode", e.Name)
	}
	return fmt.Sprintf(
		"the server called %q is not one that you have installed: it starts %s, and differs from what install writes in %s",
		e.Name, strings.Trim(fmt.Sprintf("%q", e.Command), "[]"), quotedNames(e.Differs),
	)
}
