package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/hint"
	"codemode/internal/registry"
	"codemode/internal/servers"

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
var askable = []string{"args", "command", "cwd", "description", "env", "headers", "sandbox", "type", "url"}

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
	if err := errors.Join(t.isFree(name), t.judged(name, fields)); err != nil {
		return p, err
	}
	p.Name, p.File = name, t.ownFile(name)
	if p.Given, err = t.referredTo(name, fields); err != nil {
		return p, err
	}
	p.Entry, err = json.Marshal(fields)
	return p, err
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

// referredTo is what of the user's an entry refers to.
func (t *tenancy) referredTo(name string, fields map[string]any) (list []string, err error) {
	text, err := encodeEntry(name, fields)
	if err != nil {
		return nil, err
	}
	read, problems := clientcfg.ReadOwn(t.ownFile(name), []byte(text), t.machine())
	if len(problems) > 0 || len(read) != 1 {
		return nil, fmt.Errorf("the entry cannot be used: %w", errors.Join(errsOf(problems)...))
	}
	for _, v := range clientcfg.Variables(read[0].Server) {
		list = append(list, "the variable "+v)
	}
	for _, s := range clientcfg.SecretNames(read[0].Server) {
		list = append(list, "the secret "+s)
	}
	return list, nil
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
	if err := t.isFree(p.Name); err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(p.Entry, &fields); err != nil {
		return err
	}
	text, err := encodeEntry(p.Name, fields)
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
	a.bridge.Servers().Update(servers.NewSet(t.given(), t.unusable()))
	return nil
}
