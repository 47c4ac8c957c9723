package commands

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"

	"github.com/urfave/cli/v3"
)

func installCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "install",
		Usage:       "put codemode into AI clients",
		ArgsUsage:   "[CLIENT...]",
		Description: "Without a name it shows which clients are here, and on a terminal asks.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "into every client that is here", Local: true},
			&cli.BoolFlag{Name: "status", Usage: "only show how things stand", Local: true},
			&cli.BoolFlag{Name: "adopt", Usage: "move their other servers behind codemode", Local: true},
			&cli.BoolFlag{Name: "print", Usage: "only print what to put there by hand", Local: true},
			scopeFlag(), nameFlag(),
			&cli.StringSliceFlag{Name: "env-pass", Usage: "`NAME` of a variable that codemode gets, too", Local: true},
			&cli.BoolFlag{Name: "force", Usage: "also where it would be refused for your sake", Local: true},
		}, append(changeFlags(), settingFlags("tenant")...)...),
		Metadata: examples(
			`codemode install claude          # Claude Code and Claude Desktop`,
			`codemode install cursor --adopt --dry-run`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			s, err := newInstallation(env, ui, cmd)
			if err != nil {
				return err
			}
			switch {
			case cmd.Bool("status"):
				return s.status()
			case cmd.Bool("print"):
				return s.print()
			case len(s.clients) == 0 && !cmd.Bool("all"):
				return s.ask(ctx)
			}
			return s.install(ctx)
		},
	}
}

func uninstallCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "uninstall",
		Usage:       "take codemode out of AI clients, exactly",
		ArgsUsage:   "[CLIENT...]",
		Description: "A file that nobody has changed since is what it was, byte for byte.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "out of every client", Local: true},
			&cli.BoolFlag{Name: "everything", Usage: "and remove its cache, state and settings", Local: true},
			scopeFlag(), nameFlag(),
		}, changeFlags()...),
		Metadata: examples(`codemode uninstall claude`, `codemode uninstall --all --dry-run`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			s, err := newInstallation(env, ui, cmd)
			if err != nil {
				return err
			}
			if cmd.Bool("everything") {
				return s.everything(ctx)
			}
			if len(s.clients) == 0 && !cmd.Bool("all") {
				return &usageError{
					"out of which client?",
					[]string{"see: codemode install --status", "out of all: codemode uninstall --all"},
				}
			}
			return s.uninstall(ctx)
		},
	}
}

func scopeFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "scope",
		Value: string(clientcfg.User),
		Usage: "`SCOPE` user, or project for this project's files",
		Local: true,
	}
}

func nameFlag() cli.Flag {
	return &cli.StringFlag{Name: "name", Usage: "`NAME` of its entry; default is codemode", Local: true}
}

// changeFlags are those of commands that change clients' files.
func changeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would change", Local: true},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask", Local: true},
		jsonFlag(),
	}
}

// settle is how long clients that write their files from memory are given to undo what was written; the reports
// in clients' trackers are of a second or less.
const settle = 2 * time.Second

// installation is one start of install or uninstall.
type installation struct {
	env     Env
	ui      *ui
	cmd     *cli.Command
	tenancy *tenancy
	in      *install.Installer
	clients []clientcfg.Client // that were named
	request install.Request    // but for its client
	before  []snapshot         // uninstall: of what could be called

	planned map[string]map[string][]byte           // a dry run: what files would be, by the client's file it is of
	first   map[string]map[string]*clientcfg.Entry // by snapshot, what names in code meant before any server moved
}

