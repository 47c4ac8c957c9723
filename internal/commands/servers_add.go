package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
	"codemode/internal/registry"

	"github.com/urfave/cli/v3"
)

// serverFileName is what may be a server's name and its file's.
var serverFileName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func addServerCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "add",
		Usage:       "configure a server of your own, as a file in ~/MCPs",
		ArgsUsage:   "NAME URL|-- COMMAND [ARG...]|DOMAIN/NAME",
		Description: "A secret is better referred to than written: ${TOKEN}, ${secret:NAME}.",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{
				Name:    "env",
				Aliases: []string{"e"},
				Usage:   "`NAME=VALUE` in its environment; can be repeated",
				Local:   true,
			},
			&cli.StringSliceFlag{Name: "header", Usage: "`NAME: VALUE` sent to its URL; can be repeated", Local: true},
			&cli.StringFlag{
				Name:  "transport",
				Usage: "`KIND` of it, stdio, http or sse; default is what the rest says",
				Local: true,
			},
			&cli.StringFlag{Name: "json", Usage: "`ENTRY` as JSON, or - for stdin, in place of a command", Local: true},
			&cli.StringFlag{Name: "cwd", Usage: "`DIR` it starts in", Local: true},
			&cli.StringFlag{Name: "description", Usage: "`TEXT` that code sees", Local: true},
		}, slices.Concat(registryFlags(), settingFlags("tenant"), []cli.Flag{configFlag()})...),
		Metadata: examples(
			`codemode servers add memory -- npx -y @modelcontextprotocol/server-memory`,
			`codemode servers add sentry https://mcp.sentry.dev/mcp --header 'Key: ${KEY}'`,
			`codemode servers add io.github.user/weather   # of the MCP registry`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args := cmd.Args().Slice()
			if len(args) > 1 && args[1] == "--" {
				args = slices.Delete(args, 1, 2)
			}
			if len(args) == 1 && registry.IsName(args[0]) && !cmd.IsSet("json") {
				return addOffered(ctx, env, ui, cmd, args[0])
			}
			if err := onlyRegistry(cmd); err != nil {
				return err
			}
			if len(args) == 0 || len(args) < 2 && !cmd.IsSet("json") {
				return &usageError{
					"add takes a name and the command that starts the server, or its URL",
					[]string{"see: codemode servers add --help"},
				}
			}
			if !serverFileName().MatchString(args[0]) {
				return &usageError{"server name " + quote(args[0]) + " must be letters, digits, '.', '-' and '_'", nil}
			}
			entry, err := newEntry(env, cmd, args[1:])
			if err != nil {
				return err
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			return addServer(ui, t, cmd, args[0], entry)
		},
	}
}

// isURL tells a server's address from a program.
var isURL = lazyregexp.New(`(?i)^https?://`)

// isAddress tells any address.
var isAddress = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// isHost tells an address that lacks its scheme: HOST:PORT/path or HOST.TLD/path.
var isHost = lazyregexp.New(`^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*:[0-9]+|([A-Za-z0-9-]+\.)+[A-Za-z]{2,})/`)

// lacksScheme refuses an address that would be taken for a program.
func lacksScheme(env Env, cmd *cli.Command, words []string) error {
	word := words[0]
	if len(words) > 1 || cmd.IsSet("cwd") || cmd.String("transport") == config.Stdio || !isHost().MatchString(word) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(env.Dir, word)); err == nil {
		return nil
	}
	url := "https://" + word
	if strings.HasPrefix(word, "localhost") || strings.HasPrefix(word, "127.") {
		url = "http://" + word
	}
	return &usageError{
		"a URL begins with http:// or https://, not " + quote(word) + "; nothing was written",
		[]string{"codemode servers add " + cmd.Args().First() + " " + hint.Word(url)},
	}
}

