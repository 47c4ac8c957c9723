package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Server is an MCP server of the user's, as configured, before any ${VAR} is expanded. Approvals hash its JSON form
// (clientcfg.fingerprint): renaming a field without a json tag revokes every approval.
type Server struct {
	Name        string            // as the user wrote it
	Description string            // the entry's own, else its file's
	Transport   string            // one of the constants below; empty is stdio where there is a Command, else HTTP
	Command     string            // stdio: the program
	Args        []string          //
	Env         map[string]string // stdio: added to the documented base environment
	EnvPass     []string          // variables handed on under their own names
	EnvUnset    []string          // variables of the base environment to leave out
	EnvFile     string            // file of NAME=VALUE lines, read when the server starts; Env wins over it
	Cwd         string            // stdio: where it starts; empty is a neutral directory
	URL         string            // HTTP transports
	Headers     map[string]string
	HeadersFrom map[string]string // header to the variable that holds its value
	BearerFrom  string            // variable that holds a bearer token
	OAuth       *OAuth            `json:",omitempty"` // URL: the client to sign in as; nil is none
	Disabled    bool
	ToolsAllow  []string      // names of the tools to offer; nil is all of them
	ToolsDeny   []string      // names of tools not to offer
	StartTime   time.Duration // until it has started; 0 is the general setting
	CallTime    time.Duration // of one call; 0 is the general setting
	Sandbox     *Restrictions `json:",omitempty"` // stdio: the restrictions it runs behind; nil is none of its entry's
	NoSandbox   bool          `json:",omitempty"` // not even those that mcp.sandbox would give it
	Dialect     Dialect       // how the texts above refer to variables
	Project     string        // folder of the project whose entry it is; empty for a user's own
	Source      string        // file the entry came from, for people
	// Of what EnvFile held when a project's entry was judged: it starts with nothing else.
	EnvHash string `json:"-"`
	Stamp   string `json:"-"` // changes with the files that the entry refers to, see clientcfg.Stamp
	// Names that entries have which are one with this: what forbids goes by them as by Name, see Names.
	Also []string `json:"-"`
	// Of these and Name, those that may be another server's, each with the name that this would have then: what allows
	// goes by that instead, what forbids by both.
	Doubted map[string]string `json:"-"`
	Own     bool              `json:"-"` // codemode itself is told of it: no other program's server takes its name
	Unread  string            `json:"-"` // why it may have more of them, a clause; empty where all are known
	Line    int               `json:"-"` // of Source, of a server in a config.toml; no part of what the server is
}

// Names are all that the user may mean the server by: a rule by one of them holds for it.
func (s Server) Names() []string {
	return slices.Concat([]string{s.Name}, s.Also, slices.Sorted(maps.Values(s.Doubted)))
}

// Endpoint is the address of a server by URL, whose references are replaced.
func (s Server) Endpoint() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(`the "url" of its entry is no http or https URL`)
	}
	return u, nil
}

// OAuth is the client that a user has registered at the authorization server of a server by URL. Its texts may have
// references, which are replaced when its user signs in.
type OAuth struct {
	ClientID     string   `json:"clientId"`
	Secret       string   `json:"clientSecret,omitempty"` // or a private key, in PEM
	Scopes       []string `json:"scopes,omitempty"`
	CallbackPort int      `json:"callbackPort,omitempty"` // that it is registered with, on this machine; 0 is any
}

// Transports of a Server.
const (
	Stdio = "stdio"
	HTTP  = "http" // streamable HTTP
	SSE   = "sse"  // the older HTTP transport
)

// A Dialect is the syntax in which the program whose file an entry is in writes references. What one program
// replaces is plain text to another: a password "pa$$word" must stay one.
type Dialect string

// The dialects. The zero value is codemode's own.
const (
	DialectOwn           Dialect = ""               // ${VAR}, ${VAR:-default}, ${env:VAR}, ${secret:NAME}
	DialectNone          Dialect = "none"           // everything is literal
	DialectBraces        Dialect = "braces"         // ${VAR}, ${VAR:-default}: Claude Code, Kiro
	DialectEnvColon      Dialect = "env-colon"      // ${env:VAR}, ${workspaceFolder}, ${userHome}, …: VS Code, Cursor
	DialectDollar        Dialect = "dollar"         // $VAR, ${VAR}, ${VAR:-default}, on Windows %VAR%: Gemini CLI
	DialectLeadingDollar Dialect = "leading-dollar" // as dollar, in env values that begin with one alone: Copilot CLI
	DialectCurly         Dialect = "curly"          // {env:VAR}, {file:PATH}: OpenCode
	DialectSecrets       Dialect = "secrets"        // ${{ secrets.VAR }}: Continue
)

// adopted is what a dialect ends with in a file of codemode's own.
const adopted = "+secrets"

// Adopted is a client's dialect in a file of codemode's own: ${secret:NAME} is a reference there, too.
func (d Dialect) Adopted() Dialect {
	if d == DialectOwn || strings.HasSuffix(string(d), adopted) {
		return d
	}
	return d + adopted
}

// Client is the dialect of the client, and whether it is read in a file of codemode's own.
func (d Dialect) Client() (of Dialect, isAdopted bool) {
	text, isAdopted := strings.CutSuffix(string(d), adopted)
	return Dialect(text), isAdopted
}

// Literal is the dialect of a text in which its client replaces nothing.
func (d Dialect) Literal() Dialect {
	if _, isAdopted := d.Client(); isAdopted {
		return DialectNone.Adopted()
	}
	return DialectNone
}

