package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/config"
	"codemode/internal/proc"
	"codemode/internal/redact"
)

// depthVariable counts how many codemodes are above a process, so that one that is configured as its own
// server ends the chain. A server that runs codemode itself, to execute a script say, is no mistake; hence more than
// one.
const depthVariable = "CODEMODE_DEPTH"

// MaxDepth is how many codemodes may be above one that starts servers.
const MaxDepth = 2

// spec says how to start the server: its entry, expanded, on top of the base environment. What it
// expands is secret from then on.
func (s *server) spec(secrets *redact.Secrets) (proc.Spec, error) {
	if s.config.Command == "" {
		return proc.Spec{}, errors.New("its entry has neither a command nor a URL")
	}
	lookup, trusted := s.pool.opts.Lookup, s.pool.opts.Trusted
	depth, err := nextDepth(lookup)
	if err != nil {
		return proc.Spec{}, err
	}
	c, err := s.expanded(secrets)
	if err != nil {
		return proc.Spec{}, err
	}
	inPod := c.Sandbox != nil && c.Sandbox.Image != ""
	env := map[string]string{} // of this machine's, a pod has none
	if inPod {
		env, err = withEntry(env, c, lookup, trusted, secrets)
	} else {
		env, err = ownEnvironment(c, lookup, trusted, secrets)
	}
	if err != nil {
		return proc.Spec{}, err
	}
	if !s.pool.opts.AsClient && !inPod {
		setEnv(env, depthVariable, depth)
	}
	command, err := home(c.Command, lookup)
	if err != nil {
		return proc.Spec{}, err
	}
	spec := proc.Spec{Args: c.Args}
	if spec.Dir, err = s.startsIn(c.Cwd, inPod); err != nil {
		return proc.Spec{}, err
	}
	for name, value := range env {
		if strings.ContainsRune(name+value, 0) {
			return proc.Spec{}, fmt.Errorf("the environment variable %q has a NUL in it", name)
		}
		spec.Env = append(spec.Env, name+"="+value)
	}
	slices.Sort(spec.Env)
	if inPod {
		spec.Path = c.Command
		spec.Start, err = s.restricted(*c.Sandbox, c.EnvFile)
		return spec, err
	}
	if c.Sandbox != nil {
		if err = s.insideProject(spec.Dir); err != nil {
			return proc.Spec{}, err
		}
		if spec.Start, err = s.restricted(*c.Sandbox, c.EnvFile); err != nil {
			return proc.Spec{}, err
		}
	}
	spec.Path, err = findProgram(command, spec.Dir, env)
	return spec, err
}

// Programs looks for the programs of many servers, and for each program once. It belongs to one goroutine.
type Programs struct {
	lookup func(string) (string, bool)
	asked  map[[4]string]error // by the command, its folder, and programNames
	tried  []string
}

// programNames are the variables that decide which file a command is.
var programNames = []string{"PATH", "PATHEXT"}

// NewPrograms knows of no program yet.
func NewPrograms(lookup func(string) (string, bool)) *Programs {
	return &Programs{lookup: lookup, asked: map[[4]string]error{}}
}

// Missing says what keeps a server's program from being started, as far as that can be told without starting it: that
// it is not there. References in s are replaced.
func (p *Programs) Missing(s config.Server) error {
	anywhere := s
	anywhere.Sandbox = nil // its start tells of a link, and gets no more of the file than where to look
	env, err := withEntry(environment(p.lookup, programNames), anywhere, p.lookup, nil, nil)
	if err != nil || s.Command == "" || s.Sandbox != nil && s.Sandbox.Image != "" {
		return nil // which its start tells
	}
	command, err := home(s.Command, p.lookup)
	if err != nil {
		return err
	}
	key := [4]string{command, s.Cwd, env["PATH"], env["PATHEXT"]}
	missing, asked := p.asked[key]
	if !asked {
		dir, err := home(s.Cwd, p.lookup)
		if err != nil || dir == "" {
			dir = neutralDir(p.lookup)
		}
		var found string
		found, missing = findProgram(command, dir, env)
		p.asked[key] = missing
		for _, file := range programFiles(command, dir, env) {
			if p.tried = append(p.tried, file); file == found {
				break
			}
		}
	}
	return missing
}

// Tried are the files that were looked for.
func (p *Programs) Tried() []string { return p.tried }

// Depth is how many codemodes are above this process.
func Depth(lookup func(string) (string, bool)) int {
	value, _ := lookup(depthVariable)
	depth, _ := strconv.Atoi(value)
	return max(depth, 0)
}

// nextDepth is the depth variable's value for a child.
func nextDepth(lookup func(string) (string, bool)) (string, error) {
	depth := Depth(lookup)
	if depth > MaxDepth {
		return "", fmt.Errorf(
			"codemode runs %d levels deep in itself already (%s=%d); is it its own server?", depth, depthVariable,
			depth,
		)
	}
	return strconv.Itoa(depth + 1), nil
}

// neutralDir is where a server starts that does not say where: the home directory, which nobody else
// can put files into that npx or uv would believe, as they could in the temporary directory.
func neutralDir(lookup func(string) (string, bool)) string {
	if home, ok := homeDir(lookup); ok {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return string(filepath.Separator)
}

// findProgram finds a command in the PATH of the server's own environment; with a separator in it, it is
// a path, seen from the server's directory.
func findProgram(command, dir string, env map[string]string) (string, error) {
	files := programFiles(command, dir, env)
	if isPath(command) {
		return executable(files[0], env)
	}
	for _, file := range files {
		if path, err := executable(file, env); err == nil {
			return path, nil
		}
	}
	return "", noCommandError(fmt.Sprintf("command %q was not found in PATH", command))
}

func isPath(command string) bool {
	return strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator)
}

// programFiles are those that a command may be, in the order in which they are looked for.
func programFiles(command, dir string, env map[string]string) (files []string) {
	switch {
	case filepath.IsAbs(command):
		return []string{command}
	case isPath(command):
		return []string{filepath.Join(dir, command)}
	}
	for _, d := range filepath.SplitList(env["PATH"]) {
		if filepath.IsAbs(d) { // "." and "" are how strangers' programs get run
			files = append(files, filepath.Join(d, command))
		}
	}
	return files
}
