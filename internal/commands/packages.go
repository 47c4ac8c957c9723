package commands

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/packages"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"

	"github.com/urfave/cli/v3"
)

func packagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "packages",
		Usage: "what code can import beside the standard library",
		Description: "Packages are chosen by pip in a sandbox, fetched by their hashes, and shown\n" +
			"to every sandbox of the tenant. Nothing of them is run while they are added.",
		Flags:           tenantFlags(),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			addPackagesCommand(env, ui), listPackagesCommand(env, ui), removePackagesCommand(env, ui),
			updatePackagesCommand(env, ui), verifyPackagesCommand(env, ui), exportPackagesCommand(env, ui),
			approvePackagesCommand(env, ui), revokePackagesCommand(env, ui),
		},
		Metadata: examples("codemode packages add pandas matplotlib", "codemode packages list"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return &usageError{
				"packages what?", []string{"there are: codemode packages add, approve, export, list, remove, revoke, update, verify"},
			}
		},
	}
}

func packageFlags(more ...cli.Flag) []cli.Flag {
	more = append(more,
		&cli.StringSliceFlag{Name: "find-links", Usage: "`DIR` with wheels to take, too; can be repeated", Local: true},
		&cli.BoolFlag{Name: "no-index", Usage: "take wheels from --find-links alone", Local: true},
		yesFlag(),
	)
	return append(more, append(settingFlags("index", "python", "tenant"), configFlag())...)
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask", Local: true}
}

func addPackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "add packages, and what they need",
		ArgsUsage: "NAME...",
		Description: "It shows what would be added, and asks, before anything is. An index that has no\n" +
			"metadata apart from its wheels has those fetched for that. Versions may stand\n" +
			"behind a name, as in 'pandas>=2'.",
		Flags: packageFlags(
			&cli.StringFlag{Name: "from", Usage: "`DIR` where they are installed, and what they need", Local: true},
			&cli.StringFlag{Name: "requirements", Usage: "`FILE` with more names, one a line", Local: true},
		),
		Metadata: examples(
			"codemode packages add pandas matplotlib", "codemode packages add --yes 'polars>=1'",
			"codemode packages add --no-index --find-links wheels mytool",
			"codemode packages add --from ~/venv/lib/python3.14/site-packages mytool",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, s, err := openPackageStore(env, ui, cmd)
			if err != nil {
				return err
			}
			asked, err := t.readRequirements(cmd)
			if err != nil {
				return err
			}
			return t.changePackages(ctx, ui, cmd, s, asked, nil)
		},
	}
}

func updatePackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "update",
		Usage:     "have newer versions of packages, of all without a name",
		ArgsUsage: "[NAME...]",
		Flags:     packageFlags(),
		Metadata:  examples("codemode packages update", "codemode packages update pandas --yes"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, s, err := openPackageStore(env, ui, cmd)
			if err != nil {
				return err
			}
			return t.changePackages(ctx, ui, cmd, s, packages.Wish{}, cmd.Args().Slice())
		},
	}
}

// readRequirements is what packages add was given.
func (t *tenancy) readRequirements(cmd *cli.Command) (asked packages.Wish, err error) {
	asked.Requirements = cmd.Args().Slice()
	if name := cmd.String("requirements"); name != "" {
		data, err := t.read(name, maxRequirements)
		if err != nil {
			return asked, &usageError{fmt.Sprintf("reading requirements %q: %v; nothing was added", name, err), nil}
		}
		lines, sums, err := packages.ParseRequirements(string(data))
		if err != nil {
			return asked, &usageError{fmt.Sprintf("%s: %v; nothing was added", name, err), nil}
		}
		asked.Requirements = append(asked.Requirements, lines...)
		asked.Sums = packages.Sums{File: name, Of: sums}
	}
	if len(asked.Requirements) == 0 {
		return asked, &usageError{"packages add takes names of packages", []string{"see: codemode packages add --help"}}
	}
	return asked, checkRequirements(asked.Requirements)
}

// maxRequirements bounds a file of requirements.
const maxRequirements = 1 << 20

func checkRequirements(asked []string) error {
	for _, r := range asked {
		if err := packages.CheckRequirement(r); err != nil {
			return &usageError{fmt.Sprintf("%s cannot be added: %v", quote(r), err), nil}
		}
	}
	return nil
}

func absolute(env Env, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(env.Dir, name)
}

