package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
)

const (
	// projectFile is a project's config.toml, in one of its ProjectFolders.
	projectFile = ".codemode/config.toml"
	// maxProject bounds one in bytes. It is a stranger's, and deep nesting costs a parser more than its size.
	maxProject = 64 << 10
	// maxProblems bounds what is told of one.
	maxProblems = 20
)

// ProjectFolders are the folders whose files come with the project: dir and those above it up to the one that
// holds the repository, the innermost first; without a repository dir alone. The home directory is nobody's
// project, nor is what is above it.
func ProjectFolders(dir, home string) []string {
	if dir == "" {
		return nil
	}
	var folders []string
	for dir = filepath.Clean(dir); !holds(dir, home); dir = filepath.Dir(dir) {
		folders = append(folders, dir)
		for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return folders
			}
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return folders[:min(len(folders), 1)]
}

// holds says whether home is dir or below it.
func holds(dir, home string) bool {
	if home == "" {
		return false
	}
	rel, err := filepath.Rel(dir, home)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// readProject reads the innermost file of the project, unless it is the user's own. What is wrong with it are
// problems, none of which stops anything.
func readProject(src Source, paths Paths) (name string, d document, problems []error) {
	own, _ := userFile(src, paths)
	for _, dir := range ProjectFolders(src.Dir, paths.Home) {
		name := filepath.Join(dir, filepath.FromSlash(projectFile))
		data, err := openProject(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), name == own:
			continue
		case err != nil:
			return name, document{}, []error{&FileError{File: name, Err: fileerr.Cause(err)}}
		}
		r := reader{file: name, layer: Project, at: place{dir: filepath.Dir(name), home: paths.Home}, project: dir}
		d, problems = r.read(data)
		for _, tenant := range slices.Sorted(maps.Keys(d.tenants)) {
			at := r.positions.of("tenants", tenant)
			problems = append(
				problems, &ProjectError{File: name, Line: at.line, Column: at.column, Key: "tenants." + tenant},
			)
		}
		return name, d, problems
	}
	return "", document{}, nil
}

// openProject reads a project's file. No link in it may lead out of the project, no pipe may make anybody wait.
func openProject(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fs.ErrNotExist // a folder that nobody may look into has no file
	}
	defer root.Close()
	return plainfile.ReadIn(root, filepath.FromSlash(projectFile), maxProject)
}

// distrust says why a project's file may not give a key a value, where the user's settings say now.
func distrust(s setting, value, now any) error {
	e := &ProjectError{File: s.file, Line: s.position.line, Column: s.position.column, Key: s.name}
	switch s.key.trust {
	case freely:
		return nil
	case extend, asks:
		return nil
	case lower, lowerZero:
		if loose(s.key.trust, value) <= loose(s.key.trust, now) {
			return nil
		}
		e.Limit = fmt.Sprint(written(now))
	}
	return e
}

// loose measures how loose a limit is.
func loose(t trust, value any) float64 {
	var n float64
	switch v := value.(type) {
	case bool: // false forbids
		if v {
			n = 1
		}
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case float64:
		n = v
	case time.Duration:
		n = float64(v)
	default:
		panic(fmt.Sprintf("a limit cannot be a %T", value)) // the table of keys is wrong
	}
	if n == 0 && t == lowerZero {
		return math.MaxFloat64
	}
	return n
}
