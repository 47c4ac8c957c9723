package clientcfg

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/redact"
)

// A Ref is a reference in a text of an entry, such as ${GITHUB_TOKEN}.
type Ref struct {
	Text       string // as it is written
	Variable   string // of the environment
	Default    string // for a Variable that is not set, or empty
	HasDefault bool
	File       string // its content replaces the reference
	Secret     string // of codemode's own
	Folder     string // workspaceFolder, userHome, …
	Asks       string // what only the program itself can find out: by asking its user, or by running a command
}

// references are the syntaxes of the dialects, where the names of groups are the fields of a Ref. They are
// compiled when they are first needed, which for most users is never.
var references = map[config.Dialect]func() *regexp.Regexp{
	config.DialectOwn: lazyregexp.New(
		`\$\{(?:(?P<asks>input:[^}]*)|secret:(?P<secret>[^}]+)|(?:env:)?` + name + `(?P<has>:-(?P<default>[^}]*))?)\}`,
	),
	config.DialectBraces: lazyregexp.New(`\$\{` + name + `(?P<has>:-(?P<default>[^}]*))?\}`),
	config.DialectEnvColon: lazyregexp.New(
		`\$\{(?:env:(?P<var>[^}]+)|file:(?P<file>[^}]+)|(?P<asks>(?:input|command|config):[^}]*)|(?P<folder>workspaceFolder(?:Basename)?|workspaceRoot|userHome|pathSeparator|/))\}`,
	),
	config.DialectDollar:        lazyregexp.New(dollar),
	config.DialectLeadingDollar: lazyregexp.New(dollar),
	config.DialectCurly:         lazyregexp.New(`\{(?:env:(?P<var>[^}]+)|file:(?P<file>[^}]+))\}`),
	config.DialectSecrets:       lazyregexp.New(`\$\{\{\s*secrets\.(?P<var>[\w-]+)\s*\}\}`),
}

const (
	name   = `(?P<var>[A-Za-z_][A-Za-z0-9_]*)`
	dollar = `\$\{` + name + `(?P<has>:-(?P<default>[^}]*))?\}|\$` + name +
		`|(?P<asks>\$\([^)]*\))|%(?P<percent>[A-Za-z_][A-Za-z0-9_]*)%`
)

// replaceRefs replaces each reference in a text, in one pass: what comes in is not looked at again.
func replaceRefs(d config.Dialect, text string, replace func(Ref) string) string {
	if d, isAdopted := d.Client(); isAdopted {
		return replaceAdopted(d, text, replace)
	}
	compiled, ok := references[d]
	if !ok || !strings.ContainsAny(text, "$%{") {
		return text
	}
	re := compiled()
	var out strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		ref := Ref{Text: text[m[0]:m[1]]}
		for i, group := range re.SubexpNames() {
			if group == "" || m[2*i] < 0 {
				continue
			}
			value := text[m[2*i]:m[2*i+1]]
			switch group {
			case "var", "percent":
				ref.Variable = value
			case "has":
				ref.HasDefault = true
			case "default":
				ref.Default = value
			case "file":
				ref.File = value
			case "secret":
				ref.Secret = value
			case "folder":
				ref.Folder = value
			case "asks":
				ref.Asks = value
			}
		}
		out.WriteString(text[last:m[0]])
		out.WriteString(replace(ref))
		last = m[1]
	}
	out.WriteString(text[last:])
	return out.String()
}

var secretRef = lazyregexp.New(`\$\{secret:([^}]+)\}`)

// replaceAdopted replaces the references of a client's dialect, and those to secrets, which none of them has.
func replaceAdopted(d config.Dialect, text string, replace func(Ref) string) string {
	if !strings.Contains(text, "${secret:") {
		return replaceRefs(d, text, replace)
	}
	var out strings.Builder
	last := 0
	for _, m := range secretRef().FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(replaceRefs(d, text[last:m[0]], replace))
		out.WriteString(replace(Ref{Text: text[m[0]:m[1]], Secret: text[m[2]:m[3]]}))
		last = m[1]
	}
	out.WriteString(replaceRefs(d, text[last:], replace))
	return out.String()
}

// A Resolver is what references are replaced from when a server starts.
type Resolver struct {
	OS     string
	Home   string
	Lookup func(string) (string, bool)
	// Nil: entries that want a file's content cannot start. No link may lead out of a project of the server's.
	ReadFile func(s config.Server, path string) ([]byte, error)
	Secret   func(name string) (string, error) // nil: those that want a secret cannot
	// Told each value that came from outside: it may be a secret. A file's has no variable; a secret's is "secret".
	Resolved func(variable, value string)
}