// newEntry is an entry as the command line describes it.
func newEntry(env Env, cmd *cli.Command, words []string) (map[string]any, error) {
	entry := map[string]any{}
	switch {
	case cmd.IsSet("json"):
		if len(words) > 0 {
			return nil, &usageError{"--json is the whole entry, but there is also " + quote(words[0]), nil}
		}
		if err := readEntry(env, cmd.String("json"), &entry); err != nil {
			return nil, err
		}
	case isURL().MatchString(words[0]):
		if len(words) > 1 {
			return nil, &usageError{"a server with a URL takes no arguments, but there is " + quote(words[1]), nil}
		}
		if u, err := url.Parse(words[0]); err != nil || u.Host == "" {
			return nil, &usageError{quote(words[0]) + " is no URL of a server: it names no host; nothing was written", nil}
		}
		entry["type"], entry["url"] = config.HTTP, words[0]
	case isAddress().MatchString(words[0]):
		return nil, &usageError{
			"a URL begins with http:// or https://, not " + quote(words[0]) + "; nothing was written", nil,
		}
	default:
		if err := lacksScheme(env, cmd, words); err != nil {
			return nil, err
		}
		entry["command"] = words[0]
		if len(words) > 1 {
			entry["args"] = words[1:]
		}
	}
	if err := transported(entry, cmd.String("transport")); err != nil {
		return nil, err
	}
	return entry, complete(cmd, entry)
}

// complete puts into an entry what the command line says in flags of their own.
func complete(cmd *cli.Command, entry map[string]any) error {
	if v := cmd.String("description"); v != "" {
		entry["description"] = v
	}
	// The values are not quoted: they may be secrets.
	return errors.Join(
		pairs(entry, "env", "=", &usageError{"--env takes NAME=VALUE", nil}, cmd.StringSlice("env")),
		pairs(entry, "headers", ":", &usageError{"--header takes 'NAME: VALUE'", nil}, cmd.StringSlice("header")),
	)
}

// maxEntry is more than anybody writes.
const maxEntry = 1 << 20

// readEntry reads an entry, also one that stands in a file's braces.
func readEntry(env Env, text string, entry *map[string]any) error {
	if text == "-" {
		data, err := plainfile.Bounded(env.Stdin, 0, maxEntry)
		if err != nil {
			return fmt.Errorf("reading the entry from stdin: %w", err)
		}
		text = string(data)
	}
	if err := json.Unmarshal([]byte(text), entry); err != nil || *entry == nil {
		return &usageError{
			"--json takes an object, such as {\"command\": \"npx\", \"args\": [\"-y\", \"PACKAGE\"]}", nil,
		}
	}
	for _, member := range []string{"command", "url"} {
		if v, is := (*entry)[member].(string); is && v != "" {
			return nil
		}
	}
	return &usageError{`--json takes an entry with a "command" or a "url"`, nil}
}

// transported gives an entry the transport that --transport names, if it can have that.
func transported(entry map[string]any, kind string) error {
	_, remote := entry["url"]
	switch {
	case kind == "":
	case !slices.Contains([]string{config.Stdio, config.HTTP, config.SSE}, kind):
		return &usageError{"--transport is " + quote(kind) + "; there are stdio, http and sse", nil}
	case remote == (kind == config.Stdio):
		return &usageError{
			fmt.Sprintf("--transport %s needs %s", kind, map[bool]string{true: "a command", false: "a URL"}[remote]),
			nil,
		}
	default:
		entry["type"] = kind
	}
	return nil
}

// pairs adds what a repeated flag gives to a table of an entry.
func pairs(entry map[string]any, table, separator string, bad error, assignments []string) error {
	if len(assignments) == 0 {
		return nil
	}
	values, _ := entry[table].(map[string]any)
	if values == nil {
		values = map[string]any{}
	}
	for _, assignment := range assignments {
		name, value, ok := strings.Cut(assignment, separator)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return bad
		}
		if separator == ":" {
			value = strings.TrimSpace(value)
		}
		values[name] = value
	}
	entry[table] = values
	return nil
}

func addServer(ui *ui, t *tenancy, cmd *cli.Command, name string, entry map[string]any) error {
	cwd, missing := t.folder(cmd.String("cwd"))
	if cwd != "" {
		entry["cwd"] = cwd
	}
	for _, e := range t.found.Named(name) {
		if isOwn(e) {
			return hint.New(
				fmt.Sprintf("server %q is configured in %q already; nothing was written", name, e.Server.Source),
				"codemode servers edit "+name,
			)
		}
	}
	text, err := encodeEntry(name, entry)
	if err != nil {
		return err
	}
	file := t.ownFile(name)
	if err := t.checkEntry(file, text); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("writing %q: %w", file, err)
	}
	if err := writeNew(file, text, "edit it, or choose another name"); err != nil {
		return fmt.Errorf("writing %q: %w", file, err)
	}
	ui.note("servers", fmt.Sprintf("%s is in %s", quote(name), quote(file)))
	if missing {
		ui.warn("there is no folder " + quote(cwd) + ", without which it does not start")
	}
	return t.tellAdded(ui, name, file)
}