// String names the server without anything that could be secret.
func (s Server) String() string { return "server " + s.Name + " (" + s.Source + ")" }

// LogValue keeps env values, headers, arguments and URLs out of logs.
func (s Server) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", s.Name), slog.String("source", s.Source))
}

// ServerFields are the fields of [servers.NAME] in config.toml. Keys in other files are read by clientcfg (entry.go).
var ServerFields = []string{
	"type", "command", "args", "env", "env_file", "cwd", "description", "url", "headers", "disabled",
	"include_tools", "exclude_tools", "start_timeout", "call_timeout",
	"sandbox", "sandbox_image", "sandbox_read", "sandbox_write", "sandbox_network", "sandbox_memory",
}

// A FieldError says what is wrong with a server's entry. It holds no value of a field that may be secret.
type FieldError struct {
	Server string
	Field  string // empty when the entry as a whole is meant
	Want   string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("server %q %s", e.Server, e.Want)
	}
	return fmt.Sprintf("server %q: %q must be %s", e.Server, e.Field, e.Want)
}

// NewServer makes a server from the fields of its [servers.NAME] table in config.toml; fields it does not know are
// ignored. Entries of all other files are read by clientcfg. Every error is a *FieldError. Numbers and booleans are
// taken as their text where text belongs, because people write "PORT": 3000.
func NewServer(name string, fields map[string]any) (Server, error) {
	e := entry{server: name, fields: fields}
	s := Server{
		Name:        name,
		Description: e.text("description"),
		Command:     e.text("command"),
		Args:        e.list("args"),
		Env:         e.table("env"),
		Cwd:         e.text("cwd"),
		URL:         e.text("url"),
		Headers:     e.table("headers"),
		Disabled:    e.boolean("disabled"),
		Transport:   e.oneOf("type", Stdio, HTTP, SSE),
		EnvFile:     e.text("env_file"),
		ToolsAllow:  e.list("include_tools"),
		ToolsDeny:   e.list("exclude_tools"),
		StartTime:   e.duration("start_timeout"),
		CallTime:    e.duration("call_timeout"),
	}
	switch {
	case e.err != nil:
		return Server{}, e.err
	case name == "":
		return Server{}, &FieldError{Server: name, Want: "has no name"}
	case s.Command == "" && s.URL == "":
		return Server{}, &FieldError{Server: name, Want: `has neither "command" nor "url"`}
	case s.Transport == Stdio && s.Command == "":
		return Server{}, &FieldError{Server: name, Want: `has no "command", which its "type" needs`}
	case s.Transport != "" && s.Transport != Stdio && s.URL == "":
		return Server{}, &FieldError{Server: name, Want: `has no "url", which its "type" needs`}
	}
	restrictions := RestrictionsFields{
		Kind:    e.text("sandbox"),
		Image:   e.text("sandbox_image"),
		Read:    e.list("sandbox_read"),
		Write:   e.list("sandbox_write"),
		Network: e.boolean("sandbox_network"),
		Memory:  fields["sandbox_memory"],
		Any:     e.hasOne("sandbox_read", "sandbox_write", "sandbox_network", "sandbox_memory"),
	}
	if e.err != nil {
		return Server{}, e.err
	}
	if err := s.SetRestrictions(restrictions); err != nil {
		return Server{}, err
	}
	return s, nil
}

// entry reads fields and remembers the first that is wrong.
type entry struct {
	server string
	fields map[string]any
	err    error
}

func (e *entry) wrong(field, want string) {
	if e.err == nil {
		e.err = &FieldError{Server: e.server, Field: field, Want: want}
	}
}

func (e *entry) text(field string) string {
	v, ok := e.fields[field]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		e.wrong(field, "text")
	}
	return s
}

func (e *entry) hasOne(fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return e.fields[f] != nil })
}

func (e *entry) oneOf(field string, known ...string) string {
	s := e.text(field)
	if s != "" && !slices.Contains(known, s) {
		e.wrong(field, "one of "+strings.Join(known, ", "))
	}
	return s
}

func (e *entry) duration(field string) time.Duration {
	v, ok := e.fields[field]
	if !ok || v == nil {
		return 0
	}
	d, ok := deadline.value(v, place{})
	if !ok {
		e.wrong(field, deadline.forms)
		return 0
	}
	return d.(time.Duration)
}

func (e *entry) boolean(field string) bool {
	v, ok := e.fields[field]
	if !ok || v == nil {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		e.wrong(field, "true or false")
	}
	return b
}

func (e *entry) list(field string) []string {
	v, ok := e.fields[field]
	if !ok || v == nil {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		e.wrong(field, "a list of texts")
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := scalar(item)
		if !ok {
			e.wrong(field, "a list of texts")
		}
		list = append(list, s)
	}
	return list
}

func (e *entry) table(field string) map[string]string {
	v, ok := e.fields[field]
	if !ok || v == nil {
		return nil
	}
	items, ok := v.(map[string]any)
	if !ok {
		e.wrong(field, "a table of texts")
	}
	table := make(map[string]string, len(items))
	for name, item := range items {
		s, ok := scalar(item)
		if !ok {
			e.wrong(field, "a table of texts")
		}
		table[name] = s
	}
	return table
}

func scalar(v any) (string, bool) {
	switch v.(type) {
	case nil, map[string]any, []any:
		return "", false
	}
	return fmt.Sprint(v), true
}
