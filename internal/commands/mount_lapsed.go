package commands

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/sandbox/mount"
)

// unread has nothing be given to be changed while a file of the user's cannot be read, or is empty, or missing behind a
// link: whatever the servers in it are started from, code could change it, until the file is as it should be.
func (t *tenancy) unread() (list []mount.Start) {
	add := func(file, why string) {
		list = append(list, mount.Start{
			Path: string(filepath.Separator), Within: true,
			Why: fmt.Sprintf("what servers in %q are started from is not known", file), Do: "mend it: " + why,
		})
	}
	for _, p := range t.found.Problems {
		if p.Unread {
			add(p.File, p.Err.Error())
		}
	}
	for _, file := range t.found.Blank {
		add(file, "it is empty; write it, or remove it")
	}
	for _, file := range clientcfg.UserFiles(t.machine()) {
		if link := clientcfg.DanglingLink(file); link != "" {
			add(file, fmt.Sprintf("%q is a link to nothing", link))
		}
	}
	if t.unapproved != nil {
		add(t.approvalsFile(), t.unapproved.Error())
	}
	return list
}

// startsOfTexts are the paths from which another program may start a server whose entry is a mistake here: any of its
// words may be of its program, its folder, an argument.
func (t *tenancy) startsOfTexts(e clientcfg.Entry) (list []mount.Start) {
	by := fmt.Sprintf("server %q", e.Server.Name)
	home, _ := t.home()
	base := cmp.Or(e.Server.Project, home)
	search := lookFrom(base, lookIn(t.env, t.env.get("PATH")))
	for _, text := range e.Texts {
		text = os.Expand(text, func(name string) string { return t.env.get(strings.TrimPrefix(name, "env:")) })
		for _, word := range append([]string{text}, strings.Fields(text)...) {
			list = append(list, t.startsAt(fromHome(word, home), base, by, true, false)...)
			list = append(list, t.programs(by, search, word)...)
		}
	}
	return list
}

// hasAsApproved tells whether an entry is there as its user has agreed to it.
func (t *tenancy) hasAsApproved(approved clientcfg.Entry) bool {
	return slices.ContainsFunc(t.found.Entries, func(e clientcfg.Entry) bool {
		return approved.Same(e) && t.approvals.Approved(e)
	})
}

// lapsed are the projects of entries that are not there as they were approved. What they started is not known any more;
// code that may change the folder could write them back, with another program, and nobody would be asked.
func (t *tenancy) lapsed(approved []clientcfg.Entry) (list []mount.Start) {
	for _, e := range approved {
		name := hint.Word(e.Written)
		if t.config.Tenant != config.DefaultTenant {
			name = "--tenant " + hint.Word(t.config.Tenant) + " " + name
		}
		list = append(list, mount.Start{
			Path: e.Server.Project, Within: true,
			Why: fmt.Sprintf("server %q was approved in %q, where it is not as it was: code could have it started again,"+
				" with another program", e.Written, e.Server.Source),
			Do: fmt.Sprintf("in %s: codemode servers revoke %s, or, to have it as it is there now, codemode servers approve %s",
				hint.Word(e.Server.Project), name, name),
		})
	}
	return list
}
