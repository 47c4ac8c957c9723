package clientcfg

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"codemode/internal/config"
)

// entry makes an Entry of a member of a table of servers. What is wrong with it is a Problem, too.
func (f *file) entry(name string, at place, v node) Entry {
	e := Entry{
		Server:  config.Server{Name: name, Source: f.path, Dialect: f.client.Dialect, Project: f.project},
		Written: name, Client: f.client.ID, Scope: f.scope, Line: at.line, column: at.column, Status: Ready,
	}
	if err := checkName(name); err != nil {
		return f.invalid(e, v, v.place, err)
	}
	if looksLikeAnother(name) {
		note(&e, "its name has characters that look like others, or like none: %+q", name)
	}
	if _, ok := v.value.(*object); !ok {
		return f.invalid(e, v, v.place, fmt.Errorf("server %q is not an object", name))
	}
	r := &fields{server: name, entry: flatten(v)}
	why := f.readKeys(&e, r)
	if why != nil {
		e.tells = min(e.tells, tellsProgram)
	}
	switch {
	case r.err != nil:
		return f.invalid(e, v, r.at, r.err)
	case why != nil:
		return f.invalid(e, v, v.place, why)
	}
	return e
}

func (f *file) invalid(e Entry, v node, at place, err error) Entry {
	e.Status, e.Reason, e.Texts = Invalid, err.Error(), v.allTexts()
	var foreign *foreignError
	if !errors.As(err, &foreign) {
		f.problem(at, e.Written, err)
		e.mistaken = f.scope != Project
	}
	return e
}

// A foreignError is an entry that is right where it is, and for its own program alone. It is no Problem.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return e.err.Error() }
func (e *foreignError) Unwrap() error { return e.err }

// checkName refuses an empty name, and control characters, which a terminal would obey.
func checkName(name string) error {
	switch {
	case name == "":
		return &config.FieldError{Server: name, Want: "has no name"}
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}):
		return &config.FieldError{Server: name, Want: "has control characters in its name"}
	}
	return nil
}

// looksLikeAnother says whether a name mixes alphabets or has characters that nobody sees: it may pose as another.
func looksLikeAnother(name string) bool {
	alphabets := 0
	for _, alphabet := range []*unicode.RangeTable{
		unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee,
	} {
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(alphabet, r) }) {
			alphabets++
		}
	}
	unseen := func(r rune) bool {
		return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r != ' ' && unicode.Is(unicode.Zs, r)
	}
	return alphabets > 1 || strings.ContainsFunc(name, unseen)
}

// flatten puts the members of nested objects where they belong: Cline's transport: {type, command, …} and the
// older Zed's command: {path, args, env}.
func flatten(v node) node {
	for _, outer := range []string{"transport", "command"} {
		inner, ok := v.get(outer)
		o, isObject := inner.value.(*object)
		if !ok || !isObject {
			continue
		}
		flat := &object{}
		for _, m := range v.value.(*object).members {
			if m.name != outer {
				flat.members = append(flat.members, m)
			}
		}
		for _, m := range o.members {
			if m.name == "path" {
				m.name = "command"
			}
			flat.members = append(flat.members, m)
		}
		v = node{flat, v.place}
	}
	return v
}

// readKeys reads the keys of an entry. Each is read whichever client the file belongs to, since people copy entries
// from one program to another; what differs by client is in its row of the table. Unknown keys are ignored. A new key
// is read here. The error says why the entry as a whole cannot be used.
func (f *file) readKeys(e *Entry, r *fields) error {
	s := &e.Server
	f.identifying(e, r)
	s.Description = r.text("description")
	if s.Description == "" {
		s.Description = f.description
	}
	s.Disabled = r.boolean("disabled", false) || !r.boolean("enabled", true) || !r.boolean("active", true)
	s.OAuth = oauth(r)
	tools(e, r)
	anythingLLM(e, r)
	f.timeouts(e, r)
	if isOwn(f.client.ID) || f.asksForSandbox(e, r) {
		f.sandbox(e, r)
	}
	if s.Command == "" && s.URL == "" && onlySwitch(r.entry) {
		e.noValues = true
		return nil
	}
	return f.transport(e, r)
}

