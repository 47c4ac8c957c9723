package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func configApproveCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "approve",
		Usage: "let code read this project's folder, as it asks",
		Description: "A project's .codemode/config.toml asks by files.project = true. Code then reads\n" +
			"the folder, without what its .gitignore names and what looks like a secret.",
		Flags:    append(settingFlags("tenant"), configFlag()),
		Metadata: examples("codemode config approve"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			t, r, err := requestHere(env, cmd)
			if err != nil {
				return err
			}
			if err := t.approvals.Agree(r); err != nil {
				return err
			}
			ui.note("approved", fmt.Sprintf("code reads %s, for which %s asks", quote(r.Folder), quote(r.File)))
			if _, refused, err := t.shown(); errors.Join(refused, err) != nil {
				problem := errors.Join(refused, err)
				ui.warn(problem.Error(), hint.Of(problem)...)
			}
			return nil
		},
	}
}

func configRevokeCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:     "revoke",
		Usage:    "take back that code sees this project's folder",
		Flags:    append(settingFlags("tenant"), configFlag()),
		Metadata: examples("codemode config revoke"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			t, r, err := requestHere(env, cmd)
			switch {
			case errors.Is(err, errNoRequest):
				r, err = t.disagreeLapsed()
			case err == nil:
				err = t.approvals.Disagree(r)
			}
			if err == nil {
				ui.note("revoked", "code does not see "+quote(r.Folder))
			}
			return err
		},
	}
}

// disagreeLapsed takes back the approval of what a file of this project asked for that has gone, or asks no more: it
// may come back, as that of another branch does.
func (t *tenancy) disagreeLapsed() (r config.Request, err error) {
	for _, dir := range config.ProjectFolders(t.env.Dir, t.paths.Home) {
		r = config.Request{Folder: dir, File: filepath.Join(dir, ".codemode", "config.toml")}
		if err := t.approvals.Disagree(r); !errors.Is(err, clientcfg.ErrNotApproved) {
			return r, err
		}
	}
	return r, errNoRequest
}

// requestHere is what the project's file asks for.
func requestHere(env Env, cmd *cli.Command) (*tenancy, config.Request, error) {
	if err := noArguments(cmd); err != nil {
		return nil, config.Request{}, err
	}
	t, err := openTenancy(env, cmd)
	switch {
	case err != nil:
		return nil, config.Request{}, err
	case t.approvals == nil:
		return nil, config.Request{}, errNoState
	case len(t.problems) > 0:
		return nil, config.Request{}, errors.Join(t.problems...) // what cannot be read is not written over
	case t.config.Files.Request.File == "":
		return t, config.Request{}, errNoRequest
	}
	return t, t.config.Files.Request, nil
}

var errNoRequest = hint.New("no file of a project asks for anything here",
	"a project asks by files.project = true in its .codemode/config.toml")

// unapprovedError is what a project's file asks for and its user has not approved.
type unapprovedError struct{ request config.Request }

func (e *unapprovedError) Error() string {
	return fmt.Sprintf("%q, line %d: the project asks that code may read %q, which nobody has approved",
		e.request.File, e.request.Line, e.request.Folder)
}

// Hint is how it is approved.
func (e *unapprovedError) Hint() []string { return []string{"to approve it: codemode config approve"} }
