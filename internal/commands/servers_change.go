package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/plainfile"
	"codemode/internal/visible"

	"github.com/urfave/cli/v3"
)

func showServerCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show how a server is configured, without its secrets",
		ArgsUsage: "NAME",
		Flags:     append([]cli.Flag{jsonFlag()}, discoveryFlags()...),
		Metadata:  examples(`codemode servers show github`, `codemode servers show github --json`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			name, t, err := openNamed(env, cmd)
			if err != nil {
				return err
			}
			entries, err := t.lookedAt(name)
			if err != nil {
				return err
			}
			return showEntries(env, entries, cmd.Bool("json"))
		},
	}
}

// oneName is a command's only argument.
func oneName(cmd *cli.Command) (string, error) {
	if cmd.Args().Len() != 1 {
		return "", &usageError{cmd.Name + " takes the name of one server", []string{"there are: codemode servers"}}
	}
	return cmd.Args().First(), nil
}

// openNamed is the name of the one server that a command is about, and the tenancy that may have it.
func openNamed(env Env, cmd *cli.Command) (string, *tenancy, error) {
	name, err := oneName(cmd)
	if err != nil {
		return "", nil, err
	}
	t, err := openTenancy(env, cmd)
	return name, t, err
}

// entryDetail is an entry in JSON. Its secrets are masked.
type entryDetail struct {
	Name    string            `json:"name"`
	Status  clientcfg.Status  `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Source  string            `json:"source"`
	Scope   clientcfg.Scope   `json:"scope"`
	File    string            `json:"file,omitempty"`
	Line    int               `json:"line,omitempty"`
	AlsoIn  []string          `json:"also_in,omitempty"`
	About   string            `json:"description,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	EnvFile string            `json:"env_file,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	// Names of the user's variables: those that the program gets, is without, or whose values are headers'.
	EnvPass     []string          `json:"env_pass,omitempty"`
	EnvUnset    []string          `json:"env_unset,omitempty"`
	HeadersFrom map[string]string `json:"headers_from,omitempty"`
	BearerFrom  string            `json:"bearer_from,omitempty"`

	OAuth   *config.OAuth        `json:"oauth,omitempty"`
	Sandbox *config.Restrictions `json:"sandbox,omitempty"`

	Transport string   `json:"transport,omitempty"` // where it is the older one
	Include   []string `json:"include_tools,omitzero"`
	Exclude   []string `json:"exclude_tools,omitempty"`
	StartTime string   `json:"start_timeout,omitempty"`
	CallTime  string   `json:"call_timeout,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

func detail(e clientcfg.Entry) entryDetail {
	e.Server.Sandbox = e.Restrictions
	s := shown(e)
	return entryDetail{
		e.Server.Name, e.Status, e.Reason, e.Client, e.Scope, s.Source, e.Line, e.AlsoIn,
		s.Description, s.Command, s.Args, s.Env, s.EnvFile, s.Cwd, s.URL, s.Headers,
		s.EnvPass, s.EnvUnset, s.HeadersFrom, s.BearerFrom, s.OAuth, s.Sandbox,
		unless(s.Transport, config.Stdio, config.HTTP), s.ToolsAllow, s.ToolsDeny,
		period(s.StartTime), period(s.CallTime), e.Notes,
	}
}

// shown is an entry as people see it: their own without its secrets, a project's whole. That is a stranger's text, and
// a mask would hide what it starts from those who are to approve it.
func shown(e clientcfg.Entry) config.Server {
	if e.Scope == clientcfg.Project {
		return e.Server
	}
	return clientcfg.Masked(e.Server)
}

func showEntries(env Env, entries []clientcfg.Entry, asJSON bool) error {
	details := make([]entryDetail, len(entries))
	for i, e := range entries {
		details[i] = detail(e)
	}
	out := newSheet(env)
	if asJSON {
		return out.json(details)
	}
	var b strings.Builder
	for i, d := range details {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.write(&b)
	}
	return out.text(b.String())
}

func (d entryDetail) write(b *strings.Builder) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "%-9s %s\n", name, oneLine(value))
		}
	}
	row("name", shownWord(d.Name))
	status := string(d.Status)
	if d.Reason != "" {
		status += ": " + d.Reason
	}
	row("status", status)
	place := d.File
	if d.Line > 0 {
		place = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	row("from", fmt.Sprintf("%s (%s) %s", d.Source, d.Scope, place))
	row("also in", strings.Join(d.AlsoIn, ", "))
	row("described", shownWord(d.About))
	row("transport", d.Transport)
	row("command", commandLine(append([]string{d.Command}, d.Args...)))
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		row("env", shownName(name)+"="+shownWord(d.Env[name]))
	}
	for _, name := range d.EnvPass {
		row("env", shownName(name)+", with the value that it has in your environment")
	}
	for _, name := range d.EnvUnset {
		row("env", shownName(name)+" is left out")
	}
	row("env file", shownWord(d.EnvFile))
	row("cwd", shownWord(d.Cwd))
	row("url", shownWord(d.URL))
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		row("header", shownWord(name)+": "+shownWord(d.Headers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(d.HeadersFrom)) {
		row("header", shownWord(name)+": the value of your variable "+shownName(d.HeadersFrom[name]))
	}
	if d.BearerFrom != "" {
		row("header", "Authorization: Bearer and the value of your variable "+shownName(d.BearerFrom))
	}
	if d.OAuth != nil {
		row("client", shownWord(d.OAuth.ClientID))
		row("secret", shownWord(d.OAuth.Secret))
		row("scopes", shownWord(strings.Join(d.OAuth.Scopes, " ")))
		if d.OAuth.CallbackPort != 0 {
			row("port", strconv.Itoa(d.OAuth.CallbackPort))
		}
	}
	d.limits(row)
	for _, note := range d.Notes {
		row("note", note)
	}
}

// limits are what the server, and code that calls it, is kept to.
func (d entryDetail) limits(row func(name, value string)) {
	if d.Sandbox != nil {
		row("sandbox", restricted(d.Sandbox))
	}
	switch {
	case len(d.Include) > 0:
		row("tools", "only "+commandLine(d.Include))
	case d.Include != nil:
		row("tools", "none")
	}
	if len(d.Exclude) > 0 {
		row("tools", "without "+commandLine(d.Exclude))
	}
	if d.StartTime != "" {
		row("start", d.StartTime+" at most")
	}
	if d.CallTime != "" {
		row("call", d.CallTime+" at most")
	}
}

// commandLine shows where an argument begins and ends.
func commandLine(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		if shown[i] = shownWord(word); i > 0 && word == "" || shown[i] == word && strings.ContainsAny(word, ` "'`) {
			shown[i] = singleQuoted(word)
		}
	}
	return strings.Join(shown, " ")
}

