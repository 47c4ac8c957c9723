package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// Source is what settings are read from.
type Source struct {
	Lookup func(string) (string, bool) // the environment; nil is an empty one
	Dir    string                      // where codemode was started: whose project it is, and what relative paths mean
	File   string                      // config.toml given by --config; empty is CODEMODE_CONFIG, then the usual place
	Flags  map[string]any              // by key name: a string, or a []string for a list

	FilesAlone bool // the environment has no settings but where config.toml is
}

// A Layer is one of the places that settings come from.
type Layer string

// The layers; each wins over those before it.
const (
	Default     Layer = "default"
	User        Layer = "user"        // the user's config.toml
	Project     Layer = "project"     // the project's .codemode/config.toml, as far as it is trusted
	Tenant      Layer = "tenant"      // [tenants.NAME] of the user's
	Environment Layer = "environment" //
	Flag        Layer = "flag"        //
)

// setting is one value that one layer holds for a key.
type setting struct {
	key      key
	raw      any
	layer    Layer
	name     string // the variable, the flag, or the key as the file has it
	file     string
	position position // in the file
	at       place
}

// where is for people.
func (s setting) where() string {
	if s.file == "" {
		return s.name
	}
	return fmt.Sprintf("%s:%d:%d: %s", s.file, s.position.line, s.position.column, s.name)
}

// roughly is where, but without the folder, in which the user's name may be.
func (s setting) roughly() string {
	switch {
	case s.file == "":
		return s.name
	case s.layer == Project:
		return fmt.Sprintf("the project's config.toml, line %d", s.position.line)
	}
	return fmt.Sprintf("%s, line %d", filepath.Base(s.file), s.position.line)
}

// typed is what the user wrote, for an error: of a list, the item that is wrong.
func (s setting) typed() string {
	if _, ok := s.raw.(map[string]any); ok {
		return "a table"
	}
	if s.key.kind.list != "" {
		items, _ := s.key.kind.items(s.raw)
		for _, item := range items {
			if _, ok := s.key.kind.item(item, s.at); !ok {
				return fmt.Sprint(item)
			}
		}
	}
	return fmt.Sprint(s.raw)
}

// parse makes the setting's Go value.
func (s setting) parse() (any, error) {
	v, ok := s.key.kind.value(s.raw, s.at)
	if !ok {
		return nil, &ValueError{
			Where: s.where(), Value: s.typed(), Forms: s.key.kind.forms, Flag: s.layer == Flag, line: s.position.line,
		}
	}
	return v, nil
}

// Load reads every layer. All that is wrong is reported at once, joined. With an error the settings hold no more
// than Problems.
func Load(src Source) (Config, error) {
	e, err := Explain(src)
	return e.Config, err
}

// Explain is Load for those who want to know where everything is from.
func Explain(src Source) (Explained, error) {
	if src.Lookup == nil {
		src.Lookup = func(string) (string, bool) { return "", false }
	}
	paths := FindPaths(src.Lookup, runtime.GOOS)
	at := place{dir: src.Dir, home: paths.Home}
	user, errs := readUser(src, paths)
	projectName, project, problems := readProject(src, paths)
	environment, flags := fromEnvironment(src.Lookup, at), fromFlags(src.Flags, at)
	if src.FilesAlone {
		environment = nil
	}

	e := Explained{ProjectFile: projectName}
	e.File, _ = userFile(src, paths)
	tenant, err := chooseTenant(user, environment, flags)
	m := newMerger()
	m.errs, m.problems = append(errs, err), problems
	for _, layer := range [][]setting{
		defaults(at), asOriginal(environment, at), user.settings, project.settings,
		user.tenants[tenant].settings, environment, flags,
	} {
		m.merge(layer)
	}
	m.checkOthers(user, tenant)
	m.resolve(&e.Config)
	byLine(m.problems)
	if more := len(m.problems) - maxProblems; more > 0 {
		m.problems = append(
			m.problems[:maxProblems], &FileError{File: projectName, Err: fmt.Errorf("%d more mistakes", more)},
		)
	}
	byLine(m.errs)
	if err := errors.Join(m.errs...); err != nil {
		e.Config = Config{Problems: m.problems, Tenants: tenantNames(user)}
		return e, err
	}
	e.Config.Problems, e.Config.Tenants = m.problems, tenantNames(user)
	e.Config.Variables, e.Config.Lines = m.setBy()
	m.explain(&e, user, project)
	if set(src.Lookup, olderDir) && !set(src.Lookup, "CODEMODE_MCP_DIR") && paths.Home != "" {
		e.Config.Servers.Usual = filepath.Join(paths.Home, "MCPs")
	}
	return e, nil
}