// Expand replaces the references of an entry as the program that it is from would, and fills in what it has
// handed on to it: EnvPass, HeadersFrom, BearerFrom. EnvFile and a leading "~" are left to the caller. The
// error names what is missing, never a value.
func Expand(s config.Server, r Resolver) (config.Server, error) {
	x := &expansion{server: s, from: r}
	s.Command = x.text(s.Command)
	s.Args = x.list(s.Args)
	s.Cwd, s.URL, s.EnvFile = x.text(s.Cwd), x.text(s.URL), x.text(s.EnvFile)
	if s.Sandbox != nil {
		restrictions := *s.Sandbox
		restrictions.Image = x.text(restrictions.Image)
		restrictions.Read, restrictions.Write = x.list(restrictions.Read), x.list(restrictions.Write)
		s.Sandbox = &restrictions
	}
	s.Env, s.Headers = x.table(s.Env, x.envValue), x.table(s.Headers, x.text)
	for _, name := range s.EnvPass {
		if value, ok := x.lookup(name); ok {
			s.Env = set(s.Env, name, value)
		}
	}
	for _, header := range slices.Sorted(maps.Keys(s.HeadersFrom)) {
		s.Headers = set(s.Headers, header, x.required(s.HeadersFrom[header]))
	}
	if s.BearerFrom != "" {
		s.Headers = set(s.Headers, "Authorization", "Bearer "+x.required(s.BearerFrom))
	}
	s.EnvPass, s.HeadersFrom, s.BearerFrom, s.Dialect = nil, nil, "", config.DialectNone
	return s, x.err
}

// ExpandOAuth replaces the references in the client that an entry names for its sign-in, which no start needs.
func ExpandOAuth(s config.Server, r Resolver) (config.OAuth, error) {
	if s.OAuth == nil {
		return config.OAuth{}, nil
	}
	x, o := &expansion{server: s, from: r}, *s.OAuth
	o.ClientID, o.Secret, o.Scopes = x.text(o.ClientID), x.text(o.Secret), x.list(o.Scopes)
	return o, x.err
}

func set(table map[string]string, name, value string) map[string]string {
	if table == nil {
		table = map[string]string{}
	}
	table[name] = value
	return table
}

type expansion struct {
	server config.Server
	from   Resolver
	came   int   // bytes, of what came in
	err    error // the first
}

// maxExpanded bounds what comes in for the references of one entry: a stranger's may name one file thousands of times.
const maxExpanded = 1 << 20

func (x *expansion) fail(format string, args ...any) string {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
	return ""
}

func (x *expansion) lookup(name string) (string, bool) {
	if x.from.Lookup == nil {
		return "", false
	}
	value, ok := x.from.Lookup(name)
	x.resolved(name, value)
	return value, ok
}

func (x *expansion) resolved(variable, value string) {
	if x.came += len(value); x.came > maxExpanded {
		x.fail("what its references stand for has more than %d bytes", maxExpanded)
		return
	}
	if x.from.Resolved != nil && value != "" {
		x.from.Resolved(variable, value)
	}
}

func (x *expansion) required(name string) string {
	value, ok := x.lookup(name)
	if !ok {
		return x.fail("the environment variable %s is not set", name)
	}
	return value
}

func (x *expansion) list(list []string) []string {
	out := slices.Clone(list)
	for i, s := range out {
		out[i] = x.text(s)
	}
	return out
}

func (x *expansion) table(table map[string]string, each func(string) string) map[string]string {
	if table == nil {
		return nil
	}
	out := make(map[string]string, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		out[name] = each(table[name])
	}
	return out
}

// envValue is a value of Env, the only texts in which Copilot CLI replaces anything.
func (x *expansion) envValue(s string) string {
	if strings.HasPrefix(s, "$") {
		return replaceRefs(x.server.Dialect, s, x.ref)
	}
	return x.text(s)
}

func (x *expansion) text(s string) string {
	d := x.server.Dialect
	if of, _ := d.Client(); of == config.DialectLeadingDollar {
		d = d.Literal()
	}
	return replaceRefs(d, s, x.ref)
}