// shownWord is a word as it is, unless that would look like another: one with characters that are not seen as
// themselves is in the quotes in which shells know escapes, $'…'; elsewhere a backslash is a backslash.
func shownWord(word string) string {
	shown, plain := visible.Word(word)
	switch {
	case !plain:
		return "$'" + shown + "'"
	case strings.HasPrefix(word, "$'"):
		return singleQuoted(word)
	}
	return word
}

// shownName is a variable's name, which ends at the first equals sign.
func shownName(name string) string {
	if shown := shownWord(name); shown != name || !strings.ContainsAny(name, "=, ") {
		return shown
	}
	return singleQuoted(name)
}

func singleQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// restricted says what a server may use in its sandbox.
func restricted(w *config.Restrictions) string {
	list := []string{"no network"}
	if w.Network {
		list[0] = "network"
	}
	if w.Image != "" {
		list[0] = "pod of " + shownWord(w.Image) + ", the cluster's network"
	}
	if len(w.Read) > 0 {
		list = append(list, "reads "+commandLine(w.Read))
	}
	if len(w.Write) > 0 {
		list = append(list, "writes "+commandLine(w.Write))
	}
	if w.Memory > 0 {
		list = append(list, fmt.Sprintf("%d MiB of memory", w.Memory>>20))
	}
	return strings.Join(list, ", ")
}

