package commands

import (
	"runtime"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// withoutFlags are tenants as they are in a folder without this command's flags, with what Claude Code has for all
// projects: with the variables of this command; without those that are settings, where there are some, for they hide
// what files say; and with none that says where files are, as a client starts codemode that does not have them. Of
// settings with a mistake nothing is started.
func (t *tenancy) withoutFlags(names []string, dir string) (list []*tenancy) {
	env := t.env.in(dir)
	src := settingsSource(env, t.cmd)
	if src.File != "" {
		src.File = absolute(t.env, src.File)
	}
	add := func(env Env, tenant string, filesAlone bool) (c config.Config, err error) {
		src.Lookup, src.FilesAlone = env.Lookup, filesAlone
		src.Flags = map[string]any{"tenant": tenant}
		if c, err = config.Load(src); err == nil {
			other := t.with(env, src, c)
			other.allProjects = true
			list = append(list, other)
		}
		return c, err
	}
	for _, name := range names {
		if c, err := add(env, name, false); len(c.Variables) > 0 || err != nil {
			_, _ = add(env, name, true)
		}
	}
	if bare, differs := env.bare(); differs {
		c, _ := add(bare, config.DefaultTenant, false)
		for _, name := range c.Tenants {
			if name != config.DefaultTenant {
				_, _ = add(bare, name, false)
			}
		}
	}
	return list
}

// with is a tenancy of other settings, and of the variables that they were read with.
func (t *tenancy) with(env Env, src config.Source, c config.Config) *tenancy {
	other := &tenancy{
		env: env, cmd: t.cmd, config: c, file: config.UserFile(src), paths: config.FindPaths(env.Lookup, runtime.GOOS),
	}
	other.approvals, other.unapproved = clientcfg.LoadApprovals(other.approvalsFile())
	return other
}

// in is the environment in another folder.
func (env Env) in(dir string) Env {
	env.Dir = dir
	return env
}

// bare is the environment without the variables that decide about servers. differs is that it has any.
func (env Env) bare() (bare Env, differs bool) {
	decides := func(name string) bool {
		return strings.HasPrefix(name, "CODEMODE_") || clientcfg.IsOriginalVariable(name) ||
			slices.Contains(clientcfg.PathVariables(), name)
	}
	differs = slices.ContainsFunc(env.Environ, func(text string) bool {
		name, value, _ := strings.Cut(text, "=")
		return value != "" && decides(name)
	})
	bare = env
	bare.isBare = true
	bare.Lookup = func(name string) (string, bool) {
		if decides(name) {
			return "", false
		}
		return env.Lookup(name)
	}
	return bare, differs
}

// withBare is the environment, and, if that differs, the bare one.
func (env Env) withBare() []Env {
	if bare, differs := env.bare(); differs {
		return []Env{env, bare}
	}
	return []Env{env}
}
