package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"

	"github.com/pelletier/go-toml/v2"
)

// A Project is a project's own lock: a stranger's file, of which names, versions and hashes count once its user has
// approved of it. Where its wheels come from, the user's settings say; its addresses are not read.
type Project struct {
	File string // for people
	data []byte
	key  string
}

// projectFile is where a project has it.
const projectFile = ".codemode/pylock.toml"

// ReadProject reads the lock of the innermost of a project's folders that has one; nil where none does.
func ReadProject(folders []string) (*Project, error) {
	for _, folder := range folders {
		p := &Project{File: filepath.Join(folder, projectFile)}
		data, err := plainfile.ReadWithin(folder, projectFile, maxLock)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("reading the project's lock of packages %q: %w", p.File, err)
		}
		place, err := filepath.EvalSymlinks(folder) // a folder that is replaced by a link is another project
		if err != nil {
			return nil, fmt.Errorf("reading the project's lock of packages %q: %w", p.File, fileerr.Cause(err))
		}
		sum := sha256.Sum256(append([]byte("project\x00"+place+"\x00"), data...))
		p.data, p.key = data, hex.EncodeToString(sum[:16])
		return p, nil
	}
	return nil, nil
}

// ProjectLock is what the project's lock came to when its user approved of it, as it is now and where it is; nil where
// nobody has.
func (s *Store) ProjectLock(p *Project) (*Lock, error) {
	lock, err := s.readUsed(s.projectFile(p))
	if err != nil || len(lock.Packages) == 0 {
		return nil, err
	}
	lock.Tool.Codemode.Project = p.key
	return lock, nil
}

// InstallProject is Install for a project, and its user's approval of the project's lock.
func (s *Store) InstallProject(ctx context.Context, lock *Lock, p *Project) error {
	return s.install(ctx, lock, s.projectFile(p), nil)
}

// ForgetProject takes the approval back; false where there was none.
func (s *Store) ForgetProject(p *Project) (bool, error) {
	err := os.Remove(s.projectFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *Store) projectFile(p *Project) string { return filepath.Join(s.State, withDir, p.key+".toml") }

// projectLock is a pylock.toml as other tools write it, too: with several wheels of a package, one for each platform.
type projectLock struct {
	Version  string `toml:"lock-version"`
	Packages []struct {
		Name    string `toml:"name"`
		Version string `toml:"version"`
		Marker  string `toml:"marker"`
		Wheels  []struct {
			Hashes map[string]string `toml:"hashes"`
		} `toml:"wheels"`
	} `toml:"packages"`
}

var (
	versionText = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.!+_-]{0,99}$`)
	markerText  = lazyregexp.New(`^[A-Za-z0-9 ._<>=!~"'()-]{0,300}$`)
)

// maxProject is how many packages a project's lock may have.
const maxProject = 1000

// parse returns a requirement of each package, and the hashes that its wheel may have by its normal name.
func (p *Project) parse() (requirements []string, sums map[string][]string, err error) {
	var l projectLock
	if err := toml.Unmarshal(p.data, &l); err != nil {
		return nil, nil, err
	}
	switch {
	case !strings.HasPrefix(l.Version, "1."):
		return nil, nil, fmt.Errorf("its lock-version is %.20q, and this codemode knows 1.x", l.Version)
	case len(l.Packages) == 0:
		return nil, nil, errors.New("it has no packages")
	case len(l.Packages) > maxProject:
		return nil, nil, fmt.Errorf("it has %d packages, and %d are the most", len(l.Packages), maxProject)
	}
	sums = map[string][]string{}
	for _, of := range l.Packages {
		switch {
		case !nameText().MatchString(of.Name):
			return nil, nil, fmt.Errorf("%.80q is no name of a package", of.Name)
		case !versionText().MatchString(of.Version):
			return nil, nil, fmt.Errorf("package %q has no version, and comes from no index then", of.Name)
		case !markerText().MatchString(of.Marker) || strings.Contains(of.Marker, " -"): // pip would take options there
			return nil, nil, fmt.Errorf("package %q has a marker that is none: %.80q", of.Name, of.Marker)
		case len(of.Wheels) == 0:
			return nil, nil, fmt.Errorf("package %q has no wheel, and nothing is built here", of.Name)
		}
		for _, w := range of.Wheels {
			if sum := w.Hashes["sha256"]; sha256Text().MatchString(sum) {
				sums[Normal(of.Name)] = append(sums[Normal(of.Name)], sum)
			}
		}
		requirement := of.Name + "==" + of.Version
		if of.Marker != "" {
			requirement += "; " + of.Marker
		}
		requirements = append(requirements, requirement)
	}
	return requirements, sums, nil
}

// ResolveProject finds the project's packages where the user's settings say. What is found must have a hash that the
// project's lock has, and nothing may be needed beside.
func (s *Store) ResolveProject(ctx context.Context, p *Project, w Wish) (*Lock, error) {
	requirements, sums, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("the project's lock of packages %q: %w; nothing was added", p.File, err)
	}
	w.Requirements, w.Sums = requirements, Sums{p.File, sums}
	lock, err := s.Resolve(ctx, w, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, found := range lock.Packages {
		if _, there := sums[Normal(found.Name)]; !there {
			return nil, hint.New(
				fmt.Sprintf("package %q is needed, and is not in %q; nothing was added", found.Name, p.File),
				"the lock is to be made again by who has made it, whole",
			)
		}
	}
	return lock, nil
}