func approveCommand(env Env, ui *ui) *cli.Command {
	c := approvalCommand(
		env,
		ui,
		"approve",
		"let servers of a project be used as they are now",
		(*tenancy).oneEntry,
		func(t *tenancy, e clientcfg.Entry) error {
			if err := t.approvals.Approve(e); err != nil {
				return err
			}
			ui.note("approved", fmt.Sprintf("%s from %s, which said:", quote(e.Written), quote(e.Server.Source)))
			var b strings.Builder
			detail(t.pinned(e)).write(&b)
			ui.raw(b.String())
			return nil
		},
	)
	c.Description = "A project's file can start any program. What you approve is pinned: an entry\n" +
		"that changes asks again."
	c.Metadata = examples(`codemode servers show build-tools`, `codemode servers approve build-tools`)
	return c
}

// pinned is an entry of a project that was just approved, with what becomes of it now. What it starts is what was
// approved: its file may say something else by now, which nobody has agreed to.
func (t *tenancy) pinned(e clientcfg.Entry) clientcfg.Entry {
	e.Status, e.Reason = clientcfg.Invalid, "it is in its file no more"
	t.discover()
	for _, now := range t.found.Entries {
		if now.Scope == e.Scope && now.Server.Source == e.Server.Source && now.Written == e.Written {
			e.Server.Name, e.Status, e.Reason = now.Server.Name, now.Status, now.Reason
			e.AlsoIn, e.Notes = now.AlsoIn, now.Notes
			break
		}
	}
	return t.chosen(e)
}

func revokeCommand(env Env, ui *ui) *cli.Command {
	revoke := func(t *tenancy, e clientcfg.Entry) error {
		if err := t.approvals.Revoke(e); err != nil {
			return err
		}
		ui.note("revoked", fmt.Sprintf("%s from %s", quote(e.Written), quote(e.Server.Source)))
		return nil
	}
	c := approvalCommand(env, ui, "revoke", "take an approval back", (*tenancy).standing, revoke)
	c.Description = "That of a server that is in its file no more is taken back by its name, too:\n" +
		"in the folder of its project, or anywhere else where no server has that name."
	return c
}

// standing are the entries of a name that approvals stand for, be they in their files or not: those that are called so
// here, else those of projects that this is the folder of, else the one that there is elsewhere.
func (t *tenancy) standing(name string) ([]clientcfg.Entry, error) {
	named, unknown := t.named(name)
	var called, around, elsewhere []clientcfg.Entry
	for _, e := range t.approvals.Standing() {
		rest, err := filepath.Rel(plainfile.Resolve(e.Server.Project), plainfile.Resolve(t.env.Dir))
		switch {
		case slices.ContainsFunc(named, e.Same):
			called = append(called, e)
		case e.Written != name:
		case err == nil && filepath.IsLocal(rest):
			around = append(around, e)
		default:
			elsewhere = append(elsewhere, e)
		}
	}
	switch {
	case len(called) > 0:
		return called, nil
	case len(around) > 0:
		return around, nil
	case unknown != nil && len(elsewhere) > 0:
		return elsewhere, onlyOne(name, elsewhere)
	}
	return t.oneEntry(name)
}

// approvalCommand is a command that does something with the approval of each entry that find finds by a name.
func approvalCommand(
	env Env, ui *ui, name, usage string, find func(*tenancy, string) ([]clientcfg.Entry, error),
	do func(*tenancy, clientcfg.Entry) error,
) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "NAME...",
		Flags:    discoveryFlags(),
		Metadata: examples(`codemode servers ` + name + ` build-tools`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			return eachEntry(env, cmd, find, func(t *tenancy, e clientcfg.Entry) error {
				if e.Scope != clientcfg.Project {
					return fmt.Errorf("server %q is not of a project, so it needs no approval", e.Server.Name)
				}
				ui.working("changing the approval of server " + quote(e.Written))
				defer ui.done()
				return do(t, e)
			})
		},
	}
}

