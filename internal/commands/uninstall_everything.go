package commands

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/keyring"
)

// everything takes codemode out of all clients, and then removes what it keeps. Servers of the user's own in ~/MCPs
// stay: they are no less theirs than a client's.
func (s *installation) everything(ctx context.Context) error {
	if err := s.checkEverything(); err != nil {
		return err
	}
	folders := s.folders()
	what := "take codemode out of all clients?"
	if len(folders) > 0 {
		what = fmt.Sprintf(
			"take codemode out of all clients, and remove %s with all that codemode has there?", strings.Join(folders, ", "),
		)
	}
	if gone := keptIn(s.tenancy.paths.State); len(gone) > 0 {
		if s.request.DryRun {
			s.ui.note("dry run", "would be gone: "+strings.Join(gone, ", "))
		}
		what = strings.TrimSuffix(what, "?") + " (" + strings.Join(gone, ", ") + ")?"
	}
	if err := s.confirm(ctx, what); err != nil {
		return err
	}
	_, tokens, err := s.in.Left()
	if err != nil {
		return err
	}
	interruptible, stop := interruptible(ctx)
	defer stop()
	var results []install.Result
	for _, c := range installable() {
		for _, r := range s.in.Uninstall(interruptible, s.of(c)) {
			if r.Removed() || !r.Done() && r.Known {
				results = append(results, r)
			}
		}
	}
	if err := s.ended(interruptible, s.report(results, nil)); err != nil {
		s.ui.note("note", "its folders stay: what clients' files were is in there")
		return err
	}
	if !s.request.DryRun {
		if err := s.needed(tokens); err != nil {
			return err
		}
		s.forgetKeys(interruptible)
	}
	for _, dir := range folders {
		if err := s.removeFolder(dir); err != nil {
			return err
		}
	}
	if exe := s.env.Self; exe != "" {
		s.ui.note("note", "the program itself is "+quote(exe))
	}
	return nil
}

func (s *installation) checkEverything() error {
	if s.cmd.Args().Present() {
		return &usageError{"--everything is all clients, but there is " + quote(s.cmd.Args().First()), nil}
	}
	if s.request.Scope == clientcfg.Project {
		return &usageError{"--everything is not of a project alone", []string{
			"out of this project's files: codemode uninstall CLIENT --scope project",
		}}
	}
	return nil
}

// needed says what its folders are needed for yet: without them, what codemode has put into files of others could not
// be taken out exactly, and tokens that it has taken from there would be nowhere.
func (s *installation) needed(tokens []install.Token) error {
	files, _, err := s.in.Left()
	if err != nil {
		return err
	}
	var hints []string
	for _, file := range files {
		s.ui.warn("codemode is in " + quote(s.tilde(file)) + " yet")
		hints = []string{"in that project: codemode uninstall CLIENT --scope project"}
	}
	for _, t := range tokens {
		if !s.in.Has(t) {
			continue
		}
		tenant := cmp.Or(t.Tenant, s.tenancy.config.Tenant)
		s.ui.warn(fmt.Sprintf("%s, which an entry had, is a secret yet: %q of tenant %q", t.Name, t.Secret, tenant))
		remove := "codemode secrets remove " + hint.Word(t.Secret)
		if tenant != config.DefaultTenant {
			remove += " --tenant " + tenant
		}
		hints = append(hints, "if nothing needs it: "+remove)
	}
	if len(hints) == 0 {
		return nil
	}
	return hint.New("its folders stay: they are needed for that", hints...)
}

// forgetKeys removes what codemode has in the system's keyring; without what it sealed it is good for nothing.
func (s *installation) forgetKeys(ctx context.Context) {
	named, _ := filepath.Glob(filepath.Join(s.tenancy.paths.State, "*", "keyring.id"))
	for _, file := range named {
		ring := &keyring.Ring{Dir: filepath.Dir(file), Slow: s.ui.keyringSlow}
		if err := ring.Forget(ctx); err != nil {
			s.ui.warn(fmt.Sprintf("a key of codemode's stays in the keyring: %v", err))
			return // nor will the others be removed
		}
	}
	if len(named) > 0 {
		s.ui.note("removed", "codemode's key in the keyring")
	}
}

// keptIn is what the user has made with codemode that goes with its state, of any tenant: it cannot be made again.
func keptIn(state string) (kept []string) {
	for _, thing := range []struct{ name, what string }{
		{"secrets.json", "secrets"},
		{"sign-ins", "sign-ins"},
		{"tools", "saved tools"},
		{"artifacts/*", "files that code has left"},
		{"audit", "the audit log"},
	} {
		found, _ := filepath.Glob(filepath.Join(state, "*", thing.name)) // of each tenant
		if len(found) > 0 {
			kept = append(kept, thing.what)
		}
	}
	return kept
}
