package registry

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
)

// starters are the programs that start a package of each type, the one that is taken first where both are there.
var starters = map[string][]string{"npm": {"npx"}, "pypi": {"uvx"}, "oci": {"docker", "podman"}}

// FromKinds are those that an entry can be made of.
var FromKinds = []string{"npm", "pypi", "oci", Remote}

// A Request is what the user wants of an entry.
type Request struct {
	Local  string              // the name it is to have here
	From   string              // of which kind it is made; empty is the first that can run here
	Inputs map[string][]string // what the user has said
	Env    []string            // variables that the user gives values
	Header []string            // headers that the user gives values
	Has    func(program string) bool
}

// An Entry is one that could be stored.
type Entry struct {
	Fields   map[string]any
	Needs    []Need // variables of the environment that must be set before it starts
	Optional []Need // what may be given and was not
	Runtime  bool   // a container engine is given options by the publisher
}

// A Need is something that only the user knows.
type Need struct {
	Name  string // as it is given: an input, or a variable of the environment
	Flag  string // that gives it
	About string
}

// Entry makes an entry of the first package that can be started here, else of a URL.
func (s Server) Entry(r Request) (Entry, error) {
	var lacks *LackError
	for _, p := range s.Packages {
		programs := starters[p.Type]
		stdio := p.Transport.Type == "" || p.Transport.Type == "stdio"
		if programs == nil || !stdio || r.From != "" && r.From != p.Type {
			continue
		}
		i := slices.IndexFunc(programs, r.Has)
		if i < 0 && r.From == "" {
			if lacks == nil {
				lacks = &LackError{Name: s.Name, Kind: p.Type}
			}
			lacks.Programs = append(lacks.Programs, programs[0])
			continue
		}
		return s.build(r, func(m *builder) { m.start(p, programs[max(i, 0)]) })
	}
	for _, kind := range []string{"streamable-http", "sse"} {
		i := slices.IndexFunc(s.Remotes, func(t Transport) bool { return t.Type == kind })
		if i >= 0 && (r.From == "" || r.From == Remote) {
			return s.build(r, func(m *builder) { m.reach(s.Remotes[i]) })
		}
	}
	switch {
	case lacks != nil:
		return Entry{}, lacks
	case r.From != "":
		return Entry{}, &EntryError{s.Name, fmt.Sprintf("is not offered as %q, but as %s", r.From, s.offered()), ""}
	}
	what := "is offered as " + s.offered() + ", which codemode can neither start nor reach"
	return Entry{}, &EntryError{s.Name, what, ""}
}

func (s Server) offered() string {
	kinds := s.Kinds()
	if len(kinds) == 0 {
		return "nothing"
	}
	for i := range kinds {
		kinds[i] = fmt.Sprintf("%q", clipped(kinds[i]))
	}
	return strings.Join(kinds, ", ")
}

// builder makes one entry. It remembers the first thing that is wrong with it, and all that it lacks.
type builder struct {
	request Request
	of      Package // what it starts, if anything
	entry   Entry
	env     map[string]any
	missing []Need
	known   []string // inputs there are
	err     string
	then    string // what to do about it, if anything
}

func (s Server) build(r Request, fill func(*builder)) (Entry, error) {
	m := &builder{request: r, entry: Entry{Fields: map[string]any{}}, env: map[string]any{}}
	fill(m)
	if m.err != "" {
		return Entry{}, &EntryError{s.Name, m.err, m.then}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		if !slices.Contains(m.known, name) {
			hints := []string{"it has no inputs"}
			if len(m.known) > 0 {
				hints = hint.NearestOrAll(name, m.known)
			}
			text := fmt.Sprintf("server %q has no input %q; nothing was written", s.Name, name)
			return Entry{}, hint.New(text, hints...)
		}
	}
	if len(m.missing) > 0 {
		return Entry{}, &InputError{s.Name, m.missing}
	}
	if len(m.env) > 0 {
		m.entry.Fields["env"] = m.env
	}
	return m.entry, nil
}

func (m *builder) fail(format string, args ...any) { m.refuse("", format, args...) }

// refuse is fail, with what to do about it.
func (m *builder) refuse(then, format string, args ...any) {
	if m.err == "" {
		m.err, m.then = fmt.Sprintf(format, args...), then
	}
}

