package commands

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

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
	src, _ := serveSettings(e.Server, Env{})
	return len(src.Flags) > 0 || src.File != "" || len(e.Server.Env) > 0
}

// startedBy is the tenancy of the codemode that an entry of a client starts, by the client's own variables, in the
// folder of env. With an error it starts nothing.
func (t *tenancy) startedBy(e clientcfg.Entry, env Env) (*tenancy, error) {
	of := env
	of.Lookup = func(name string) (string, bool) {
		if value, ok := e.Server.Env[name]; ok {
			return value, true
		}
		return env.Lookup(name)
	}
	src, err := serveSettings(e.Server, of)
	if err != nil {
		return nil, err
	}
	if src.File != "" {
		src.File = absolute(of, src.File)
	}
	c, err := config.Load(src)
	if err != nil {
		return nil, err
	}
	return t.with(of, src, c), nil
}

// serveSettings is what codemode serve reads its settings from by the words of an entry that starts it, with an error
// as serve has it.
func serveSettings(s config.Server, env Env) (src config.Source, err error) {
	serve := serveCommand(env, nil)
	serve.Action = func(_ context.Context, cmd *cli.Command) error {
		src = settingsSource(env, cmd)
		if cmd.Args().Present() {
			return fmt.Errorf("serve takes no arguments, but there is %q", cmd.Args().First())
		}
		return nil
	}
	serve.Writer, serve.ErrWriter = io.Discard, io.Discard
	_ = readStrictly(serve)
	err = serve.Run(context.Background(), append([]string{"serve"}, s.Args[slices.Index(s.Args, "serve")+1:]...))
	return src, err
}

// isOff says whether a client has codemode switched off by all entries that start it, or its tool; for servers of a
// project those of the project count, too.
func (t *tenancy) isOff(client string, project bool) bool {
	entries := t.codemodes(client, project)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e clientcfg.Entry) bool {
		return isOn(e) && t.found.NarrowedBy(e) == ""
	})
}

func isOn(e clientcfg.Entry) bool {
	return !e.Server.Disabled && !slices.Contains(e.Server.ToolsDeny, "run_python")
}

// codemodes are the entries by which a client starts codemode.
func (t *tenancy) codemodes(client string, project bool) []clientcfg.Entry {
	return slices.DeleteFunc(slices.Clone(t.found.Entries), func(e clientcfg.Entry) bool {
		ofProject := e.Scope == clientcfg.Project
		if ofProject && project { // which is judged by what it says, as its user's are
			e.Scope = clientcfg.User
		}
		return e.Client != client || !t.isCodemode(e)
	})
}

// usualEntry is how codemode is started by a command's --tenant, or without.
func (t *tenancy) usualEntry() clientcfg.Entry {
	args := []string{"serve"}
	if name := t.cmd.String("tenant"); name != "" {
		args = append(args, "--tenant", name)
	}
	return clientcfg.Entry{Server: config.Server{Args: args}}
}

// anothers is why a client could not reach its servers if they moved: without this shell's variables it would start
// codemode for another tenant. Empty is that it would not.
func (s *installation) anothers(client string, then map[string][]byte) (why string) {
	here, err := s.tenancy.startedBy(s.tenancy.usualEntry(), s.env)
	if err != nil {
		return err.Error()
	}
	here.overlay = then
	here.discover()
	bare, _ := s.env.bare()
	for _, e := range here.codemodes(client, false) {
		of, err := here.startedBy(e, bare)
		switch {
		case err != nil || !isOn(e): // of which is told elsewhere
		case of.config.Tenant == s.tenancy.config.Tenant:
			return ""
		default:
			why = fmt.Sprintf("codemode is started there for tenant %q: add --tenant %[1]s", of.config.Tenant)
		}
	}
	return why
}

// unread is why it is not known by what else codemode is started: it is in a file of another profile of a client's,
// which is read only where a variable says so.
func (s *installation) unread() string {
	machine := s.tenancy.machine()
	client, path, err := s.in.Elsewhere(func(path string) bool {
		return slices.ContainsFunc(s.env.withBare(), func(env Env) bool {
			machine.Lookup = env.Lookup
			return machine.Reads(path)
		})
	})
	switch {
	case err != nil:
		return err.Error()
	case path == "":
		return ""
	}
	why := fmt.Sprintf("codemode is in %q, too, which is not read here", path)
	for _, c := range clientcfg.Clients() {
		if names := c.PathVariables(); c.ID == client && len(names) > 0 {
			why += ": set " + strings.Join(names, " or ") + " as there"
		}
	}
	return why
}
