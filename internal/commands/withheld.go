package commands

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// withheld is the status of a server that is not started while a file of the user's cannot be read: what is said of it
// there is not known.
const withheld clientcfg.Status = "withheld"

// doubt is what is not known while a file of the user's cannot be read, or is empty: any server may have another name
// there, which a rule has, whatever else is called so, and what is codemode's own may restrict those that other
// programs have, too. The zero value is that all is known.
type doubt struct {
	file   string // which may have other names
	is     string // what is wrong with it
	others string // why those of other programs' files are withheld that have no restrictions
}

func (t *tenancy) doubts() (d doubt) {
	for _, p := range t.found.Problems {
		if p.Restricts && p.Own() {
			d.others = fmt.Sprintf("%q may restrict it, and cannot be read", p.File)
		}
	}
	d.file, d.is = t.unreadFile()
	return d
}

// unreadFile is one of the user's files of servers that cannot be read, or is empty, and which of both; there may be
// none.
func (t *tenancy) unreadFile() (file, is string) {
	for _, p := range t.found.Problems {
		if p.Unread {
			return p.File, "cannot be read (see codemode doctor)"
		}
	}
	if len(t.found.Blank) > 0 {
		return t.found.Blank[0], "is empty (write it, or remove it)"
	}
	return "", ""
}

// why is the reason why a server is withheld, if it is: what mcp.exclude and mcp.sandbox are about is a whole server.
func (d doubt) why(e clientcfg.Entry, rules config.Servers) string {
	own := isOwn(e) && e.Server.Project == ""
	settled := own && (e.Server.Sandbox != nil || e.Server.NoSandbox) ||
		e.Restrictions != nil && reflect.DeepEqual(*e.Restrictions, config.Restrictions{})
	rule := rules.Limits(e.Server, settled)
	switch {
	case rule != "" && d.file != "":
		return fmt.Sprintf("%s may be about it: %q may have it by that name, and %s", rule, d.file, d.is)
	case !isOwn(e) && e.Restrictions == nil:
		return d.others
	}
	return ""
}

// names is why policy takes each name in its limits for one of the server's; empty where all of these are known. Code
// is told it, so it names no folder but the user's home.
func (d doubt) names(home string) string {
	if d.file == "" {
		return ""
	}
	shown := filepath.Base(d.file)
	if rest, ok := strings.CutPrefix(d.file, home+string(filepath.Separator)); ok && home != "" {
		shown = filepath.Join("~", rest)
	}
	return fmt.Sprintf("%q %s", shown, d.is)
}