// start makes an entry that starts a package.
func (m *builder) start(p Package, program string) {
	if len(p.Runtime)+len(p.Arguments)+len(p.Env) > maxInputs {
		m.fail("has more than %d arguments and variables", maxInputs)
		return
	}
	what, problem := identifier(p)
	if problem != "" {
		m.fail("%s", problem)
		return
	}
	m.of = p
	assigned := m.variables(p)
	args := m.arguments(p.Runtime, impliedArguments[p.Type], p.Type == "oci")
	m.chosen(program, args)
	switch p.Type {
	case "npm":
		args = append(args, "-y")
	case "oci":
		m.entry.Runtime = len(args) > 0
		args = slices.Concat([]string{"run", "-i", "--rm"}, m.containerEnv(assigned), args)
	}
	m.entry.Fields["command"] = program
	m.entry.Fields["args"] = slices.Concat(args, []string{what}, m.arguments(p.Arguments, nil, false))
}

// impliedArguments are arguments that an entry has anyway, and a terminal, where no person is.
var impliedArguments = map[string][]string{
	"npm": {"-y", "--yes"}, "oci": {"run", "-i", "--interactive", "--rm", "-t", "--tty", "-it", "-ti"},
}

// variables puts those of a package into the entry. For a container, those whose values stand here are arguments of the
// engine: as its own variables they could make it ask another engine.
func (m *builder) variables(p Package) (assigned []string) {
	for _, in := range p.Env {
		if !variable().MatchString(in.Name) {
			m.fail("has a variable %q, which is none", clipped(in.Name))
			return nil
		}
		if slices.Contains(m.request.Env, in.Name) {
			continue
		}
		text, ok := m.single(in.Name, in, place{reference: in.Name, flag: "-e"})
		switch {
		case !ok:
		case p.Type == "oci" && !strings.Contains(text, "${"):
			assigned = append(assigned, in.Name+"="+text)
		default:
			m.set(in.Name, text)
		}
	}
	return assigned
}

// containerEnv are the options of a container engine that hand variables on to what runs in the container.
func (m *builder) containerEnv(assigned []string) (args []string) {
	names := slices.AppendSeq(slices.Concat(m.request.Env, assigned), maps.Keys(m.env))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		args = append(args, "-e", name)
	}
	return args
}