// errNoState is a machine where nothing can be kept.
var errNoState = errors.New("there is no folder to keep approvals in: neither HOME nor XDG_STATE_HOME names one")

// eachEntry does something with the entries that each argument names; with none unless all are clear.
func eachEntry(
	env Env, cmd *cli.Command, find func(*tenancy, string) ([]clientcfg.Entry, error),
	do func(*tenancy, clientcfg.Entry) error,
) error {
	if !cmd.Args().Present() {
		return &usageError{cmd.Name + " takes the names of servers", []string{"there are: codemode servers"}}
	}
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	switch {
	case t.approvals == nil:
		return errNoState
	case len(t.problems) > 0:
		return errors.Join(t.problems...) // an approvals file that cannot be read is not written over
	}
	var chosen []clientcfg.Entry
	for _, name := range cmd.Args().Slice() {
		entries, err := find(t, name)
		if err != nil {
			return err
		}
		chosen = append(chosen, entries...)
	}
	for _, e := range chosen {
		if err := do(t, e); err != nil {
			return err
		}
	}
	return nil
}

// lookedAt are the entries of a name that somebody looks at: those that it means here, and those of a project that wait
// to be approved, whoever has the name.
func (t *tenancy) lookedAt(name string) ([]clientcfg.Entry, error) {
	entries, err := t.named(name)
	for _, e := range t.found.Entries {
		waits := e.Written == name && e.Status == clientcfg.NeedsApproval
		if err == nil && waits && !slices.ContainsFunc(entries, e.Same) {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// oneEntry is the one that a name means here, of a project where there is one.
func (t *tenancy) oneEntry(name string) ([]clientcfg.Entry, error) {
	entries, err := t.lookedAt(name)
	if err != nil {
		return nil, err
	}
	if mine := slices.DeleteFunc(
		slices.Clone(entries), func(e clientcfg.Entry) bool { return e.Scope != clientcfg.Project },
	); len(mine) > 0 {
		entries = mine
	}
	return entries, onlyOne(name, entries)
}

// onlyOne is an error where a name means several entries.
func onlyOne(name string, entries []clientcfg.Entry) error {
	if len(entries) == 1 {
		return nil
	}
	var files []string
	for _, e := range entries {
		files = append(files, quote(e.Server.Source))
	}
	return fmt.Errorf("server %q is in more than one file: %s; nothing was changed", name, strings.Join(files, ", "))
}

func refreshCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "refresh",
		Usage:       "ask servers for their tools and keep what they say",
		ArgsUsage:   "[NAME...]",
		Description: "They are started side by side and ended again. It ends with 1 when one fails.",
		Flags:       discoveryFlags(),
		Metadata:    examples(`codemode servers refresh`, `codemode servers refresh github memory`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			l, err := openListing(ctx, env, ui, cmd, "")
			if err != nil {
				return err
			}
			defer l.close()
			wanted := slices.Concat(l.ready, l.lacking(clientcfg.NeedsProgram))
			if cmd.Args().Present() {
				wanted = cmd.Args().Slice()
				if err := l.askable(wanted); err != nil {
					return err
				}
			}
			failed, err := l.refresh(ctx, wanted)
			if err != nil {
				return err
			}
			if len(wanted) == 0 {
				ui.note("note", "there is no server that could be asked")
				ui.hints([]string{"see: codemode servers"})
				return nil
			}
			known, _ := l.bridge.Servers().Known()
			tools := 0
			for _, s := range known.Servers() {
				if slices.Contains(wanted, s.Name) || slices.Contains(wanted, l.aliases[s.Name]) {
					tools += len(s.Tools)
				}
			}
			ui.note(
				"servers",
				fmt.Sprintf(
					"%d of %s answered; %s known", len(wanted)-failed, plural(len(wanted), "server", "servers"),
					plural(tools, "tool is", "tools are"),
				),
			)
			if failed > 0 {
				return exit(exitFailed)
			}
			return nil
		},
	}
}
