package commands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/registry"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/mount"

	"github.com/urfave/cli/v3"
)

// adder configures servers that code asks for, as codemode servers add would.
type adder struct {
	env    Env
	cmd    *cli.Command
	bridge *bridge.Bridge
	reload func(context.Context) error // has serve look again; nil where nobody else looks
}

// askable are the members of an entry that code may ask for: all of them say what is started, or what for.
var askable = []string{"type", "url", "command", "args", "cwd", "env", "headers", "description"}

// Registry is where servers are looked up by name.
func (a *adder) Registry() string {
	t, err := openTenancy(a.env, a.cmd)
	if err != nil {
		return ""
	}
	return redacted(t.config.Registry.Address)
}

// Propose is bridge.ServerAdder's.
func (a *adder) Propose(ctx context.Context, name string, entry json.RawMessage) (p bridge.Proposal, err error) {
	t, err := openTenancy(a.env, a.cmd)
	if err != nil {
		return p, err
	}
	fields := map[string]any{}
	if len(entry) == 0 {
		if fields, err = t.offered(ctx, name); err != nil {
			return p, err
		}
		_, name, _ = strings.Cut(name, "/")
	} else if err := json.Unmarshal(entry, &fields); err != nil {
		return p, fmt.Errorf("an entry is an object, such as {\"command\": \"npx\", \"args\": [\"-y\", \"PACKAGE\"]}: %w", err)
	}
	if !serverFileName().MatchString(name) {
		return p, fmt.Errorf("the name %.80q must be letters, digits, '.', '-' and '_'", name)
	}
	for _, member := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(askable, member) {
			return p, fmt.Errorf("an entry has no %.80q here; there are %s", member, strings.Join(askable, ", "))
		}
	}
	p.Name, p.File = name, t.ownFile(name)
	if p.There = t.isThere(name, fields); p.There {
		return p, nil
	}
	if err := cmp.Or(plainlySpelled(fields), t.isNew(name, fields)); err != nil {
		return p, err
	}
	if err := t.judged(name, fields); err != nil {
		return p, &bridge.TellingError{Err: err}
	}
	_, p.Remote = fields["url"]
	if p.Given, err = t.referredTo(name, fields); err != nil {
		return p, err
	}
	p.Entry, err = inOrder(fields)
	return p, err
}