// checkEntry refuses an entry that every command would warn of from then on.
func (t *tenancy) checkEntry(file, text string) error {
	if _, problems := clientcfg.ReadOwn(file, []byte(text), t.machine()); len(problems) > 0 {
		return &usageError{problems[0].Err.Error() + "; nothing was written", nil}
	}
	return nil
}

// encodeEntry is the text of a file with one server.
func encodeEntry(name string, entry map[string]any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a URL stays readable
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{"mcpServers": map[string]any{name: entry}})
	return b.String(), err
}

// tellAdded says what a new entry lacks, or what to do with it next.
func (t *tenancy) tellAdded(ui *ui, name, file string) error {
	t.discover()
	for _, e := range t.found.Named(name) {
		if e.Server.Source != file {
			continue
		}
		if len(clientcfg.Secrets(e.Server)) > 0 {
			ui.hints([]string{
				"a secret stands in that file, it seems; better: codemode secrets set NAME, and ${secret:NAME} there",
			})
		}
		if e.Status != clientcfg.Ready {
			hints := (&unusableError{e}).Hint()
			if word := e.Server.Command; e.Status == clientcfg.NeedsProgram && filepath.Base(word) == word &&
				len(e.Server.Args) == 0 {
				hints = append(hints, fmt.Sprintf("%q was taken for a program; a URL begins with http:// or https://: "+
					"codemode servers remove %s, and add it with that", word, hint.Word(name)))
			}
			ui.warn(fmt.Sprintf("it cannot be used yet (%s): %s", e.Status, e.Reason), hints...)
			return nil
		}
	}
	ui.hints([]string{"codemode servers refresh " + name})
	return nil
}

// folder is where --cwd means, seen from here, and whether it is not there. With references in it, that is not known.
func (t *tenancy) folder(typed string) (dir string, missing bool) {
	if typed == "" || strings.Contains(typed, "${") {
		return typed, false
	}
	if rest, ok := strings.CutPrefix(typed, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, _ := t.home()
		return typed, !isFolder(home + rest)
	}
	if !filepath.IsAbs(typed) {
		typed = filepath.Join(t.env.Dir, typed)
	}
	return typed, !isFolder(typed)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isOwn says whether an entry is in a place of codemode's own.
func isOwn(e clientcfg.Entry) bool { return clientcfg.Problem{Client: e.Client}.Own() }

func removeServerCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "remove a server that add has configured",
		ArgsUsage: "NAME",
		Description: "Only a file in ~/MCPs that holds this server alone is removed; others are yours\n" +
			"to edit.",
		Flags:    append(settingFlags("tenant"), configFlag()),
		Metadata: examples(`codemode servers remove memory`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			name, t, err := openNamed(env, cmd)
			if err != nil {
				return err
			}
			return removeServer(ctx, ui, t, name)
		},
	}
}

func removeServer(ctx context.Context, ui *ui, t *tenancy, name string) error {
	entries, err := t.named(name)
	if err != nil {
		return err
	}
	file := t.ownFile(name)
	e := entries[0]
	if e.Server.Source != file || t.inFile(file) != 1 {
		return fmt.Errorf(
			"server %q is configured in %q, which is not a file for it alone; nothing was removed: edit that file", name,
			e.Server.Source,
		)
	}
	if err := t.editor().RemoveOwn(ctx, file, e.Written); err != nil {
		return fmt.Errorf("removing server %q, in %q: %w; nothing was removed: edit that file", name, file, err)
	}
	ui.note("servers", fmt.Sprintf("%s is removed", quote(name)))
	return nil
}

// inFile is how many servers a file has.
func (t *tenancy) inFile(file string) (n int) {
	for _, e := range t.found.Entries {
		if e.Server.Source == file {
			n++
		}
	}
	return n
}