// envOption is an option -e whose value refers to the environment. It is handed on by name: others see arguments.
var envOption = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_]*)=(.*\$\{.*)$`)

// arguments are those of a list, as words, but for some.
func (m *builder) arguments(list []Input, but []string, engine bool) (args []string) {
	for i, in := range list {
		label := strings.TrimLeft(in.Name, "-")
		switch {
		case slices.Contains(but, in.Name), in.Name == "" && slices.Contains(but, string(in.Value)):
			continue
		case in.Type == "named" && label == "", !isLiteral(in.Name):
			m.fail("has an argument with the name %q", clipped(in.Name))
			return nil
		case in.Type != "named":
			label = in.ValueHint
			if label == "" {
				label = fmt.Sprintf("argument-%d", i+1)
			}
		}
		for _, text := range m.values(label, in, place{flag: "--set"}) {
			if found := envOption().FindStringSubmatch(text); engine && found != nil &&
				slices.Contains([]string{"-e", "--env"}, in.Name) {
				m.set(found[1], found[2])
				continue
			}
			args = append(args, argumentWords(in, text)...)
		}
	}
	return args
}

// argumentWords are an argument as a program takes it: a switch alone, --name=value, -n value.
func argumentWords(in Input, text string) []string {
	switch {
	case in.Type != "named":
		return []string{text}
	case text == "false" && in.Format == "boolean":
		return nil
	case text == "" || text == "true" && in.Format == "boolean":
		return []string{in.Name}
	case strings.HasPrefix(in.Name, "--"):
		return []string{in.Name + "=" + text}
	}
	return []string{in.Name, text}
}

// place is where an input stands.
type place struct {
	reference string // the variable that holds it where nobody has said a value; empty is none
	flag      string // which gives it
}

// single is the value of an input that has at most one.
func (m *builder) single(label string, in Input, at place) (string, bool) {
	texts := m.values(label, in, at)
	if len(texts) == 0 {
		return "", false
	}
	return texts[len(texts)-1], true
}

// values are what an input gets: what the publisher has fixed, else what the user says, else the default, else what the
// environment will hold. What is needed and nobody knows is missing.
func (m *builder) values(label string, in Input, at place) []string {
	if at.reference == "" && in.Secret {
		at.reference = m.ownVariable(label)
	}
	about := need(label, at.flag, in)
	if in.Value != "" {
		return []string{m.filled(string(in.Value), in.Variables, at, false)}
	}
	if at.flag == "--set" {
		if !isLiteral(label) || label == "" {
			m.fail("has an input called %q", clipped(label))
			return nil
		}
		m.known = append(m.known, label)
	}
	said := m.request.Inputs[label]
	switch {
	case at.flag == "--set" && len(said) > 0:
		for _, text := range said {
			if len(in.Choices) > 0 && !slices.Contains(in.Choices, text) && !strings.Contains(text, "${") {
				m.fail("takes one of %s as its input %q", clipped(strings.Join(in.Choices, ", ")), label)
			}
		}
		return said
	case in.Default != "":
		return []string{m.literal(string(in.Default))}
	case in.Required && in.Type == "named" && in.Format == "boolean":
		return []string{"true"}
	case in.Required && at.reference != "":
		about.Name = at.reference
		m.entry.Needs = append(m.entry.Needs, about)
		return []string{"${" + at.reference + "}"}
	case in.Required:
		m.missing = append(m.missing, about)
	default:
		m.entry.Optional = append(m.entry.Optional, about)
	}
	return nil
}

// placeholder is where a part of a value stands.
var placeholder = lazyregexp.New(`\{([A-Za-z0-9_.-]{1,100})\}`)

// filled is a value with its parts in their places. A part that nothing is said of stays as it is, but in a URL, where
// the user must say it.
func (m *builder) filled(text string, parts map[string]Input, at place, isURL bool) string {
	m.literal(text)
	return placeholder().ReplaceAllStringFunc(text, func(found string) string {
		label := found[1 : len(found)-1]
		part, known := parts[label]
		switch {
		case !known && !isURL:
			return found
		case !known:
			part.Required = true
		}
		within := place{flag: "--set"}
		if at.reference != "" {
			within.reference = m.ownVariable(label)
		}
		value, _ := m.single(label, part, within)
		return value
	})
}

// ownVariable is a variable of the environment for what only this server needs. It begins with the server's name: a
// stranger who may choose any name would be handed any variable.
func (m *builder) ownVariable(label string) string {
	text := strings.ToUpper(m.request.Local + "_" + strings.TrimLeft(label, "-"))
	text = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, text)
	if text[0] >= '0' && text[0] <= '9' {
		return "_" + text
	}
	return text
}

// literal is a text of the publisher's, which must mean itself.
func (m *builder) literal(text string) string {
	if !isLiteral(text) {
		m.fail("has the value %q, which could stand for something else", clipped(text))
	}
	return text
}

// reach makes an entry that reaches a server by URL.
func (m *builder) reach(t Transport) {
	if len(t.Headers)+len(t.Variables) > maxInputs {
		m.fail("has more than %d headers and variables", maxInputs)
		return
	}
	m.entry.Fields["type"] = map[string]string{"streamable-http": "http", "sse": "sse"}[t.Type]
	address := m.filled(t.URL, t.Variables, place{}, true)
	m.entry.Fields["url"] = address
	if problem := addressProblem(address); problem != "" && len(m.missing) == 0 {
		m.fail("has the URL %q, %s", clipped(t.URL), problem)
	}
	headers := map[string]any{}
	for _, in := range t.Headers {
		if !header().MatchString(in.Name) {
			m.fail("has a header %q, which is none", clipped(in.Name))
			return
		}
		if slices.ContainsFunc(m.request.Header, func(h string) bool { return strings.EqualFold(h, in.Name) }) {
			continue
		}
		if text, ok := m.single(in.Name, in, place{reference: m.ownVariable(in.Name), flag: "--header"}); ok {
			headers[in.Name] = text
		}
	}
	if len(headers) > 0 {
		m.entry.Fields["headers"] = headers
	}
}

// reference is one to the environment, which is in a URL what it will become.
var reference = lazyregexp.New(`\$\{[^}]*\}`)

// addressProblem is what is wrong with the URL of a server that a stranger names.
func addressProblem(address string) string {
	u, err := url.Parse(reference().ReplaceAllString(address, "x"))
	switch {
	case err != nil || u.Host == "":
		return "which is none"
	case u.Scheme != "https":
		return "which is not https"
	case u.User != nil:
		return "which has a user in it"
	case isLocalOrAddress(u.Hostname()):
		return "which leads to an address rather than a name"
	case strings.Contains(strings.SplitN(address, "/", 4)[2], "${"):
		return "whose host is not known"
	}
	return ""
}

// need describes an input for people.
func need(label, flag string, in Input) Need {
	about := clipped(in.Description)
	if len(in.Choices) > 0 {
		about = strings.TrimSpace(about + " (one of " + clipped(strings.Join(in.Choices, ", ")) + ")")
	} else if in.Format != "" && in.Format != "string" {
		about = strings.TrimSpace(about + " (" + clipped(in.Format) + ")")
	}
	return Need{label, flag, about}
}