// inOrder is an entry with what is started at its beginning.
func inOrder(fields map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for _, member := range askable {
		value, there := fields[member]
		if !there {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + member + `":`)
		if err := e.Encode(value); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // its newline
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// isNew refuses a server that would take the place of one that is there, in whatever file and state: its name, its name
// in Python, or what it starts, under which policy and restrictions know it. It is for one tenant: all of them read the
// folder it would be written to.
func (t *tenancy) isNew(name string, fields map[string]any) error {
	if e, err := config.Explain(settingsSource(t.env, t.cmd)); err != nil || len(e.Tenants) > 1 {
		return errors.Join(err, errors.New("other tenants would have it, too; the user can add it: codemode servers add"))
	}
	if err := t.isFree(name); err != nil {
		return errors.New(err.Error())
	}
	asked, err := t.readAsked(name, fields)
	if err != nil {
		return err
	}
	if err := t.apart(asked); err != nil {
		return err
	}
	python := func(name string) string { return strings.ToLower(catalog.Aliases([]string{name})[name]) }
	for _, e := range t.found.Entries {
		switch {
		case python(e.Server.Name) == python(name) || python(e.Written) == python(name):
			return fmt.Errorf("server %q has that name in Python already; nothing was written", e.Server.Name)
		case clientcfg.StartsSame(asked.Server, e.Server, t.machine()):
			return &bridge.TellingError{Err: fmt.Errorf(
				"server %q is the same already, whether it can be used or not; nothing was written", e.Server.Name,
			)}
		}
	}
	return nil
}

// apart refuses a server that would be started from a folder which code may change: whoever agrees to it would have
// looked at another program.
func (t *tenancy) apart(asked clientcfg.Entry) error {
	mounts, err := t.mounts()
	if err != nil {
		return err
	}
	starts := mount.Linked(t.startsOf(asked), t.everyHome())
	for _, m := range mounts {
		if _, starts := mount.StartedFrom(m.Host, starts); m.Write && starts {
			return fmt.Errorf("it would be started from %s, which this code may change; nothing was written",
				quote(sandbox.WorkDir+"/"+m.Name))
		}
	}
	return nil
}

// readAsked is an entry as it would be read from its file.
func (t *tenancy) readAsked(name string, fields map[string]any) (e clientcfg.Entry, err error) {
	entry, err := inOrder(fields)
	if err != nil {
		return e, err
	}
	text, err := askedFile(name, entry)
	if err != nil {
		return e, err
	}
	read, problems := clientcfg.ReadOwn(t.ownFile(name), []byte(text), t.machine())
	if len(problems) > 0 || len(read) != 1 {
		return e, fmt.Errorf("the entry cannot be used: %w", errors.Join(errsOf(problems)...))
	}
	return read[0], nil
}

// offered is the entry of a server of the registry, which asks for nothing that must be typed.
func (t *tenancy) offered(ctx context.Context, name string) (map[string]any, error) {
	_, local, named := strings.Cut(name, "/")
	if !named {
		return nil, fmt.Errorf("%.80q is no name of the MCP registry, such as io.github.someone/server: give an entry", name)
	}
	client := &registry.Client{Address: t.config.Registry.Address, Agent: "codemode/" + readVersion().Version}
	offered, err := client.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	if offered.Status == registry.Deleted {
		return nil, &registry.EntryError{Name: name, What: "was deleted there"}
	}
	find := lookPath(t.env)
	made, err := offered.Entry(registry.Request{Local: local, Has: func(program string) bool {
		_, err := find(program)
		return err == nil
	}})
	return made.Fields, err
}

// isThere tells whether a server is configured already in these words.
func (t *tenancy) isThere(name string, fields map[string]any) bool {
	entry, err := inOrder(fields)
	if err != nil {
		return false
	}
	text, err := askedFile(name, entry)
	if err != nil {
		return false
	}
	data, err := plainfile.Read(t.ownFile(name), int64(len(text)))
	return err == nil && string(data) == text
}

// askedFile is the text of a file with one server, whose entry is in it byte for byte.
func askedFile(name string, entry json.RawMessage) (string, error) {
	quoted, err := json.Marshal(name)
	return fmt.Sprintf("{\n  \"mcpServers\": {\n    %s: %s\n  }\n}\n", quoted, entry), err
}

// referredTo is what of the user's an entry refers to.
func (t *tenancy) referredTo(name string, fields map[string]any) (list []string, err error) {
	read, err := t.readAsked(name, fields)
	if err != nil {
		return nil, err
	}
	for _, v := range clientcfg.Variables(read.Server) {
		list = append(list, "the variable "+v)
	}
	for _, s := range clientcfg.SecretNames(read.Server) {
		list = append(list, "the secret "+s)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func errsOf(problems []clientcfg.Problem) (list []error) {
	for _, p := range problems {
		list = append(list, p)
	}
	return list
}

// Add is bridge.ServerAdder's.
func (a *adder) Add(ctx context.Context, p bridge.Proposal) error {
	t, err := openTenancy(a.env, a.cmd)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(p.Entry, &fields); err != nil {
		return err
	}
	if err := t.isNew(p.Name, fields); err != nil { // what was configured meanwhile counts
		return err
	}
	text, err := askedFile(p.Name, p.Entry)
	if err != nil {
		return err
	}
	if p.File != t.ownFile(p.Name) {
		return hint.New("the settings have changed since it was asked; nothing was written", "ask again")
	}
	if err := writeNew(p.File, text, "choose another name"); err != nil {
		return fmt.Errorf("writing %q: %w", p.File, err)
	}
	if a.reload != nil {
		return a.reload(ctx)
	}
	t.discover()
	a.bridge.Servers().Update(t.configured())
	return nil
}
