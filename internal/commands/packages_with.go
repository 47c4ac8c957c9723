package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/packages"
	"codemode/internal/sandbox"

	"github.com/urfave/cli/v3"
)

// readNeeds is what a program needs: by --with, and by what its head says (PEP 723).
func readNeeds(cmd *cli.Command, code string) (packages.Head, error) {
	needs := cmd.StringSlice("with")
	if err := checkRequirements(needs); err != nil {
		return packages.Head{}, err
	}
	head, err := packages.ScriptNeeds(code)
	if err == nil {
		for _, r := range head.Dependencies {
			if bad := packages.CheckRequirement(r); bad != nil {
				err = fmt.Errorf("%s cannot be added: %w", quote(r), bad)
			}
		}
	}
	if err != nil {
		return head, &exitError{exitNotRun, hint.New("the script's head (# /// script): "+err.Error(),
			"see: https://packaging.python.org/en/latest/specifications/inline-script-metadata/")}
	}
	head.Dependencies = append(needs, head.Dependencies...)
	return head, nil
}

// fitsPython refuses a program whose head asks for another Python than the native runtime has here. Of a container's
// image it is not known before one runs.
func (t *tenancy) fitsPython(ctx context.Context, ui *ui, requires string) error {
	if requires == "" || runtimeNames(t.config.Sandbox)[0] != config.RuntimeNative {
		return nil
	}
	py, err := t.python(ui).Prepare(ctx)
	if err != nil {
		return err
	}
	if fits, err := packages.FitsPython(requires, py.Version); err != nil || fits {
		return err
	}
	return hint.New(
		fmt.Sprintf("the script's head asks for Python %s, and code runs with Python %s; it was not run", requires, py.Version),
		"another interpreter: --python, or sandbox.python in config.toml",
	)
}

// packages is what the tenant's code is given at a start.
func (t *tenancy) packages(ui *ui) func(context.Context) (sandbox.Packages, error) {
	return func(ctx context.Context) (sandbox.Packages, error) {
		s, err := t.packageStore(ui)
		if err != nil {
			return sandbox.Packages{}, nil // where nothing can be kept, nothing was added
		}
		layers := s.Layers()
		if t.layered != nil {
			p := *t.layered
			p.Layers = layers
			return p, nil
		}
		lock, ofProject, unapproved, err := t.lock(s)
		if err != nil {
			return sandbox.Packages{Layers: layers}, err
		}
		p, err := t.layer(ctx, s, lock)
		if err != nil && ofProject {
			err = hint.New("the packages of the project's lock are not there for this Python, so code runs without them",
				"to have them again: codemode packages approve")
		}
		p.Layers = layers
		if unapproved != nil {
			err = unapproved
		}
		return p, err
	}
}

// importable are the names of what code can import beside the standard library: what was added, by name first, and what
// the interpreter has of its own.
func (t *tenancy) importable(ctx context.Context, ui *ui) (names []string, err error) {
	if s, err := t.packageStore(ui); err == nil {
		if lock, _, _, err := t.lock(s); err == nil { // of one that cannot be read, whoever starts code is told
			for _, asked := range []bool{true, false} {
				for _, p := range lock.Packages {
					if lock.Wants(p.Name) == asked {
						names = append(names, p.Name)
					}
				}
			}
		}
	}
	if t.config.Sandbox.Python == "" {
		return names, nil
	}
	own, err := t.python(ui).Packages(ctx)
	for _, name := range own {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// provide has what a program needs: what the tenant has already, what was made for such a program before, or, if its
// user agrees, what is fetched for it now. The tenant's own packages stay what they are.
func (t *tenancy) provide(ctx context.Context, ui *ui, cmd *cli.Command, head packages.Head) error {
	if err := t.fitsPython(ctx, ui, head.Python); err != nil {
		return err
	}
	needs := head.Dependencies
	if len(needs) == 0 {
		return nil
	}
	s, err := t.packageStore(ui)
	if err != nil {
		return err
	}
	has, _, _, err := t.lock(s)
	if err != nil {
		return err
	}
	if has.Satisfies(needs) {
		if _, err := t.layer(ctx, s, has); err == nil {
			return nil // as any other code
		}
	}
	abi, err := s.Source.ABI(ctx)
	if err != nil {
		return err
	}
	w := t.wish(cmd, has, needs)
	made, err := s.WithLock(w)
	if err != nil {
		return err
	}
	if p, there := s.Layer(made, abi); there && len(made.Packages) > 0 {
		t.layered = &p
		return nil
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	p, err := t.install(ctx, ui, s, has, w, needs)
	ui.waiting("packages", "")
	if ended := interrupted(ctx); ended != nil && err != nil {
		return ended
	}
	t.layered = &p
	return err
}

// install makes a layer of what a program needs.
func (t *tenancy) install(
	ctx context.Context, ui *ui, s *packages.Store, has *packages.Lock, w packages.Wish, needs []string,
) (sandbox.Packages, error) {
	ask := isTerminal(t.env.Stdin) && isTerminal(t.env.Stderr)
	if !ask {
		add := "codemode packages add " + hint.Words(needs)
		if t.config.Tenant != config.DefaultTenant {
			add += " --tenant " + hint.Word(t.config.Tenant)
		}
		return sandbox.Packages{}, hint.New(
			"the program needs "+strings.Join(needs, ", ")+", and there is nobody to ask whether to fetch it; it was not run",
			"to have it: "+add,
		)
	}
	lock, err := s.Resolve(ctx, w, has, slices.Collect(namesOf(needs)))
	if err != nil {
		return sandbox.Packages{}, err
	}
	ui.waiting("packages", "")
	if err := t.showChange(ui, has, lock); err != nil {
		return sandbox.Packages{}, err
	}
	if !ui.ask(whileGoing(ctx, t.env.Stdin), "the program needs this; fetch it?") {
		if ended := interrupted(ctx); ended != nil {
			fmt.Fprintln(ui.out)
			return sandbox.Packages{}, ended
		}
		return sandbox.Packages{}, errors.New("the program was not run without " + strings.Join(needs, ", "))
	}
	if err := s.InstallWith(ctx, lock, w); err != nil {
		return sandbox.Packages{}, err
	}
	return t.layer(ctx, s, lock)
}

// namesOf are the packages that requirements name.
func namesOf(requirements []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, r := range requirements {
			if !yield(packages.Named(r)) {
				return
			}
		}
	}
}

// told is an error with what to do about it, in a line of a log.
func told(err error) string {
	return strings.Join(append([]string{err.Error()}, hint.Of(err)...), "; ")
}
