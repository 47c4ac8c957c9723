package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/fileerr"
)

// What codemode makes in its state, and there in a tenant's folder. A folder is a tenant's by what it has.
var (
	madeInState       = []string{"installed.json", "installed.lock", "installed.backups"}
	madeInTenantState = []string{
		"approvals.json", "artifacts", "audit", "disk.lock", "history", "images", "keyring.id", "keyring.lock",
		"outputs", "pylock", "secrets.json", "secrets.lock", "sign-ins", "tools",
	}
	tenantFiles = []string{"approvals.json", "disk.lock", "history", "keyring.id", "secrets.json"}
)

// folders are those that codemode has.
func (s *installation) folders() (list []string) {
	for _, dir := range []string{s.tenancy.paths.Cache, s.tenancy.paths.State, s.tenancy.paths.Config} {
		if isFolder(dir) && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// removeFolder removes a folder, or the link in its place alone. What codemode has not made in it stays, such as
// servers of the user's own where mcp.dir is in there.
func (s *installation) removeFolder(dir string) error {
	to := leadsTo(dir)
	made, others := s.contents(dir)
	switch {
	case to != "" || len(others) == 0:
		made = []string{dir}
	case s.request.DryRun:
		s.ui.note("dry run", "would stay, for codemode has not made it: "+s.few(others))
	}
	for _, path := range made {
		if s.request.DryRun {
			s.ui.note("dry run", "would be removed: "+quote(path))
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing %q: %w", path, fileerr.Cause(err))
		}
		s.ui.note("removed", quote(path))
	}
	switch {
	case s.request.DryRun:
	case to != "":
		s.ui.note("note", "it was a link: what is in "+quote(to)+" stays")
	case len(others) > 0:
		s.ui.note("note", quote(dir)+" stays, for codemode has not made all that is in there: "+s.few(others))
	}
	return nil
}

// few names the first of several files.
func (s *installation) few(paths []string) string {
	var names []string
	for _, path := range paths[:min(5, len(paths))] {
		names = append(names, quote(s.tilde(path)))
	}
	if more := len(paths) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// contents is what codemode has made in a folder of its own, and what else is there.
func (s *installation) contents(dir string) (made, others []string) {
	paths := s.tenancy.paths
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		switch {
		case dir == paths.Cache && isMade(append(madeInCache[:len(madeInCache):len(madeInCache)], "tenants"), name),
			dir == paths.State && isMade(madeInState, name),
			dir == paths.Config && isMade([]string{"config.toml"}, name):
			made = append(made, path)
		case dir == paths.State && e.IsDir() && s.isTenant(path):
			ours, rest := tenantContents(path)
			if len(rest) == 0 {
				ours = []string{path}
			}
			made, others = append(made, ours...), append(others, rest...)
		default:
			others = append(others, path)
		}
	}
	return made, others
}

// isMade says whether a name is one of these, or that of a lock of it, or of what a killed codemode was writing.
func isMade(names []string, name string) bool {
	return slices.ContainsFunc(names, func(made string) bool {
		return name == made || name == made+".lock" || strings.HasPrefix(name, "."+made)
	})
}

// isTenant says whether a folder of the state is a tenant's: one of today, or one that has what those have alone.
func (s *installation) isTenant(dir string) bool {
	if slices.Contains(append(s.tenancy.config.Tenants, config.DefaultTenant), filepath.Base(dir)) {
		return true
	}
	made, others := tenantContents(dir)
	return len(others) == 0 && slices.ContainsFunc(made, func(path string) bool {
		return slices.Contains(tenantFiles, filepath.Base(path))
	})
}

func tenantContents(dir string) (made, others []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		if isMade(madeInTenantState, name) {
			made = append(made, path)
		} else {
			others = append(others, path)
		}
	}
	return made, others
}
