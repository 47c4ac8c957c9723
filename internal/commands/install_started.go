package commands

import (
	"runtime"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// startedBy is the tenancy of the codemode that an entry of a client starts in a folder, where the entry has settings
// of its own: nil is that it has none, or one with a mistake, with which nothing is started.
func (t *tenancy) startedBy(e clientcfg.Entry, dir string) *tenancy {
	flags, file := settingsIn(e.Server.Args)
	if len(flags) == 0 && file == "" && len(e.Server.Env) == 0 {
		return nil
	}
	env := t.env
	env.Dir = dir
	env.Lookup = func(name string) (string, bool) {
		if value, ok := e.Server.Env[name]; ok {
			return value, true
		}
		return t.env.Lookup(name)
	}
	src := config.Source{Lookup: env.Lookup, Dir: dir, File: file, Flags: flags}
	if file != "" {
		src.File = absolute(env, file)
	}
	c, err := config.Load(src)
	if err != nil {
		return nil
	}
	other := &tenancy{
		env: env, cmd: t.cmd, config: c, file: config.UserFile(src), paths: config.FindPaths(env.Lookup, runtime.GOOS),
	}
	other.approvals, other.unapproved = clientcfg.LoadApprovals(other.approvalsFile())
	return other
}

// settingsIn are the settings among the arguments of codemode, by their names, and the file of settings.
func settingsIn(args []string) (flags map[string]any, file string) {
	flags = map[string]any{}
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "-") {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		name = strings.TrimLeft(name, "-")
		if name == "config" {
			file = value
		}
		for _, d := range config.Docs() {
			switch {
			case d.Flag != "--"+name:
			case slices.Contains(repeated, name):
				list, _ := flags[d.Name].([]string)
				flags[d.Name] = append(list, value)
			default:
				flags[d.Name] = value
			}
		}
	}
	return flags, file
}

// useless is why a client's servers would be nowhere if they moved: the codemode there is off, or another tenant's.
// Empty is that they would not. What a project's file says of codemode is a stranger's.
func (s *installation) useless(client string) (why string) {
	entries := slices.DeleteFunc(slices.Clone(s.tenancy.found.Entries), func(e clientcfg.Entry) bool {
		ours := e.Client == client && e.StartsSelf && e.Scope != clientcfg.Project
		return !ours || clientcfg.StartsOriginal(e.Server)
	})
	if !slices.ContainsFunc(entries, func(e clientcfg.Entry) bool { return e.Written == s.request.Name }) {
		return "" // it is about to be put there
	}
	for _, e := range entries {
		of := s.tenancy.startedBy(e, s.env.Dir)
		switch {
		case e.Server.Disabled:
			why = "codemode is switched off there"
		case slices.Contains(e.Server.ToolsDeny, "run_python"):
			why = "codemode's run_python is switched off there"
		case of != nil && s.request.Tenant == "" && of.config.Tenant != s.tenancy.config.Tenant:
			tenant := of.config.Tenant
			why = "codemode is started there for tenant " + quote(tenant) + ": add --tenant " + tenant
		default:
			return ""
		}
	}
	return why
}
