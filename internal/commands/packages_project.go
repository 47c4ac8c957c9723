package commands

import (
	"context"
	"fmt"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/packages"

	"github.com/urfave/cli/v3"
)

func approvePackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "approve",
		Usage: "have the packages of this project's lock",
		Description: "The lock is .codemode/pylock.toml. Its packages are looked for where packages\n" +
			"add looks, and held against its hashes; code in this project has these alone.",
		Flags:    append([]cli.Flag{yesFlag()}, append(settingFlags("index", "python", "tenant"), configFlag())...),
		Metadata: examples("codemode packages approve"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, s, p, err := openProjectLock(env, ui, cmd)
			if err != nil {
				return err
			}
			return changing(ctx, ui, func(ctx context.Context) error { return t.approvePackages(ctx, ui, cmd, s, p) })
		},
	}
}

func (t *tenancy) approvePackages(
	ctx context.Context, ui *ui, cmd *cli.Command, s *packages.Store, p *packages.Project,
) error {
	old, err := s.Lock()
	if err != nil {
		return err
	}
	from, err := t.wish(cmd, old, nil) // where the tenant's packages come from
	if err != nil {
		return err
	}
	w := packages.Wish{Index: from.Index, FindLinks: from.FindLinks, Cooldown: from.Cooldown}
	lock, err := s.ResolveProject(ctx, p, w)
	if err != nil {
		return err
	}
	ui.waiting("packages", "")
	ui.note("packages", quote(p.File)+" asks for these")
	if err := t.showChange(ui, &packages.Lock{}, lock); err != nil {
		return err
	}
	if err := confirmPackages(ctx, t.env, ui, cmd, &packages.Lock{}, lock); err != nil {
		return err
	}
	if err := s.InstallProject(ctx, lock, p); err != nil {
		return err
	}
	ui.waiting("packages", "")
	can := countPackages(len(lock.Packages)) + " can be imported by code in this project, and none beside"
	ui.note("approved", can)
	return nil
}

func revokePackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:     "revoke",
		Usage:    "take back the approval of this project's lock",
		Flags:    tenantFlags(),
		Metadata: examples("codemode packages revoke"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			_, s, p, err := openProjectLock(env, ui, cmd)
			if err != nil {
				return err
			}
			switch there, err := s.ForgetProject(p); {
			case err != nil:
				return fmt.Errorf("taking back the approval of %q: %w", p.File, err)
			case !there:
				return fmt.Errorf("the lock of packages %q was not approved as it is now", p.File)
			}
			ui.note("revoked", "code in this project has the packages that it has elsewhere")
			return nil
		},
	}
}

func openProjectLock(env Env, ui *ui, cmd *cli.Command) (*tenancy, *packages.Store, *packages.Project, error) {
	if err := noArguments(cmd); err != nil {
		return nil, nil, nil, err
	}
	t, s, err := openPackageStore(env, ui, cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := t.projectLock()
	if err == nil && p == nil {
		err = hint.New("this project has no lock of packages", "it would be .codemode/pylock.toml, and can be made by:"+
			" codemode packages export")
	}
	return t, s, p, err
}

// projectLock is that of the project codemode was started in; nil where it has none.
func (t *tenancy) projectLock() (*packages.Project, error) {
	return packages.ReadProject(config.ProjectFolders(t.env.Dir, t.paths.Home))
}

// lock is what code can import: what the project's lock came to when its user approved of that, else what the tenant
// has. Of a project's lock that counts for nothing, unapproved tells.
func (t *tenancy) lock(s *packages.Store) (lock *packages.Lock, ofProject bool, unapproved, err error) {
	p, unapproved := t.projectLock()
	if p != nil {
		lock, err = s.ProjectLock(p)
		if lock != nil || err != nil {
			return lock, true, nil, err
		}
		unapproved = hint.New(
			fmt.Sprintf("%q: the project asks for packages, which nobody has approved as it is now; code has the tenant's", p.File),
			"to see and to approve them: codemode packages approve",
		)
	}
	lock, err = s.Lock()
	return lock, false, unapproved, err
}
