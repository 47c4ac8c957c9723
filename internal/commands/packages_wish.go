package commands

import (
	"fmt"
	"slices"

	"codemode/internal/hint"
	"codemode/internal/packages"

	"github.com/urfave/cli/v3"
)

// wish is what the tenant has, and what is asked for beside it. A name that is there already is resolved again.
func (t *tenancy) wish(cmd *cli.Command, old *packages.Lock, asked []string) (packages.Wish, error) {
	had := old.Asked()
	w := packages.Wish{Index: t.config.Packages.Index, Cooldown: t.config.Packages.Cooldown}
	for _, dir := range had.FindLinks {
		if old.TakesFrom(dir) { // what stays comes from there; a folder of nothing is not remembered
			w.FindLinks = append(w.FindLinks, dir)
		}
	}
	var names []string
	for _, a := range asked {
		names = append(names, packages.Named(a))
	}
	w.From = had.FromWithout(names)
	if dir := cmd.String("from"); dir != "" {
		w.From = append(w.From, packages.From{Dir: absolute(t.env, dir), Names: names})
	}
	// No index, too, is remembered: names that were kept from one are told to none until its user says so.
	kept := len(had.Requirements) > 0 && had.Index != "" && !cmd.IsSet("index")
	if kept && !packages.SameIndex(had.Index, w.Index) {
		w.Index = had.Index
	}
	if cmd.Bool("no-index") {
		w.Index = packages.NoIndex
	}
	for _, dir := range t.findLinks(cmd) {
		if !slices.Contains(w.FindLinks, dir) {
			w.FindLinks = append(w.FindLinks, dir)
		}
	}
	for _, r := range had.Requirements {
		if !slices.ContainsFunc(asked, func(a string) bool { return packages.Named(a) == packages.Named(r) }) {
			w.Requirements = append(w.Requirements, r)
		}
	}
	for _, a := range asked {
		if !slices.Contains(w.Requirements, a) {
			w.Requirements = append(w.Requirements, a)
		}
	}
	return w, t.mayTell(cmd, w)
}

// mayTell refuses to have a Python that was named for this command alone, as one in a stranger's project is, run pip
// with the password of an index.
func (t *tenancy) mayTell(cmd *cli.Command, w packages.Wish) error {
	if !cmd.IsSet("python") || !w.HasPassword() {
		return nil
	}
	return hint.New(
		fmt.Sprintf(
			"the Python of --python, %q, would run pip, which is told the password of the index; nothing was added",
			t.config.Sandbox.Python,
		),
		"where that Python is yours, say so in config.toml: sandbox.python",
		"codemode's own has the password: leave out --python",
	)
}

// findLinks are the folders that a command names.
func (t *tenancy) findLinks(cmd *cli.Command) (list []string) {
	for _, dir := range cmd.StringSlice("find-links") {
		list = append(list, absolute(t.env, dir))
	}
	return list
}