func (x *expansion) ref(ref Ref) string {
	switch {
	case ref.Asks != "":
		text := ref.Text
		if strings.HasPrefix(ref.Asks, "$(") {
			text = "$(…)" // the command may hold what it should not
		}
		return x.fail("%s can only be found out by the program that the entry was written for", text)
	case ref.File != "":
		return x.file(ref)
	case ref.Secret != "":
		return x.secret(ref)
	case ref.Folder != "":
		return x.folder(ref)
	}
	if strings.HasPrefix(ref.Text, "%") && x.from.OS != "windows" {
		return ref.Text
	}
	value, ok := x.lookup(ref.Variable)
	switch {
	case ref.HasDefault && value == "": // as in a shell, ":-" is for empty variables, too
		return ref.Default
	case ok:
		return value
	}
	switch of, _ := x.server.Dialect.Client(); of {
	case config.DialectCurly:
		return "" // as OpenCode does
	case config.DialectDollar, config.DialectLeadingDollar:
		return ref.Text // as Gemini CLI does
	}
	return x.fail("the environment variable %s is not set", ref.Variable)
}

// Asks says whether an entry refers to what only the program that it was written for can find out.
func (e Entry) Asks() bool {
	return slices.ContainsFunc(refs(e.Server), func(r Ref) bool { return r.Asks != "" })
}

func (x *expansion) file(ref Ref) string {
	switch {
	case x.err != nil:
		return "" // it is told, and nothing is started
	case x.from.ReadFile == nil:
		return x.fail("%s is not read here", ref.Text)
	}
	path, within := referenced(ref.File, x.from.Home, x.server.Source), x.server.Project
	if within != "" { // a stranger's entry is not to fetch the keys of its user
		if name, err := filepath.Rel(within, path); err != nil || !filepath.IsLocal(name) {
			return x.fail("%w", hint.New(
				fmt.Sprintf("%s stands in an entry of a project, which gets no file from outside of %q", ref.Text, within),
				"write an entry of your own: codemode servers add",
			))
		}
	}
	data, err := x.from.ReadFile(x.server, path)
	switch {
	case err != nil && within != "":
		return x.fail("reading the file for %s, which must be in %q: %w", ref.Text, within, err)
	case err != nil:
		return x.fail("reading the file for %s: %w", ref.Text, err)
	}
	value := strings.TrimSpace(string(data))
	if x.resolved("", value); x.err != nil {
		return ""
	}
	return value
}

// secret is a value that the user has given to codemode: for entries of their own, and for no stranger's.
func (x *expansion) secret(ref Ref) string {
	switch {
	case x.server.Project != "":
		return x.fail("%w", hint.New(
			ref.Text+" stands in an entry of a project, which gets no secret of yours",
			"write an entry of your own: codemode servers add",
		))
	case x.from.Secret == nil:
		return x.fail("%s is not known here", ref.Text)
	}
	value, err := x.from.Secret(ref.Secret)
	if err != nil {
		return x.fail("%s: %w", ref.Text, err)
	}
	x.resolved("secret", value) // it is one however short it is
	return value
}

func (x *expansion) folder(ref Ref) string {
	switch ref.Folder {
	case "userHome":
		if x.from.Home != "" {
			return x.from.Home
		}
		return x.fail("%s: there is no home directory", ref.Text)
	case "pathSeparator", "/":
		if x.from.OS == "windows" {
			return `\`
		}
		return "/"
	}
	if x.server.Project == "" {
		return x.fail("%s: the entry is for no project", ref.Text)
	}
	if ref.Folder == "workspaceFolderBasename" {
		return filepath.Base(x.server.Project)
	}
	return x.server.Project
}

// unmet decides whether an entry could start now: Ready, or the status and reason why not, and what the user can do
// other than change the entry. It reads no file that the entry refers to.
func (o Options) unmet(written config.Server) (status Status, reason string, ways []string) {
	var secrets redact.Secrets
	s, err := Expand(written, Resolver{
		OS: o.Env.OS, Home: o.Env.Home, Lookup: o.Env.Lookup, Resolved: secrets.AddNamed,
		ReadFile: func(config.Server, string) ([]byte, error) { return nil, nil }, Secret: o.Secret,
	})
	if err != nil {
		return NeedsInput, err.Error(), hint.Of(err)
	}
	if o.Program != nil && s.Command != "" {
		if err := o.Program(s); err != nil {
			secrets.Add(Secrets(written)...) // not before it is needed: they are looked for in every text of it
			return NeedsProgram, secrets.Redactor().Text(err.Error()), nil
		}
	}
	if s.URL != "" {
		if _, err := s.Endpoint(); err != nil {
			return Invalid, err.Error(), nil
		}
	}
	if o.SignedOut != nil && s.URL != "" && !HasToken(s) && o.SignedOut(s) {
		return NeedsSignIn, "codemode auth login " + hint.Word(s.Name), nil
	}
	return Ready, "", nil
}

// HasToken says whether an entry authenticates itself to its server.
func HasToken(s config.Server) bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return s.BearerFrom != "" || s.HeadersFrom["Authorization"] != ""
}