// olderDir names the folder that the Python original kept its state in. It read servers from there and from ~/MCPs.
const olderDir = "MCP_BRIDGE_STATE_DIR"

func set(lookup func(string) (string, bool), name string) bool {
	value, ok := lookup(name)
	return ok && value != ""
}

// chooseTenant returns the tenant that the last layer names that names one, for which the tenant's own settings
// must be known first. A name that cannot be one is an error of merging.
func chooseTenant(user document, environment, flags []setting) (string, error) {
	chosen := DefaultTenant
	var from setting
	for _, s := range slices.Concat(user.settings, environment, flags) {
		if s.key.name != "tenant" {
			continue
		}
		if v, err := s.parse(); err == nil {
			chosen, from = v.(string), s
		}
	}
	if known := tenantNames(user); !slices.Contains(known, chosen) {
		return chosen, &UnknownTenantError{Name: chosen, Where: from.where(), Known: known}
	}
	return chosen, nil
}

// tenantNames are the tenants there are, the default one first.
func tenantNames(user document) []string {
	names := slices.Sorted(maps.Keys(user.tenants))
	names = slices.DeleteFunc(names, func(n string) bool { return n == DefaultTenant })
	return slices.Insert(names, 0, DefaultTenant)
}

// merger puts the layers over one another.
type merger struct {
	koanf    *koanf.Koanf
	origin   map[string]setting // by key, what its value is from
	places   map[string]string  // by rule of policy, where it is set
	mounts   map[string]string  // by mount, the same
	request  Request            // of the project's file
	errs     []error
	problems []error // of the project's file
}

func newMerger() *merger {
	return &merger{koanf: koanf.New("."), origin: map[string]setting{}, places: map[string]string{}}
}

func (m *merger) merge(layer []setting) {
	values := map[string]any{}
	for _, s := range layer {
		v, err := s.parse()
		if s.layer == Project && (err == nil || s.key.trust == never) { // whatever its value
			err = distrust(s, v, m.koanf.Get(s.key.name))
		}
		switch {
		case err != nil && s.layer == Project:
			m.problems = append(m.problems, err)
			continue
		case err != nil:
			m.errs = append(m.errs, err)
			continue
		case s.layer == Project && s.key.trust == asks:
			if v == true {
				m.request = Request{filepath.Dir(s.at.dir), s.file, s.position.line}
			}
			continue
		}
		extends := s.layer == Project && s.key.trust == extend
		if extends && isWithin(v.([]string), m.koanf.Strings(s.key.name)) {
			continue // it is where it was before
		}
		m.place(s, v)
		if s.key.adds || extends {
			v = slices.Concat(v.([]string), m.koanf.Strings(s.key.name))
		}
		values[s.key.name] = v
		m.origin[s.key.name] = s
	}
	if len(values) == 0 {
		return
	}
	if err := m.koanf.Load(confmap.Provider(values, "."), nil); err != nil {
		m.errs = append(m.errs, fmt.Errorf("merging settings: %w", err))
	}
}

// isWithin says whether a list adds nothing to another.
func isWithin(list, other []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(other, s) })
}

