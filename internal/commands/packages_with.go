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

// packagesAtStart are the packages that a sandbox of the tenant is started with, as they are at that moment.
func (t *tenancy) packagesAtStart(ui *ui) func(context.Context) (sandbox.Packages, error) {
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
	t.needs = true
	s, err := t.packageStore(ui)
	if err != nil {
		return err
	}
	has, _, _, err := t.lock(s)
	if err != nil {
		return err
	}
	program := packages.Wish{Requirements: needs, Project: has.Asked().Project}
	made, err := s.WithLock(program)
	if err != nil {
		return err
	}
	if !has.Satisfies(needs) && len(made.Packages) > 0 {
		if p, there := t.beside(ctx, ui, s, made, has, program); there {
			t.layered = &p
			return nil
		}
	}
	if has.Satisfies(needs) && runtimeNames(t.config.Sandbox)[0] != config.RuntimeNative {
		return nil // whether they fit an image's Python is seen when one runs
	}
	if enough, err := s.Has(ctx, has, needs); err != nil || enough {
		return err // as any other code
	}
	w, err := t.wish(cmd, has, needs)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	p, err := t.install(ctx, ui, s, has, w, program)
	ui.waiting("packages", "")
	if ended := interrupted(ctx); ended != nil && err != nil {
		return ended
	}
	t.layered = &p
	return err
}

// beside is the layer that was made for a program, with what the tenant has been given since, as far as that goes
// together; false where there is none.
func (t *tenancy) beside(
	ctx context.Context, ui *ui, s *packages.Store, made, has *packages.Lock, program packages.Wish,
) (sandbox.Packages, bool) {
	abi, err := s.Source.ABI(ctx)
	if err != nil {
		return sandbox.Packages{}, false
	}
	p, there := s.Layer(made, abi)
	joined, agree := made.Joined(has)
	if !there || !agree || len(joined.Packages) == len(made.Packages) {
		return p, there
	}
	err = s.InstallWith(ctx, joined, program)
	ui.waiting("packages", "")
	if err != nil { // what was agreed to is there all the same
		ui.warn("the program has its packages without those added since: "+err.Error(), hint.Of(err)...)
		return p, true
	}
	return s.Layer(joined, abi)
}

// install makes a layer of what a program needs.
func (t *tenancy) install(
	ctx context.Context, ui *ui, s *packages.Store, has *packages.Lock, w, program packages.Wish,
) (sandbox.Packages, error) {
	needs := program.Requirements
	ask := isTerminal(t.env.Stdin) && isTerminal(t.env.Stderr)
	if !ask {
		add := "to have it: codemode packages add " + hint.Words(needs)
		if t.config.Tenant != config.DefaultTenant {
			add += " --tenant " + hint.Word(t.config.Tenant)
		}
		if has.Asked().Project != "" {
			add = "its lock says what code here imports (.codemode/pylock.toml): put it there, or start this at a terminal"
		}
		return sandbox.Packages{}, hint.New(
			"the program needs "+strings.Join(needs, ", ")+", and there is nobody to ask whether to fetch it; it was not run",
			add,
		)
	}
	lock, err := s.Resolve(ctx, w, has, slices.Collect(namesOf(needs)))
	if err != nil {
		return sandbox.Packages{}, err
	}
	ui.waiting("packages", "")
	if len(differences(has, lock)) == 0 {
		return t.layer(ctx, s, has)
	}
	if err := t.showChange(ui, has, lock); err != nil {
		return sandbox.Packages{}, err
	}
	if !ui.askAfresh(ctx, t.env, "the program needs this; fetch it?") {
		if ended := interrupted(ctx); ended != nil {
			fmt.Fprintln(ui.out)
			return sandbox.Packages{}, ended
		}
		return sandbox.Packages{}, errors.New("the program was not run without " + strings.Join(needs, ", "))
	}
	if err := s.InstallWith(ctx, lock, program); err != nil {
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
