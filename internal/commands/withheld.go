package commands

import (
	"fmt"
	"maps"
	"slices"

	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
)

// withheld is the status of a server that is not started while a file of the user's cannot be read: what is said of it
// there is not known.
const withheld clientcfg.Status = "withheld"

// doubt is why servers are withheld; the zero value is that none are.
type doubt struct {
	all    string // of every server
	others string // of those of other programs' files that have no restrictions
}

// doubts says what is not known while a file of the user's cannot be read, or is empty: a server may be called by
// another name there, which a rule has, and what is codemode's own may restrict those that other programs have, too.
func (t *tenancy) doubts() (d doubt) {
	for _, p := range t.found.Problems {
		if p.Restricts && p.Own() {
			d.others = fmt.Sprintf("%q may restrict it, and cannot be read", p.File)
		}
	}
	file := t.unreadFile()
	if file == "" {
		return d
	}
	var names []string
	for _, e := range t.found.Entries {
		names = append(append(names, e.Written), e.Server.Names()...)
	}
	if idle := t.config.IdleLimits(names, slices.Collect(maps.Values(catalog.Aliases(names)))); len(idle) > 0 {
		d.all = fmt.Sprintf("%s may be about it: %q may have it by that name, and cannot be read", idle[0], file)
	}
	return d
}

// unreadFile is one of the user's files of servers that cannot be read, or is empty; there may be none.
func (t *tenancy) unreadFile() string {
	for _, p := range t.found.Problems {
		if p.Unread {
			return p.File
		}
	}
	if len(t.found.Blank) > 0 {
		return t.found.Blank[0]
	}
	return ""
}

// why is the reason why a server is withheld, if it is.
func (d doubt) why(e clientcfg.Entry) string {
	if d.all == "" && !isOwn(e) && e.Restrictions == nil {
		return d.others
	}
	return d.all
}
