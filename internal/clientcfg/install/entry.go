package install

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/config"
	"codemode/internal/lazyregexp"
)

// command is what an entry starts, however it is written.
type command struct {
	program string
	args    []string
}

// command is what an entry of the request starts: in a project, which others have, too, by its name alone.
func (i *Installer) command(req Request, t Target) command {
	exe := i.Exe
	if req.Scope == clientcfg.Project || exe == "" {
		exe = "codemode"
	}
	words := slices.Concat(t.prefix, i.words(exe), []string{"serve"})
	if req.Tenant != "" {
		words = append(words, "--tenant", req.Tenant)
	}
	return command{words[0], words[1:]}
}

// members are a whole new entry.
func members(c *clientcfg.Client, name string, cmd command, second bool) []splice.Member {
	var list []splice.Member
	add := func(key string, value any) { list = append(list, splice.Member{Key: key, Value: value}) }
	fields := func(fields []clientcfg.Field) {
		for _, f := range fields {
			add(f.Key, f.Value)
		}
	}
	fields(c.Install.First)
	switch c.Entry {
	case clientcfg.Argv:
		add("type", "local")
		add("command", append([]string{cmd.program}, cmd.args...))
		if !second { // OpenCode 2 has "disabled" instead
			add("enabled", true)
		}
	case clientcfg.Goose:
		add("enabled", true)
		add("type", "stdio")
		add("name", name)
		add("cmd", cmd.program)
		add("args", cmd.args)
		add("timeout", 300) // seconds; code may call several tools
	default:
		if c.Entry == clientcfg.Explicit {
			add("type", "stdio")
		}
		add("command", cmd.program)
		add("args", cmd.args)
	}
	fields(c.Install.Last)
	return list
}

// update is what changes of an entry that is there: its command, and its arguments where they are not its user's own.
func update(c *clientcfg.Client, entry map[string]any, cmd command, keepArgs bool) []splice.Member {
	if inner, ok := entry["transport"].(map[string]any); ok && inner["command"] != nil {
		return []splice.Member{{Key: "transport", Value: update(c, inner, cmd, keepArgs)}}
	}
	if inner, ok := entry["command"].(map[string]any); ok {
		list := []splice.Member{{Key: "path", Value: cmd.program}}
		if !keepArgs || inner["args"] == nil {
			list = append(list, splice.Member{Key: "args", Value: cmd.args})
		}
		return []splice.Member{{Key: "command", Value: list}}
	}
	if argv, ok := entry["command"].([]any); ok {
		args := cmd.args
		if keepArgs {
			args = texts(argv)[1:]
		}
		return []splice.Member{{Key: "command", Value: append([]string{cmd.program}, args...)}}
	}
	key := "command"
	if c.Entry == clientcfg.Goose {
		key = "cmd"
	}
	list := []splice.Member{{Key: key, Value: cmd.program}}
	if !keepArgs || entry["args"] == nil {
		list = append(list, splice.Member{Key: "args", Value: cmd.args})
	}
	if kind, ok := entry["type"]; ok && c.Entry == clientcfg.Explicit && kind != "stdio" {
		list = append(list, splice.Member{Key: "type", Value: "stdio"})
	}
	return list
}

// commandOf is what an entry starts. Clients have several ways to write it, see clientcfg.
func commandOf(entry map[string]any) command {
	if inner, ok := entry["transport"].(map[string]any); ok {
		entry = inner
	}
	args := texts(entry["args"])
	for _, key := range []string{"command", "cmd"} {
		switch v := entry[key].(type) {
		case string:
			return command{v, args}
		case map[string]any:
			path, _ := v["path"].(string)
			return command{path, texts(v["args"])}
		case []any:
			if words := texts(v); len(words) > 0 {
				return command{words[0], append(words[1:], args...)}
			}
		}
	}
	return command{}
}

func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, item := range items {
		s, _ := item.(string)
		list = append(list, s)
	}
	return list
}

var serveWord = lazyregexp.New(`\bserve\b`)

// isOurs says whether an entry starts codemode as a server: other programs may have its name, too.
func (i *Installer) isOurs(entry map[string]any) bool {
	cmd := commandOf(entry)
	serves := serveWord().MatchString(strings.Join(cmd.args, " ")) // a shell has it within one
	return cmd.program != "" && serves && clientcfg.StartsCodemode(serverOf(cmd), i.Env, i.Self)
}

// wraps says whether an entry starts codemode by something else, whose words its user has chosen.
func (i *Installer) wraps(entry map[string]any) bool {
	cmd := commandOf(entry)
	return cmd.program != "" && clientcfg.WrapsCodemode(serverOf(cmd), i.Env, i.Self)
}