// identifying reads what makes two entries one, and notes how much of that is without a mistake.
func (f *file) identifying(e *Entry, r *fields) {
	f.argv(e, r)
	e.Server.URL = r.text("url", "serverUrl", "httpUrl", "uri", "baseUrl", "endpoint")
	if r.err == nil && (e.Server.Command != "" || e.Server.URL != "" || r.has("tcp", "socket")) {
		e.tells = tellsProgram
	}
	f.environment(e, r)
	f.folder(e, r)
	f.headers(e, r)
	if r.err == nil && e.tells == tellsProgram {
		e.tells = tellsAll
	}
}

// onlySwitch says whether an entry only switches on or off what is defined elsewhere.
func onlySwitch(v node) bool {
	members := v.value.(*object).members
	for _, m := range members {
		if m.name != "enabled" && m.name != "disabled" {
			return false
		}
	}
	return len(members) > 0
}

func (f *file) argv(e *Entry, r *fields) {
	s := &e.Server
	s.Args = r.list("args", "arguments")
	_, v, ok := r.find("command", "cmd", "commandLine")
	if _, isList := v.value.(*list); ok && isList {
		words := r.list("command", "cmd")
		if len(words) > 0 {
			s.Command, s.Args = words[0], append(words[1:], s.Args...)
		}
		return
	}
	s.Command = r.text("command", "cmd", "commandLine")
	words := strings.Fields(s.Command)
	if len(words) < 2 || len(s.Args) > 0 || strings.ContainsAny(s.Command, `"'\`) {
		return
	}
	if _, known := launchers[base(words[0])]; known || r.has("commandLine") {
		s.Command, s.Args = words[0], words[1:]
		note(e, `its arguments are in "command"; they belong into "args"`)
	}
}

func (f *file) environment(e *Entry, r *fields) {
	s := &e.Server
	s.Env, s.EnvUnset = r.table(func(field string, at place) {
		f.problem(at, e.Written, &config.FieldError{Server: e.Written, Field: field, Want: "text; it is left out"})
		note(e, "%q is no text and left out", field)
	}, "env", "envs", "environment")
	s.EnvPass = r.list("env_vars", "env_keys")
	s.EnvFile = r.text("envFile", "env_file")
	e.envFile = s.EnvFile
	if s.EnvFile != "" {
		s.EnvFile = f.fromRoot(s.EnvFile, filepath.Dir(f.path))
	}
}

// asksForSandbox says whether an entry of another program's file asks for codemode's sandbox. To leave it out would be
// to start without restrictions what somebody has written them for. Other programs have fields of such names, too,
// which are no texts, or called otherwise; "off" is for codemode's own files, since a file of theirs can only restrict.
func (f *file) asksForSandbox(e *Entry, r *fields) bool {
	_, v, _ := r.find("sandbox")
	kind, isText := v.value.(string)
	if isText && kind != config.SandboxOff || hasRestrictions(r) {
		return true
	}
	for _, m := range r.entry.value.(*object).members {
		if isSandboxField(m.name) {
			note(e, "its %q means nothing to codemode here, whose sandbox is \"sandbox\": \"native\"", m.name)
		}
	}
	return false
}

func isSandboxField(name string) bool { return strings.HasPrefix(strings.ToLower(name), "sand") }

func hasRestrictions(r *fields) bool {
	return slices.ContainsFunc(config.ServerFields, func(name string) bool {
		return strings.HasPrefix(name, "sandbox_") && r.has(name)
	})
}

// sandbox is what the server may use in one.
func (f *file) sandbox(e *Entry, r *fields) {
	for _, m := range r.entry.value.(*object).members {
		e.restricts = e.restricts || isSandboxField(m.name)
		// Unknown fields are other programs' affair, but none of them has these: a restriction that is misspelt
		// must not be missing.
		if isSandboxField(m.name) && !slices.Contains(config.ServerFields, m.name) {
			r.wrong(
				m.name,
				"left out or meant otherwise: the fields are sandbox, sandbox_image, sandbox_read, sandbox_write, "+
					"sandbox_network, sandbox_memory",
				m.value.place,
			)
		}
	}
	restrictions := config.RestrictionsFields{
		Kind:    r.text("sandbox"),
		Image:   r.text("sandbox_image"),
		Read:    r.list("sandbox_read"),
		Write:   r.list("sandbox_write"),
		Network: r.boolean("sandbox_network", false),
		Any:     hasRestrictions(r),
	}
	for _, paths := range [][]string{restrictions.Read, restrictions.Write} {
		for i, path := range paths {
			paths[i] = f.fromRoot(path, filepath.Dir(f.path))
		}
	}
	name, memory, ok := r.find("sandbox_memory")
	if text, isText := memory.text(); ok && isText {
		restrictions.Memory = text
	} else if ok {
		r.wrong(name, "text or a number", memory.place)
	}
	var bad *config.FieldError
	if err := e.Server.SetRestrictions(restrictions); errors.As(err, &bad) {
		at, _ := r.entry.get(bad.Field)
		r.wrong(bad.Field, bad.Want, at.place)
	}
}

// fromRoot resolves a relative path of an entry: against the project's root, or against otherwise for an entry of no
// project. A path with ~, a variable or a reference is left for the start of the server.
func (f *file) fromRoot(path, otherwise string) string {
	from := cmp.Or(f.project, otherwise)
	if from == "" || strings.HasPrefix(path, "~") || strings.ContainsAny(path, "${%") || f.env.isAbs(path) {
		return path
	}
	return filepath.Join(from, path)
}

// folder is where the server starts: what comes with a project, at the project's top.
func (f *file) folder(e *Entry, r *fields) {
	s := &e.Server
	s.Cwd = r.text("cwd", "working_directory", "workingDirectory")
	e.explicit = s.Cwd
	otherwise := ""
	if s.Cwd != "" {
		otherwise = filepath.Dir(f.path)
	}
	s.Cwd = f.fromRoot(s.Cwd, otherwise)
}

func (f *file) headers(e *Entry, r *fields) {
	s := &e.Server
	odd := func(field string, at place) {
		r.wrong(field, "text", at)
	}
	s.Headers, _ = r.table(odd, "headers", "http_headers")
	if options, ok := r.entry.get("requestOptions"); ok && s.Headers == nil {
		inner := &fields{server: r.server, entry: options}
		s.Headers, _ = inner.table(odd, "headers")
		if r.err == nil {
			r.err, r.at = inner.err, inner.at
		}
	}
	s.HeadersFrom, _ = r.table(odd, "env_http_headers")
	s.BearerFrom = r.text("bearer_token_env_var", "bearerTokenEnvVar")
}

// timeouts reads the keys for the start of a server and for one call, each in its own unit.
func (f *file) timeouts(e *Entry, r *fields) {
	s := &e.Server
	unit := f.client.Unit
	if unit == 0 {
		unit = time.Millisecond
	}
	s.StartTime = max(
		r.wait(time.Second, "startup_timeout_sec"), r.wait(time.Millisecond, "startup_timeout_ms", "connectionTimeout"),
	)
	s.CallTime = max(
		r.wait(time.Second, "tool_timeout_sec"), r.wait(time.Millisecond, "request_timeout_ms"),
		r.wait(unit, "timeout"),
	)
	if s.CallTime < time.Second {
		s.CallTime = 0 // as Claude Code ignores what is below one second: its docs/mcp.md, 2026-11
	}
	if f.client.Entry != Argv {
		return
	}
	// For OpenCode a number is the time to list tools (github.com/sst/opencode/pull/3558, 2025-10). Since 2026-06 it
	// may be an object (packages/core/src/config/mcp.ts).
	s.StartTime, s.CallTime = s.CallTime, 0
	if v, ok := r.entry.get("timeout"); ok && s.StartTime == 0 {
		inner := &fields{entry: v}
		s.StartTime, s.CallTime = inner.wait(time.Millisecond, "startup"), inner.wait(time.Millisecond, "request")
	}
}
