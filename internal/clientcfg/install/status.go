package install

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
)

// A State is how things stand with one client.
type State string

// The states.
const (
	NotDetected State = "not detected"
	NotThere    State = "absent" // the client is here, without codemode
	IsInstalled State = "installed"
	StalePath   State = "stale path" // it starts a codemode that is not there, or is another
	Customised  State = "customised" // its user has changed what it says
	Shadowed    State = "shadowed"   // another entry of the name wins
	Off         State = "disabled"
	Unreadable  State = "unreadable"
	Foreign     State = "foreign"  // the name is somebody else's
	NotRead     State = "not read" // macOS would ask its user
)

// A Standing is the state of one file of a client.
type Standing struct {
	Client  string
	Title   string
	Scope   clientcfg.Scope
	Path    string
	State   State
	Remark  string
	Command []string // what the entry starts, with secrets masked
}

// Status says of every file of a client how things stand. named is whether the user has asked for this client.
func (i *Installer) Status(req Request, named bool) []Standing {
	c := &req.Client
	req.Name = cmp.Or(req.Name, DefaultName)
	base := Standing{Client: c.ID, Title: c.Title, Scope: req.Scope}
	targets, err := i.Targets(req)
	if err != nil {
		base.State, base.Remark = NotDetected, err.Error()
		return []Standing{base}
	}
	l, err := i.readLedger()
	if err != nil {
		l = &ledger{}
	}
	var list []Standing
	for _, t := range targets {
		s := base
		s.Path = t.Path
		switch {
		case !t.Detected:
			s.State = NotDetected
		case c.Install.Private && i.Env.OS == "darwin" && !named:
			s.State, s.Remark = NotRead, "macOS asks you before it is read; name it to have it looked at"
		default:
			i.look(&s, req, t, l)
		}
		list = append(list, s)
	}
	return list
}

// look reads a file for its state.
func (i *Installer) look(s *Standing, req Request, t Target, l *ledger) {
	f, err := t.open()
	var doc *splice.Document
	if err == nil {
		doc, err = splice.Parse(f.data, t.format)
	}
	if err != nil {
		s.State, s.Remark = Unreadable, err.Error()
		return
	}
	defer func() { // whatever else there is, beside it codemode is a second run_python
		if list := i.originalsIn(t, f, doc); len(list) > 0 {
			names := make([]string, len(list))
			for n, o := range list {
				names[n] = o.entry.Written
			}
			remark := quotedNames(names) + " starts the Python original, whose place install can take"
			s.Remark = strings.TrimPrefix(s.Remark+"; "+remark, "; ")
		}
	}()
	key := append(slices.Clone(keyOf(t.Client, doc)), req.Name)
	value, ok := doc.Get(key)
	if !ok {
		s.State = NotThere
		return
	}
	entry, _ := value.(map[string]any)
	cmd := commandOf(entry)
	shown := clientcfg.Masked(serverOf(cmd))
	s.Command = append([]string{shown.Command}, shown.Args...)
	shadows := i.shadows(req, t, doc)
	record := l.find(f.path, key)
	customised := record != nil && hashOf(doc, key) != record.Entry ||
		record == nil && i.differs(t.Client, req.Name, entry, cmd) ||
		record == nil && t.Scope == clientcfg.Project && cmd.program != i.command(req, t).program // one of its own
	switch {
	case !i.isOurs(entry):
		s.State, s.Remark = Foreign, fmt.Sprintf("%q starts something else", req.Name)
	case isOff(entry):
		s.State = Off
	case len(shadows) > 0:
		s.State, s.Remark = Shadowed, "by a server of that name in "+strings.Join(shadows, ", ")
	case i.isStale(cmd):
		s.State, s.Remark = StalePath, fmt.Sprintf("it starts %q", cmd.program)
	case customised && t.Scope == clientcfg.Project:
		s.State, s.Remark = Foreign, fmt.Sprintf(
			"%q starts %q, but not as you have installed it", req.Name, cmd.program,
		)
	case customised:
		s.State = Customised
	default:
		s.State = IsInstalled
	}
}

// isStale says whether an entry's program is an absolute path to nothing, or to another file than this codemode.
func (i *Installer) isStale(cmd command) bool {
	if !isAbsolute(cmd.program) {
		return false
	}
	if _, err := os.Stat(cmd.program); err != nil {
		return fileerr.IsMissing(err)
	}
	return i.Exe != "" && cmd.program != i.Exe && !sameFile(cmd.program, i.Exe) &&
		clientcfg.StartsCodemode(serverOf(cmd), i.Env, clientcfg.Self{})
}

// differs says whether an entry has more in it than codemode writes, or other arguments.
func (i *Installer) differs(c *clientcfg.Client, name string, entry map[string]any, cmd command) bool {
	if !slices.Equal(cmd.args, []string{"serve"}) {
		return true
	}
	usual := map[string]bool{"type": true, "enabled": true}
	for _, m := range members(c, name, cmd, false) {
		usual[m.Key] = true
	}
	for key, v := range entry {
		if inner, ok := v.(map[string]any); !usual[key] && !(ok && len(inner) == 0) {
			return true
		}
	}
	return false
}
