package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/redact"
)

// expanded is the server's entry with its references replaced. What came in is secret from then on.
func (s *server) expanded(secrets *redact.Secrets) (config.Server, error) {
	if s.pool.opts.Expand == nil {
		return s.config, nil
	}
	c, err := s.pool.opts.Expand(s.config, func(variable, value string) {
		if !slices.Contains(baseNames, variable) { // every server sees those: no secrets
			secrets.AddNamed(variable, value)
		}
	})
	secrets.Add(s.pool.opts.Secrets(c)...)
	for name, value := range c.Headers {
		secrets.AddNamed(name, value)
	}
	return c, err
}

// ownEnvironment is the base environment with what the entry adds to it and takes away.
func ownEnvironment(
	c config.Server, lookup func(string) (string, bool), trusted []string, secrets *redact.Secrets,
) (map[string]string, error) {
	return withEntry(environment(lookup, baseNames), c, lookup, trusted, secrets)
}

// Variables are those that the entry adds, its file's among them. No sandbox of the server's decides where that is.
func Variables(c config.Server, lookup func(string) (string, bool)) (map[string]string, error) {
	c.Sandbox = nil
	return withEntry(map[string]string{}, c, lookup, nil, nil)
}

// withEntry adds to an environment what the entry adds, and takes away what it takes away.
func withEntry(
	env map[string]string, c config.Server, lookup func(string) (string, bool), trusted []string,
	secrets *redact.Secrets,
) (map[string]string, error) {
	for _, name := range c.EnvUnset {
		delete(env, name)
	}
	if c.EnvFile != "" {
		path, err := home(c.EnvFile, lookup)
		if err != nil {
			return nil, err
		}
		lines, err := readEnvFile(c, path, trusted)
		if err != nil {
			return nil, err
		}
		for name, value := range lines {
			secrets.AddNamed(name, value)
			setEnv(env, name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		secrets.AddNamed(name, c.Env[name])
		setEnv(env, name, c.Env[name])
	}
	return env, nil
}

// maxEnvFile bounds a file of variables.
const maxEnvFile = 1 << 20

// readEnvFile reads lines NAME=VALUE, with or without "export" and quotes; # begins a comment line. Errors name
// lines and never hold them. What a project's file holds must be what was approved.
func readEnvFile(c config.Server, path string, trusted []string) (map[string]string, error) {
	data, err := loadEnvFile(c, path, trusted)
	if err != nil {
		return nil, fmt.Errorf("reading the file of variables: %w", err)
	}
	if sum := sha256.Sum256(data); c.EnvHash != "" && c.EnvHash != hex.EncodeToString(sum[:]) {
		return nil, hint.New(
			fmt.Sprintf("its file of variables %q has changed since it was approved; nothing was started", path),
			"look at it, then: codemode servers approve "+hint.Word(c.Name),
		)
	}
	env := map[string]string{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("reading the file of variables: %q line %d is not NAME=VALUE", path, n)
		}
		env[name] = unquote(strings.TrimSpace(value))
	}
	return env, nil
}

// loadEnvFile reads the file once, as a whole; a project's is opened within the project. That of a server in a sandbox
// is read through no link that its sandbox would not be given a path by: another server may have made it.
func loadEnvFile(c config.Server, path string, trusted []string) ([]byte, error) {
	read := func() ([]byte, error) { return plainfile.Read(path, maxEnvFile) }
	switch {
	case c.EnvHash != "":
		read = func() ([]byte, error) { return plainfile.ReadWithin(c.Project, path, maxEnvFile) }
	case c.Sandbox != nil:
		read = func() ([]byte, error) { return plainfile.ReadFollowed(path, trusted, maxEnvFile) }
	}
	data, err := read()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return data, nil
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// home replaces a leading ~.
func home(path string, lookup func(string) (string, bool)) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~`+string(filepath.Separator)) {
		return path, nil
	}
	dir, ok := homeDir(lookup)
	if !ok {
		return "", fmt.Errorf("%q needs a home directory, and there is none", path)
	}
	return dir + path[1:], nil
}