// packageStore is where the tenant's packages are.
func (t *tenancy) packageStore(ui *ui) (*packages.Store, error) {
	state, cache := t.paths.TenantState(t.config.Tenant), t.paths.TenantCache(t.config.Tenant)
	if state == "" || cache == "" {
		return nil, hint.New("there is no folder to keep packages in: neither HOME nor XDG_STATE_HOME and "+
			"XDG_CACHE_HOME name one", "set HOME to an absolute path")
	}
	return &packages.Store{
		State: filepath.Join(state, "pylock"), Cache: filepath.Join(cache, "packages"),
		Source: t.python(ui), Programs: t.helpers(),
		Env: t.pipEnv(), Client: &http.Client{}, Progress: func(text string) { ui.waiting("packages", text) },
	}, nil
}

// pipEnv is what of the environment says how an index is reached.
func (t *tenancy) pipEnv() (list []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			if value, ok := t.env.Lookup(name); ok {
				list = append(list, name+"="+value)
			}
		}
	}
	return list
}

var errNoPackagesHere = hint.New(
	"packages are chosen and compiled in the native runtime, which Linux alone has; nothing was added",
	"a container's image can have them (sandbox.image)",
)

// changePackages is add, of what is asked, and update, of what is named. What another codemode changes meanwhile is
// looked at again.
func (t *tenancy) changePackages(
	ctx context.Context, ui *ui, cmd *cli.Command, s *packages.Store, asked packages.Wish, update []string,
) error {
	return changing(ctx, ui, func(ctx context.Context) error {
		for {
			if err := t.change(ctx, ui, cmd, s, asked, update); !errors.Is(err, packages.ErrChanged) {
				return err
			}
		}
	})
}

// changing does what changes packages, which Ctrl-C ends with all as it was.
func changing(ctx context.Context, ui *ui, change func(context.Context) error) error {
	if python.Carries() == "" {
		return errNoPackagesHere
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	err := change(ctx)
	ui.waiting("packages", "")
	if ended := interrupted(ctx); ended != nil && err != nil {
		ui.note("note", "nothing was changed")
		return ended
	}
	return err
}

func (t *tenancy) change(
	ctx context.Context, ui *ui, cmd *cli.Command, s *packages.Store, asked packages.Wish, update []string,
) error {
	old, err := s.Lock()
	if err != nil {
		return err
	}
	if err := there(old, update); err != nil {
		return err
	}
	w, err := t.wish(cmd, old, asked.Requirements)
	if err != nil {
		return err
	}
	w.Sums = asked.Sums
	if len(w.Requirements) == 0 {
		ui.note("note", "no package was added, so there is nothing to update")
		return nil
	}
	for _, dir := range w.FindLinks {
		if !slices.Contains(t.findLinks(cmd), dir) {
			ui.note("packages", "wheels in "+quote(dir)+" can be chosen, too: packages that were added before came from there (--find-links)")
		}
	}
	keep, change := old, update
	if len(asked.Requirements) == 0 && len(update) == 0 {
		keep = nil
	}
	for _, a := range asked.Requirements {
		change = append(change, packages.Named(a))
	}
	lock, err := s.Resolve(ctx, w, keep, change)
	if err != nil {
		return err
	}
	ui.waiting("packages", "")
	if err := t.showChange(ui, old, lock); err != nil {
		return err
	}
	if err := confirmPackages(ctx, t.env, ui, cmd, old, lock); err != nil {
		return err
	}
	if err := s.Install(ctx, lock, old); err != nil {
		return err
	}
	ui.waiting("packages", "")
	can := countPackages(len(lock.Packages)) + " can be imported by code of tenant " + quote(t.config.Tenant)
	ui.note("packages", can)
	return nil
}

// countPackages is a number of packages, in words.
func countPackages(n int) string {
	if n == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", n)
}

// there refuses names of packages that the lock does not have.
func there(l *packages.Lock, names []string) error {
	for _, name := range names {
		if _, ok := l.Find(name); !ok {
			return hint.New(
				"package "+quote(name)+" was not added, and nothing was changed", "there are: codemode packages list",
			)
		}
	}
	return nil
}

// confirmPackages asks whether a change is wanted; none is needed where there is none.
func confirmPackages(ctx context.Context, env Env, ui *ui, cmd *cli.Command, old, lock *packages.Lock) error {
	switch {
	case cmd.Bool("yes") || len(differences(old, lock)) == 0:
		return nil
	case !isTerminal(env.Stdin) || !isTerminal(env.Stderr):
		return &exitError{
			exitRefused, errors.New("there is nobody to ask, so nothing was added; with --yes it is done unasked"),
		}
	case !ui.askAfresh(ctx, env, installQuestion(differences(old, lock))):
		if ctx.Err() != nil {
			fmt.Fprintln(ui.out)
			return context.Cause(ctx)
		}
		ui.note("note", "nothing was changed")
		return exit(exitRefused)
	}
	return nil
}

func removePackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "remove packages, and what only they need",
		ArgsUsage: "[NAME...]",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "all of them", Local: true},
		}, tenantFlags()...),
		Metadata: examples("codemode packages remove pandas", "codemode packages remove --all"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			names := cmd.Args().Slice()
			if (len(names) == 0) != cmd.Bool("all") {
				hints := []string{"there are: codemode packages list"}
				return &usageError{"packages remove takes names, or --all", hints}
			}
			_, s, old, err := openPackages(env, ui, cmd)
			if err != nil {
				return err
			}
			lock := &packages.Lock{}
			if !cmd.Bool("all") {
				if lock, err = old.Without(names); err != nil {
					return hint.New(err.Error()+"; nothing was removed", "there are: codemode packages list")
				}
			}
			ctx, stop := interruptible(ctx)
			defer stop()
			err = s.Install(ctx, lock, old)
			ui.waiting("packages", "")
			if err != nil {
				return err
			}
			for _, d := range differences(old, lock) {
				ui.note("removed", d.pkg.Name+" "+d.pkg.Version)
			}
			ui.hints([]string{"what was fetched is kept for a while; to free its room: codemode clean packages"})
			return nil
		},
	}
}

func verifyPackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "hold what is installed against the hashes, and mend it",
		Description: "What is lost or damaged is made again of the very wheels that the lock names;\n" +
			"only those that are lost are fetched.",
		Flags:    tenantFlags(),
		Metadata: examples("codemode packages verify"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			_, s, lock, err := openPackages(env, ui, cmd)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(ctx)
			defer stop()
			damage, err := s.Verify(ctx, lock)
			ui.waiting("packages", "")
			for _, d := range damage {
				ui.warn(d + " was lost or damaged")
			}
			if err != nil {
				return err
			}
			text := countPackages(len(lock.Packages)) + " as the lock says"
			if len(damage) > 0 {
				text += ", again"
			}
			ui.note("verified", text)
			return nil
		},
	}
}

func exportPackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "print the lock, for other tools",
		Description: "It is a pylock.toml, which pip and uv install from; with --requirements a file\n" +
			"of requirements with hashes.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "requirements", Usage: "print requirements with hashes", Local: true},
		}, tenantFlags()...),
		Metadata: examples("codemode packages export > pylock.toml", "codemode packages export --requirements"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			_, _, lock, err := openPackages(env, ui, cmd)
			if err != nil {
				return err
			}
			if len(lock.Packages) == 0 {
				return hint.New("no package was added, so there is no lock", "to add some: codemode packages add NAME")
			}
			text := string(lock.Encode())
			if cmd.Bool("requirements") {
				text = lock.PinLines()
			}
			return newSheet(env).text(text)
		},
	}
}

// layer is where the packages of a lock are, or why they are not.
func (t *tenancy) layer(ctx context.Context, s *packages.Store, l *packages.Lock) (sandbox.Packages, error) {
	if len(l.Packages) == 0 {
		return sandbox.Packages{}, nil
	}
	abi := l.ABI() // which Python an image has is known when a container starts; what was added says for which it is
	if abi == "" || runtimeNames(t.config.Sandbox)[0] == config.RuntimeNative {
		var err error
		if abi, err = s.Source.ABI(ctx); err != nil {
			return sandbox.Packages{}, err
		}
	}
	p, there := s.Layer(l, abi)
	if !there {
		again := "to have them again: codemode packages verify"
		if other := t.config.Sandbox.Python; other != "" {
			again = "to have them for this Python instead: codemode packages update --python " + hint.Word(other)
		}
		return p, hint.New(
			fmt.Sprintf("the packages of tenant %q are not there for Python's ABI %s, so code runs without them",
				t.config.Tenant, abi), again,
		)
	}
	return p, nil
}

func openPackages(env Env, ui *ui, cmd *cli.Command) (*tenancy, *packages.Store, *packages.Lock, error) {
	t, s, err := openPackageStore(env, ui, cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	lock, err := s.Lock()
	return t, s, lock, err
}

func openPackageStore(env Env, ui *ui, cmd *cli.Command) (*tenancy, *packages.Store, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, nil, err
	}
	s, err := t.packageStore(ui)
	return t, s, err
}