// foreign is the error of an entry under codemode's name that is not this user's. In a project that is any but what the
// ledger says they have installed and what install would write, which is anew: by a stranger's arguments and variables
// codemode would start that one's servers unasked.
func (i *Installer) foreign(t Target, doc *draft, key []string, old *record, anew []splice.Member) error {
	value, there := doc.Get(key)
	entry, isTable := value.(map[string]any)
	name := key[len(key)-1]
	switch {
	case !there:
		return nil
	case !isTable, old == nil && !i.isOurs(entry):
		return &ForeignError{Name: name}
	case t.Scope != clientcfg.Project, old != nil && hashOf(doc.Document, key) == old.Entry:
		return nil
	}
	fresh, err := parse(nil, doc.format)
	if err == nil {
		err = fresh.apply(fresh.Set(key, anew))
	}
	if err != nil {
		return err
	}
	want, _ := fresh.Get(key)
	wanted, _ := want.(map[string]any)
	differs := differing("", entry, wanted)
	if len(differs) == 0 {
		return nil
	}
	cmd := commandOf(entry)
	return &ForeignError{name, append([]string{cmd.program}, cmd.args...), differs}
}

// differing are the members of a table that are not as wanted, and those that it lacks; of tables in it, each of their
// own.
func differing(at string, is, want map[string]any) (list []string) {
	all := map[string]any{}
	maps.Copy(all, want)
	maps.Copy(all, is)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		a, has := is[key]
		b, wants := want[key]
		x, isTable := a.(map[string]any)
		y, wantsTable := b.(map[string]any)
		switch {
		case (isTable || !has) && (wantsTable || !wants):
			list = append(list, differing(at+key+".", x, y)...)
		case !reflect.DeepEqual(a, b):
			list = append(list, at+key)
		}
	}
	return list
}

func serverOf(cmd command) config.Server {
	return config.Server{Command: cmd.program, Args: cmd.args}
}

// isOff says whether an entry is switched off.
func isOff(entry map[string]any) bool {
	return entry["disabled"] == true || entry["enabled"] == false
}

// pass adds to an entry what hands variables of the client's environment on to codemode, in the client's own form, and
// values of others that the entry does not have yet.
func pass(
	c *clientcfg.Client, entry map[string]any, names []string, values map[string]string,
) (list []splice.Member, err error) {
	var env []splice.Member
	key := cmp.Or(map[clientcfg.Shape]string{clientcfg.Argv: "environment", clientcfg.Goose: "envs"}[c.Entry], "env")
	had, _ := entry[key].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, is := had[name]; !is {
			env = append(env, splice.Member{Key: name, Value: values[name]})
		}
	}
	byName := map[clientcfg.Shape]string{clientcfg.Codex: "env_vars", clientcfg.Goose: "env_keys"}[c.Entry]
	form, ok := references[c.Dialect]
	switch {
	case len(names) == 0:
	case byName != "":
		all := texts(entry[byName])
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		list = append(list, splice.Member{Key: byName, Value: all})
	case !ok:
		return nil, errNoPass
	default:
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			env = append(env, splice.Member{Key: name, Value: form[0] + name + form[1]})
		}
	}
	if len(env) > 0 {
		list = append(list, splice.Member{Key: key, Value: env})
	}
	return list, nil
}

// references are how a dialect writes a reference to a variable.
var references = map[config.Dialect][2]string{
	config.DialectBraces:        {"${", "}"},
	config.DialectEnvColon:      {"${env:", "}"},
	config.DialectDollar:        {"$", ""},
	config.DialectLeadingDollar: {"$", ""},
	config.DialectCurly:         {"{env:", "}"},
	config.DialectSecrets:       {"${{ secrets.", " }}"},
}

// Link opens a client so that it asks its user; empty where a client has none.
func (i *Installer) Link(req Request) string {
	c := &req.Client
	if c.Install.Link == "" {
		return ""
	}
	entry := map[string]any{}
	for _, m := range members(c, req.Name, i.command(req, Target{}), false) {
		entry[m.Key] = m.Value
	}
	bare, err := json.Marshal(entry)
	if err != nil {
		return ""
	}
	entry["name"] = req.Name
	named, err := json.Marshal(entry)
	if err != nil {
		return ""
	}
	return strings.NewReplacer(
		"{name}", url.QueryEscape(req.Name),
		"{entry}", url.QueryEscape(base64.StdEncoding.EncodeToString(bare)),
		"{server}", url.PathEscape(string(named)),
	).Replace(c.Install.Link)
}

// Snippet is what to put by hand into a client's file.
func (i *Installer) Snippet(req Request, path string) string {
	c := &req.Client
	if path == "" {
		path = "settings.json"
		if len(c.Install.Places) > 0 {
			path = c.Install.Places[0].Path
		}
	}
	entry := members(c, req.Name, i.command(req, Target{}), false)
	if env, err := pass(c, nil, req.Pass, nil); err == nil {
		entry = append(entry, env...)
	}
	doc, err := splice.Parse(nil, formatOf(c, path))
	if err != nil {
		return ""
	}
	text, err := doc.Set(append(slices.Clone(c.Key), req.Name), entry)
	if err != nil {
		return ""
	}
	return string(text)
}