var (
	entryName    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// newInstallation checks the command line. Nothing has been read or written when it fails for that.
func newInstallation(env Env, ui *ui, cmd *cli.Command) (*installation, error) {
	s := &installation{env: env, ui: ui, cmd: cmd, planned: map[string]map[string][]byte{}}
	s.first = map[string]map[string]*clientcfg.Entry{}
	s.request = install.Request{
		Scope:  clientcfg.Scope(cmd.String("scope")),
		Name:   cmd.String("name"),
		Tenant: cmd.String("tenant"),
		Pass:   cmd.StringSlice("env-pass"),
		Force:  cmd.Bool("force"),
		DryRun: cmd.Bool("dry-run"),
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	var err error
	if s.clients, err = clientsNamed(cmd.Args().Slice()); err != nil {
		return nil, err
	}
	if s.tenancy, err = openTenancy(env, cmd); err != nil {
		return nil, err
	}
	home, _ := s.tenancy.home()
	writes := cmd.Name == "install" && !s.request.DryRun && !cmd.Bool("status") && !cmd.Bool("print")
	if by, _ := env.Lookup("SUDO_UID"); writes && by != "0" && os.Geteuid() == 0 && install.BelongsTo(home, by) {
		return nil, hint.New("sudo leaves HOME as it is here, so codemode's files in "+quote(home)+
			" would be root's, and its user could not read them; nothing was written", "run it without sudo")
	}
	s.in = &install.Installer{
		Env:    clientcfg.Env{OS: runtime.GOOS, Home: home, WorkDir: env.Dir, Lookup: env.Lookup},
		Self:   clientcfg.Self{Executable: env.Self},
		State:  s.tenancy.paths.State,
		Settle: settle,
		Vault:  s.tenancy.vault(s.tenancy.config.Tenant),
	}
	if s.request.Name == "" && cmd.Name == "install" {
		s.request.Name = install.DefaultName
	}
	return s, nil
}

func (s *installation) check() error {
	see := []string{"see: " + s.cmd.FullName() + " --help"}
	switch r := s.request; {
	case r.Scope != clientcfg.User && r.Scope != clientcfg.Project:
		return &usageError{"--scope is " + quote(string(r.Scope)) + "; it must be user or project", see}
	case r.Name != "" && !entryName().MatchString(r.Name):
		return &usageError{"--name " + quote(r.Name) + " must be letters, digits, '-' and '_'", see}
	case s.cmd.Bool("all") && s.cmd.Args().Present():
		return &usageError{"--all and the names of clients do not go together", see}
	case s.cmd.Bool("all") && r.Scope == clientcfg.Project:
		return &usageError{"--all is for your own files; name the clients of a project", see}
	}
	for _, name := range s.request.Pass {
		if !variableName().MatchString(name) {
			return &usageError{"--env-pass takes the name of a variable", see} // not quoted: it may be a secret
		}
	}
	return nil
}

// clientsNamed are the clients that were asked for, each once.
func clientsNamed(names []string) (list []clientcfg.Client, err error) {
	var ids []string
	for _, name := range names {
		name = strings.ToLower(name)
		if several := clientcfg.Aliases[name]; several != nil {
			ids = append(ids, several...)
			continue
		}
		ids = append(ids, name)
	}
	var known []string
	for _, c := range installable() {
		known = append(known, c.ID)
	}
	for _, id := range ids {
		n := slices.Index(known, id)
		switch {
		case n < 0:
			near := hint.Nearest(id, append(slices.Clone(known), "claude"))
			return nil, &usageError{"unknown client " + quote(id), append(near, "there are "+strings.Join(known, ", "))}
		case !slices.ContainsFunc(list, func(c clientcfg.Client) bool { return c.ID == id }):
			list = append(list, installable()[n])
		}
	}
	return list, nil
}

// installable are the clients that codemode can be put in.
func installable() (list []clientcfg.Client) {
	for _, c := range clientcfg.Clients() {
		if c.Install.None == "" {
			list = append(list, c)
		}
	}
	return list
}

// of is the request for one client.
func (s *installation) of(c clientcfg.Client) install.Request {
	req := s.request
	req.Client = c
	return req
}

// chosen are the clients to go through. An alias means those of its clients that are here, if any is.
func (s *installation) chosen() []clientcfg.Client {
	list := s.clients
	if s.cmd.Bool("all") {
		list = installable()
	}
	here := slices.DeleteFunc(slices.Clone(list), func(c clientcfg.Client) bool {
		return !slices.Contains(s.cmd.Args().Slice(), c.ID) && !s.here(c)
	})
	if len(here) == 0 && len(list) > 0 && !s.cmd.Bool("all") {
		return list[:1]
	}
	return here
}

func (s *installation) here(c clientcfg.Client) bool {
	req := s.of(c)
	req.Name = install.DefaultName
	targets, err := s.in.Targets(req)
	return err == nil && targets[0].Detected
}

// ask shows the clients that were found, and asks which to change where there is a terminal.
func (s *installation) ask(ctx context.Context) error {
	if err := s.status(); err != nil {
		return err
	}
	var names []string
	for _, c := range installable() {
		for _, st := range s.in.Status(s.of(c), false) {
			if (st.State == install.NotThere || st.State == install.StalePath || st.State == install.NotRead) &&
				!slices.Contains(names, c.ID) {
				names = append(names, c.ID)
				s.clients = append(s.clients, c)
			}
		}
	}
	switch {
	case s.cmd.Bool("json"):
		return nil
	case len(names) == 0:
		s.tellNoClient()
		return nil
	case !s.interactive() && !s.cmd.Bool("yes"):
		s.ui.hints([]string{"codemode install " + strings.Join(names, " ")})
		return nil
	}
	if err := s.chooseClients(ctx, names); err != nil {
		return err
	}
	return s.installInto(ctx, s.clients)
}

// interactive says whether there is a terminal to ask at.
func (s *installation) interactive() bool {
	return isTerminal(s.env.Stdin) && isTerminal(s.env.Stderr) && !s.cmd.Bool("json")
}

// confirm asks whether to do something to clients' files. Nobody there to ask is a no, unless that was said before.
func (s *installation) confirm(ctx context.Context, question string) error {
	switch {
	case s.cmd.Bool("yes"), s.request.DryRun:
		return nil
	case !s.interactive():
		return &exitError{
			exitRefused, errors.New("there is nobody to ask, so nothing was written; with --yes it is done unasked"),
		}
	case s.ui.ask(whileGoing(ctx, s.env.Stdin), question):
		return nil
	}
	if err := interrupted(ctx); err != nil {
		return err
	}
	s.ui.note("note", "nothing was written")
	return exit(exitRefused)
}

func (s *installation) install(ctx context.Context) error {
	clients := s.chosen()
	if s.cmd.Bool("all") || s.cmd.Bool("adopt") {
		if len(clients) == 0 {
			return errors.New("there is no client here that is known")
		}
		what := "put codemode into "
		if s.cmd.Bool("adopt") {
			what = "move servers behind codemode, each asked for, of "
		}
		var names []string
		for _, c := range clients {
			names = append(names, c.ID)
		}
		if err := s.confirm(ctx, what+strings.Join(names, ", ")+"?"); err != nil {
			return err
		}
	}
	return s.installInto(ctx, clients)
}

func (s *installation) installInto(ctx context.Context, clients []clientcfg.Client) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := s.executable(); err != nil {
		return err
	}
	s.in.Replace = s.replacer(ctx)
	if s.cmd.Bool("adopt") {
		s.in.Adopt = &install.Adopter{
			Dir: s.tenancy.config.Servers.Dir, Own: s.own, Approved: s.approved,
			Choose: s.chooser(ctx), Loosens: s.loosens,
			Named: func() []clientcfg.Entry { return s.tenancy.found.Entries },
		}
	}
	if s.in.Adopt == nil || s.in.Adopt.Choose == nil { // questions are what is seen
		s.ui.working("changing clients' files")
		defer s.ui.done()
	}
	var results []install.Result
	for _, c := range clients {
		results = append(results, s.in.Install(ctx, s.of(c))...)
	}
	if signalled := interrupted(ctx); signalled != nil {
		results = slices.DeleteFunc(results, func(r install.Result) bool { return !r.Done() })
		if len(results) == 0 {
			s.ui.note("note", "nothing was written")
			return signalled
		}
	}
	if err := s.in.Confirm(ctx, results); err != nil && interrupted(ctx) == nil {
		return err
	}
	var saved *saving
	if s.cmd.Bool("adopt") && !s.request.DryRun {
		saved = s.saving(ctx, results)
	}
	s.ui.done() // before what is printed
	return s.ended(ctx, s.report(results, saved))
}

// executable finds what entries start, and refuses what will not stay where it is.
func (s *installation) executable() error {
	exe, err := s.in.Executable()
	s.in.Exe = exe
	var passing *install.PassingError
	switch {
	case s.request.Scope == clientcfg.Project, err == nil:
		return nil
	case errors.As(err, &passing) && s.request.Force:
		s.ui.warn(err.Error())
		return nil
	}
	return &exitError{exitRefused, err}
}

// approved says whether the user has agreed to what a project's entry starts, as things are now.
func (s *installation) approved(e clientcfg.Entry) bool {
	approvals, err := clientcfg.LoadApprovals(s.tenancy.approvalsFile())
	return err == nil && approvals.Approved(e)
}

// own are codemode's own servers, as things are now, or would be.
func (s *installation) own() (list []clientcfg.Entry) {
	s.tenancy.overlay = s.plannedBut("")
	s.tenancy.discover()
	for _, e := range s.tenancy.found.Entries {
		if isOwn(e) && e.Scope != clientcfg.Project {
			list = append(list, e)
		}
	}
	return list
}

func (s *installation) uninstall(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	clients := s.clients
	if s.cmd.Bool("all") {
		clients = installable()
		if err := s.confirm(ctx, "take codemode out of all clients?"); err != nil {
			return err
		}
	}
	s.before = s.tenancy.snapshots(nil, nil)
	var results, rest []install.Result
	for _, c := range clients {
		for _, r := range s.in.Uninstall(ctx, s.of(c)) {
			if slices.Contains(s.cmd.Args().Slice(), c.ID) || r.Removed() || !r.Done() && r.Known {
				results = append(results, r)
			} else {
				rest = append(
					rest, r,
				) // of a client that was not asked for by its own name, and of which there is nothing to tell
			}
		}
	}
	if len(results) == 0 && len(rest) > 0 && !s.cmd.Bool("all") {
		results = rest[:1]
	}
	return s.ended(ctx, s.report(results, nil))
}

// ended is how the command ends, after it has told what was done.
func (s *installation) ended(ctx context.Context, err error) error {
	if signalled := interrupted(ctx); signalled != nil {
		s.ui.warn("interrupted; what is told above was done")
		return signalled
	}
	return err
}

// print prints what to put into clients by hand.
func (s *installation) print() error {
	if len(s.clients) == 0 {
		s.clients = installable()[:1]
		s.clients[0] = clientcfg.Client{ID: "any", Title: "a client that is not known", Key: []string{"mcpServers"}}
	}
	s.request.Force = true // nothing is written that would not be seen first
	if err := s.executable(); err != nil {
		return err
	}
	var b strings.Builder
	for n, c := range s.clients {
		req := s.of(c)
		if n > 0 {
			b.WriteByte('\n')
		}
		path := ""
		if targets, err := s.in.Targets(req); err == nil {
			path = targets[0].Path
		}
		if path != "" {
			s.ui.note(c.ID, "for "+quote(path))
		}
		b.WriteString(s.in.Snippet(req, path))
		if link := s.in.Link(req); link != "" {
			s.ui.note(c.ID, "or open this link, and the client asks you")
			s.ui.raw(link + "\n")
		}
	}
	return newSheet(s.env).text(b.String())
}
