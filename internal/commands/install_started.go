package commands

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// isCodemode says whether an entry of the user's starts codemode. What a project's file says of it is a stranger's.
func (t *tenancy) isCodemode(e clientcfg.Entry) bool {
	return e.Scope != clientcfg.Project &&
		clientcfg.StartsCodemode(e.Server, t.machine(), clientcfg.Self{Executable: t.env.Self})
}

// unknownSettings is why it is not known by which settings a client starts codemode; empty is that it is.
func (s *installation) unknownSettings(overlays ...map[string][]byte) string {
	for _, of := range s.tenancy.withoutFlags(s.tenancy.config.Tenants, s.env.Dir) {
		for _, of.overlay = range overlays {
			of.discover()
			for _, e := range of.found.Entries {
				if why := of.unknownIn(e); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

func (t *tenancy) unknownIn(e clientcfg.Entry) string {
	if !t.isCodemode(e) || e.Server.Command == "" {
		return ""
	}
	if t.hasUnknownSettings(e.Server) {
		return titleOf(e) + " starts codemode by settings that are not known here"
	}
	if _, err := t.startedBy(e, t.env.in(t.startsIn(e.Server))); err != nil {
		return titleOf(e) + " starts codemode by settings with a mistake: " + err.Error()
	}
	return ""
}

// hasUnknownSettings says whether settings of codemode's come from a file of variables, by a reference, with what
// starts it, or with a folder that is not known.
func (t *tenancy) hasUnknownSettings(s config.Server) bool {
	refers := func(text string) bool { return strings.ContainsAny(text, "$%{") }
	for name, value := range s.Env {
		if refers(value) && clientcfg.IsSetting(name) {
			return true
		}
	}
	given := s.EnvFile != "" || slices.ContainsFunc(s.EnvPass, clientcfg.IsSetting)
	return given || slices.ContainsFunc(s.Args, refers) || s.Cwd != "" && !filepath.IsAbs(t.startsIn(s)) ||
		clientcfg.WrapsCodemode(s, t.machine(), clientcfg.Self{Executable: t.env.Self})
}

// startsIn is the folder that a client starts codemode in; one that is not absolute is not known.
func (t *tenancy) startsIn(s config.Server) string {
	home, _ := t.home()
	return fromHome(cmp.Or(s.Cwd, t.env.Dir), home)
}

// hasSettings says whether an entry of codemode has settings of its own.
func hasSettings(e clientcfg.Entry) bool {
	flags, file := settingsIn(e.Server.Args)
	return len(flags) > 0 || file != "" || len(e.Server.Env) > 0
}

// startedBy is the tenancy of the codemode that an entry of a client starts, by the client's own variables, in the
// folder of env. With an error it starts nothing.
func (t *tenancy) startedBy(e clientcfg.Entry, env Env) (*tenancy, error) {
	flags, file := settingsIn(e.Server.Args)
	of := env
	of.Lookup = func(name string) (string, bool) {
		if value, ok := e.Server.Env[name]; ok {
			return value, true
		}
		return env.Lookup(name)
	}
	src := config.Source{Lookup: of.Lookup, Dir: env.Dir, File: file, Flags: flags}
	if file != "" {
		src.File = absolute(of, file)
	}
	c, err := config.Load(src)
	if err != nil {
		return nil, err
	}
	return t.with(of, src, c), nil
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

// unreachable is why a client could not reach its servers if they moved: codemode is off there, or another tenant's.
// Empty is that it could.
func (s *installation) unreachable(client string) (why string) {
	entries := slices.DeleteFunc(slices.Clone(s.tenancy.found.Entries), func(e clientcfg.Entry) bool {
		return e.Client != client || !s.tenancy.isCodemode(e)
	})
	if !slices.ContainsFunc(entries, func(e clientcfg.Entry) bool { return e.Written == s.request.Name }) {
		return "" // it is about to be put there
	}
	for _, e := range entries {
		of, _ := s.tenancy.startedBy(e, s.env) // unknownSettings tells of an error
		switch {
		case e.Server.Disabled:
			why = "codemode is switched off there"
		case slices.Contains(e.Server.ToolsDeny, "run_python"):
			why = "codemode's run_python is switched off there"
		case of != nil && hasSettings(e) && s.request.Tenant == "" && of.config.Tenant != s.tenancy.config.Tenant:
			tenant := of.config.Tenant
			why = "codemode is started there for tenant " + quote(tenant) + ": add --tenant " + tenant
		default:
			return ""
		}
	}
	return why
}
