package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/registry"

	"github.com/urfave/cli/v3"
)

// registryFlags are those of add that mean something for a server of the registry alone.
func registryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "`NAME` here of a DOMAIN/NAME; default is its last part", Local: true},
		&cli.StringSliceFlag{
			Name: "set", Usage: "`INPUT=VALUE` that a DOMAIN/NAME asks for; can be repeated", Local: true,
		},
		&cli.StringFlag{
			Name: "from", Usage: "`KIND` of a DOMAIN/NAME: " + strings.Join(registry.FromKinds, ", "), Local: true,
		},
		&cli.BoolFlag{
			Name: "yes", Aliases: []string{"y"}, Usage: "do not ask whether to write a DOMAIN/NAME", Local: true,
		},
	}
}

// onlyRegistry refuses flags where they would mean nothing.
func onlyRegistry(cmd *cli.Command) error {
	for _, name := range []string{"as", "set", "from", "yes"} {
		if cmd.IsSet(name) {
			return &usageError{
				"--" + name + " is for a server of the MCP registry; nothing was written",
				[]string{"codemode servers find WORD...", "flags of the server's command stand behind --"},
			}
		}
	}
	return nil
}

// addOffered writes an entry for a server of the registry, once its user has seen that.
func addOffered(ctx context.Context, env Env, ui *ui, cmd *cli.Command, name string) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	request, err := t.offerRequest(cmd, name)
	if err != nil {
		return err
	}
	if err := t.isFree(request.Local); err != nil {
		return err
	}
	var offered registry.Server
	err = askRegistry(ctx, ui, t.config, func(ctx context.Context, asked *registry.Client) (err error) {
		offered, err = asked.Latest(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	if offered.Status == registry.Deleted {
		what := strings.TrimSuffix("was deleted there: "+cut(offered.Message, maxOffer), ": ")
		return &registry.EntryError{Name: name, What: what}
	}
	made, err := offered.Entry(request)
	if err != nil {
		return err
	}
	entry := made.Fields
	if cwd, _ := t.folder(cmd.String("cwd")); cwd != "" {
		entry["cwd"] = cwd
	}
	if err := errors.Join(transported(entry, cmd.String("transport")), complete(cmd, entry)); err != nil {
		return err
	}
	if err := t.judged(request.Local, entry); err != nil {
		return err
	}
	text, err := encodeEntry(request.Local, entry)
	if err != nil {
		return err
	}
	tellOffer(env, ui, offered, made, text)
	if err := confirmOffer(ctx, env, ui, cmd, text, t.ownFile(request.Local)); err != nil {
		return err
	}
	return addServer(ui, t, cmd, request.Local, entry)
}

// confirmOffer asks whether an entry, which stands right above, is wanted.
func confirmOffer(ctx context.Context, env Env, ui *ui, cmd *cli.Command, entry, file string) error {
	question := fmt.Sprintf("write this as %s?", quote(file))
	switch {
	case cmd.Bool("yes"):
	case !isTerminal(env.Stdin) || !isTerminal(env.Stderr):
		return &exitError{
			exitRefused, errors.New("there is nobody to ask, so nothing was written; with --yes it is done unasked"),
		}
	case !ui.fits(entry + "codemode: " + question + " [y/N] "):
		return &exitError{exitRefused, hint.New(
			"the entry is longer than this terminal shows at once, so you were not asked, and nothing was written",
			"scroll back and read all of it; with --yes it is written unasked",
		)}
	case !ui.askAfresh(ctx, env, question):
		ui.note("note", "nothing was written")
		return exit(exitRefused)
	}
	return nil
}

// offerRequest is what the command line says about a server of the registry.
func (t *tenancy) offerRequest(cmd *cli.Command, name string) (r registry.Request, err error) {
	_, r.Local, _ = strings.Cut(name, "/")
	if cmd.IsSet("as") {
		r.Local = cmd.String("as")
	}
	if !serverFileName().MatchString(r.Local) {
		return r, &usageError{
			"server name " + quote(r.Local) + " must be letters, digits, '.', '-' and '_'",
			[]string{"codemode servers add " + name + " --as NAME"},
		}
	}
	if r.From = cmd.String("from"); r.From != "" && !slices.Contains(registry.FromKinds, r.From) {
		known := strings.Join(registry.FromKinds, ", ")
		return r, &usageError{"--from is " + quote(r.From) + "; there are " + known, nil}
	}
	r.Inputs = map[string][]string{}
	for _, assignment := range cmd.StringSlice("set") {
		label, value, ok := strings.Cut(assignment, "=")
		if !ok || label == "" {
			return r, &usageError{"--set takes INPUT=VALUE", nil} // not quoted: it may be a secret
		}
		r.Inputs[label] = append(r.Inputs[label], value)
	}
	given := map[string]any{}
	if err := complete(cmd, given); err != nil {
		return r, err
	}
	for table, names := range map[string]*[]string{"env": &r.Env, "headers": &r.Header} {
		if values, _ := given[table].(map[string]any); values != nil {
			*names = slices.Sorted(maps.Keys(values))
		}
	}
	find := lookPath(t.env)
	r.Has = func(program string) bool {
		_, err := find(program)
		return err == nil
	}
	return r, nil
}

// judged refuses an entry that could not be used, or starts codemode itself.
func (t *tenancy) judged(local string, entry map[string]any) error {
	data, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	var fields map[string]any // as they are read from a file
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	s, err := config.NewServer(local, fields)
	if err != nil {
		return fmt.Errorf("the MCP registry's entry cannot be used: %w; nothing was written", err)
	}
	self := clientcfg.Self{Executable: t.env.Self}
	if !t.config.Servers.AllowSelf && (clientcfg.StartsCodemode(s, t.machine(), self) || clientcfg.StartsOriginal(s)) {
		return hint.New(fmt.Sprintf("server %q would start codemode itself; nothing was written", local),
			"mcp.allow_self in config.toml allows that")
	}
	return nil
}

// isFree refuses a name that a server has, whoever it is from: an entry of one's own would hide that.
func (t *tenancy) isFree(local string) error {
	for _, e := range t.found.Named(local) {
		return hint.New(
			fmt.Sprintf("server %q is configured in %q already; nothing was written", local, e.Server.Source),
			"choose another name: --as NAME",
		)
	}
	if _, err := os.Lstat(t.ownFile(local)); err == nil {
		return hint.New(fmt.Sprintf("there is a file %q already; nothing was written", t.ownFile(local)),
			"choose another name: --as NAME")
	}
	return nil
}

// ownFile is where add writes a server.
func (t *tenancy) ownFile(local string) string {
	return filepath.Join(t.config.Servers.Dir, local+".json")
}

// tellOffer shows an entry as it would be stored, behind all that is said about it: what is asked for stays in sight.
func tellOffer(env Env, ui *ui, offered registry.Server, made registry.Entry, text string) {
	ui.note("server", strings.TrimSpace(fmt.Sprintf(
		"%s %s: %s", offered.Name, cut(offered.Version, maxName), cut(offered.Description, maxOffer),
	)))
	if offered.Repository.URL != "" {
		ui.note("source", cut(offered.Repository.URL, maxOffer)+", as its publisher says")
	}
	if offered.Status == registry.Deprecated {
		ui.warn(strings.TrimSuffix("it is deprecated: "+cut(offered.Message, maxOffer), ": "))
	}
	if made.Runtime {
		ui.warn("its publisher chose options of the container engine: they decide what the container may use here")
	}
	for _, n := range made.Needs {
		what, state := "variable "+n.Name, "must be set before it starts"
		if n.Flag == "--header" {
			what += ", all that a header says,"
		}
		if v, set := env.Lookup(n.Name); set && v != "" {
			state = "is set here, and would be given to it"
		}
		ui.note("needs", strings.TrimSuffix(fmt.Sprintf("%s %s: %s", what, state, cut(n.About, maxOffer)), ": "))
	}
	for _, n := range made.Optional {
		form := map[string]string{"--header": n.Name + ": VALUE"}[n.Flag]
		if form == "" {
			form = n.Name + "=VALUE"
		}
		about := cut(n.About, maxOffer)
		ui.note("optional", strings.TrimSuffix(fmt.Sprintf("%s %s: %s", n.Flag, hint.Word(form), about), ": "))
	}
	ui.raw(text)
}
