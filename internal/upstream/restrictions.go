package upstream

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
	"codemode/internal/proc"
)

// restricted is how a server is started that runs in a sandbox.
func (s *server) restricted(restrictions config.Restrictions, envFile string) (proc.Starter, error) {
	if s.pool.opts.Sandbox == nil {
		return nil, errors.New("its entry asks for a sandbox, and there is none here")
	}
	for _, paths := range []*[]string{&restrictions.Read, &restrictions.Write} {
		*paths = slices.Clone(*paths)
		for i, path := range *paths {
			path, err := home(path, s.pool.opts.Lookup)
			if err != nil {
				return nil, err
			}
			(*paths)[i] = path
		}
	}
	if envFile != "" {
		if err := s.unchangeable(envFile, restrictions.Write); err != nil {
			return nil, err
		}
	}
	return s.pool.opts.Sandbox(restrictions, s.config.Project), nil
}

// unchangeable refuses a file of variables that the server may write to, or replace by a link to another's: its next
// start would read it. A link on the way to it counts, too.
func (s *server) unchangeable(file string, write []string) error {
	file, err := home(file, s.pool.opts.Lookup)
	if err != nil {
		return err
	}
	for _, place := range plainfile.Trail(filepath.Clean(file)) {
		for _, dir := range write {
			if within(filepath.Clean(dir), place) || within(real(dir), place) {
				return fmt.Errorf("its file of variables %q is in %q, which sandbox_write lets it change", file, dir)
			}
		}
	}
	return nil
}

// insideProject refuses a folder outside of the project for a server that came with it: its sandbox shows where it
// starts.
func (s *server) insideProject(dir string) error {
	project := s.config.Project
	if project == "" || within(real(project), real(dir)) || dir == neutralDir(s.pool.opts.Lookup) {
		return nil
	}
	return fmt.Errorf("its folder %q is outside of the project %q, which its sandbox does not show", dir, project)
}

// startsIn is the folder that a server starts in, by that of its entry.
func (s *server) startsIn(cwd string, inPod bool) (string, error) {
	dir, err := home(cwd, s.pool.opts.Lookup)
	switch {
	case err != nil:
		return "", err
	case dir == "":
		return neutralDir(s.pool.opts.Lookup), nil
	case inPod:
		return dir, nil
	}
	return dir, s.leadsOut(dir)
}

// leadsOut refuses a folder in the project that a server came with which leads out of that through a link: whoever has
// approved the entry was shown the path.
func (s *server) leadsOut(dir string) error {
	project := s.config.Project
	if project == "" || !within(filepath.Clean(project), filepath.Clean(dir)) || within(real(project), real(dir)) {
		return nil
	}
	return hint.New(
		fmt.Sprintf("its folder %q leads out of the project, to %q; nothing was started", dir, real(dir)),
		"where that is meant, name it in the entry, and approve that",
	)
}

// real is a path whose links have been followed, or that is not there.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// within tells whether a path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// What programs say when a restriction is in their way, in the words of libc, node and Python.
var (
	saysNetwork = lazyregexp.New(
		`(?i)EAI_AGAIN|ENOTFOUND|ENETUNREACH|connect EACCES|network is unreachable|name resolution|resolve host|getaddrinfo`,
	)
	saysReadOnly = lazyregexp.New(`(?i)EROFS|read-only file system`)
	saysMissing  = lazyregexp.New(
		`(?i)ENOENT|no such file or directory|cannot find (?:module|package)|no module named|not found`,
	)
)

// SandboxHint says which restriction may have been in the way of a server in a sandbox; empty for any other.
func (e *StartError) SandboxHint() string {
	words := e.Error() + "\n" + e.Stderr
	switch {
	case e.Restrictions == nil, e.Restrictions.Image != "",
		e.Step == "starting" && e.Stderr == "": // it has not come so far
		return ""
	case !e.Restrictions.Network && saysNetwork().MatchString(words):
		return "its sandbox has no network; sandbox_network = true in its entry gives it this machine's"
	case saysReadOnly().MatchString(words):
		return "its sandbox lets it change nothing but its own empty home and what sandbox_write names in its entry"
	case saysMissing().MatchString(words):
		return "its sandbox shows it the system, its own installation and what sandbox_read and sandbox_write name in its entry"
	}
	if !e.Restrictions.Network {
		return "it runs in a sandbox without a network; npx, uvx and the like, which fetch packages, need one and a cache: see the guide, \"Servers in a sandbox\""
	}
	return "it runs in a sandbox, see sandbox in its entry"
}