// place remembers where a mount or a rule of policy is set. A pattern of a list is a rule of its own.
func (m *merger) place(s setting, v any) {
	if list, ok := v.([]string); ok && len(list) > 0 && s.key.name == "files.mounts" && s.layer != Flag {
		place := s.roughly()
		if s.file != "" {
			place += ": " + s.key.name
		}
		if m.mounts == nil {
			m.mounts = map[string]string{}
		}
		for _, text := range list {
			m.mounts[text] = place
		}
	}
	rule, ok := strings.CutPrefix(s.key.name, "policy.")
	if !ok || s.layer == Default {
		return
	}
	m.places[rule] = s.roughly()
	if list, ok := v.([]string); ok {
		for _, pattern := range list {
			m.places[rule+":"+pattern] = s.roughly()
		}
	}
}

// checkOthers looks for mistakes in the tenants that are not in use, so that they are told before somebody needs one.
func (m *merger) checkOthers(user document, tenant string) {
	for _, name := range tenantNames(user) {
		if name == tenant {
			continue
		}
		for _, s := range user.tenants[name].settings {
			if _, err := s.parse(); err != nil {
				m.errs = append(m.errs, err)
			}
		}
	}
}

// answerRequest leaves out what a project asks for where its user's own settings say no.
func (m *merger) answerRequest(c *Config) {
	const key = "files.project"
	said, ok := m.origin[key]
	if r := m.request; ok && said.layer != Default && !c.Files.Project && r.File != "" {
		m.problems = append(m.problems, &ProjectError{File: r.File, Line: r.Line, Key: key, Limit: "false"})
		c.Files.Request = Request{}
	}
}

// resolve makes the settings of the merged values.
func (m *merger) resolve(c *Config) {
	if err := m.koanf.Unmarshal("", c); err != nil {
		m.errs = append(m.errs, fmt.Errorf("resolving settings: %w", err))
		return
	}
	c.Policy.Places, c.Files.Places, c.Files.Request = m.places, m.mounts, m.request
	m.answerRequest(c)
	timeout, ceiling := m.origin["run.timeout"], m.origin["run.max_timeout"]
	if c.Run.Timeout <= c.Run.MaxTimeout {
		return
	}
	err := &CeilingError{
		Timeout: c.Run.Timeout.String(), TimeoutFrom: timeout.where(),
		Max: c.Run.MaxTimeout.String(), CeilingFrom: ceiling.where(),
	}
	switch {
	case timeout.layer == Project:
		m.problems = append(m.problems, err)
	case timeout.layer != Default && ceiling.layer != Project:
		m.errs = append(m.errs, err)
		return
	}
	// Nobody of whom an error would be told asked for this deadline, or for this ceiling: the deadline follows.
	c.Run.Timeout = c.Run.MaxTimeout
	if timeout.layer == Default {
		m.origin["run.timeout"] = ceiling
	}
}

func defaults(at place) []setting {
	layer := make([]setting, 0, len(keys))
	for _, k := range keys {
		def := k.def
		if at.home == "" && strings.HasPrefix(def, "~") {
			def = "" // without a home it would be a folder of that name
		}
		layer = append(layer, setting{key: k, raw: def, layer: Default, name: k.name, at: at})
	}
	return layer
}

// fromEnvironment takes the first variable of each key that is set to something.
func fromEnvironment(lookup func(string) (string, bool), at place) []setting {
	var layer []setting
	for _, k := range keys {
		for _, name := range k.variables() {
			if v, _ := lookup(name); v != "" {
				layer = append(layer, setting{key: k, raw: v, layer: Environment, name: name, at: at})
				break
			}
		}
	}
	return layer
}

func fromFlags(flags map[string]any, at place) []setting {
	var layer []setting
	for _, k := range keys {
		v, ok := flags[k.name]
		if !ok {
			continue
		}
		if list, ok := v.([]string); ok {
			items := make([]any, len(list))
			for i, s := range list {
				items[i] = s
			}
			v = items
		}
		layer = append(layer, setting{key: k, raw: v, layer: Flag, name: cmp.Or(k.flag, k.name), at: at})
	}
	return layer
}
