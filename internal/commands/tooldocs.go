package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

// unusableError is about a server that is there and cannot be used.
type unusableError struct{ entry clientcfg.Entry }

func (e *unusableError) Error() string {
	s := fmt.Sprintf("server %q cannot be used (%s)", e.entry.Server.Name, e.entry.Status)
	if e.entry.Reason != "" {
		s += ": " + e.entry.Reason
	}
	return s
}

// Hint is what its user can do.
func (e *unusableError) Hint() []string {
	name, file := hint.Word(e.entry.Written), e.entry.Server.Source
	switch e.entry.Status {
	case clientcfg.NeedsApproval:
		return []string{"codemode servers show " + name, "codemode servers approve " + name}
	case clientcfg.Duplicate, clientcfg.Shadowed:
		return []string{"use " + strconv.Quote(e.entry.Of)}
	case withheld:
		return []string{"see what is wrong with the file: codemode doctor"}
	case excluded:
		return []string{"what leaves it out, and where: codemode config"}
	case clientcfg.NeedsSignIn:
		return []string{"codemode auth login " + name}
	case clientcfg.Disabled:
		if isOwn(e.entry) {
			return []string{"codemode servers enable " + name}
		}
		return []string{"switch it on in " + quote(file)}
	case clientcfg.NeedsInput:
		if len(e.entry.Ways) > 0 {
			return e.entry.Ways
		}
		if e.entry.Asks() {
			return []string{"write an entry of your own, with a variable in its place: codemode servers add " + name + " …"}
		}
		return []string{"set that where codemode is started, or change its entry in " + quote(file)}
	case clientcfg.NeedsProgram:
		return []string{"install that program, or change its entry in " + quote(file)}
	case clientcfg.Invalid:
		return []string{"change its entry in " + quote(file)}
	}
	return nil
}

// unknownToolError is a tool that a server does not have.
type unknownToolError struct{ server, tool, nearest string }

func (e *unknownToolError) Error() string {
	return fmt.Sprintf("server %q has no tool %q", e.server, e.tool)
}

// Hint is the tool that was meant, or where all are.
func (e *unknownToolError) Hint() []string {
	if e.nearest != "" {
		return hint.Meant(e.nearest)
	}
	return []string{"there are: codemode docs " + hint.Word(e.server)}
}

func docsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "docs",
		Usage:     "show tools as the Python functions code sees",
		ArgsUsage: "SERVER [TOOL]",
		Description: "Without a tool, the signatures of all of them. It shows what the server said\n" +
			"when it was last asked; one that never was is asked, and by --refresh all.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: "with the JSON schemas", Local: true},
			&cli.BoolFlag{Name: "stubs", Usage: "a .pyi file for editors and type checkers", Local: true},
			refreshFlag(),
			jsonFlag(),
		}, discoveryFlags()...),
		Metadata: examples(
			`codemode docs github`,
			`codemode docs github create_issue --full`,
			`codemode docs github --stubs > mcp_github.pyi`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if n := cmd.Args().Len(); n == 0 || n > 2 {
				return &usageError{
					"docs takes a server and perhaps one of its tools",
					[]string{"see: codemode docs --help", "there are: codemode servers"},
				}
			}
			return runDocs(ctx, env, ui, cmd, cmd.Args().Get(0), cmd.Args().Get(1))
		},
	}
}

func runDocs(ctx context.Context, env Env, ui *ui, cmd *cli.Command, server, tool string) error {
	l, err := openListing(ctx, env, ui, cmd, server)
	if err != nil {
		return err
	}
	defer l.close()
	if known, its, ok := l.knownServer(server); ok && tool == "" && !l.isServer(server) {
		server, tool = known, its // in one word, as call takes it
	}
	s, err := l.server(ctx, server)
	if err != nil {
		return err
	}
	if tool != "" {
		t, ok := s.Tool(tool)
		if !ok {
			var known []string
			for _, t := range s.Tools {
				known = append(known, t.Alias)
			}
			return &unknownToolError{s.Name, tool, catalog.Suggest(tool, known)}
		}
		s.Tools = []catalog.Tool{t}
	}
	docs := serverDocs{Server: s}
	for _, t := range s.Tools {
		docs.Tools = append(docs.Tools, documented{t, l.bridge.Servers().Note(s, t)})
	}
	out := newSheet(env)
	switch {
	case cmd.Bool("json"):
		return out.json(docs)
	case cmd.Bool("stubs"):
		return out.text(catalog.Stub(s))
	}
	return out.text(docs.text(tool != "", cmd.Bool("full")))
}

// serverDocs is a server with its tools, in JSON, too.
type serverDocs struct {
	catalog.Server
	Tools []documented `json:"tools,omitempty"`
}

// documented is a tool, and what the tenant's policy says of it.
type documented struct {
	catalog.Tool
	Policy string `json:"policy,omitempty"`
}

// text is a server's documentation: a line or two a tool, or all that is said of one.
func (s serverDocs) text(whole, full bool) string {
	var b strings.Builder
	if !whole {
		fmt.Fprintf(&b, "mcp_%s: %s of %q\n", s.Alias, plural(len(s.Tools), "tool", "tools"), s.Name)
		if s.Description != "" {
			fmt.Fprintf(&b, "%s\n", s.Description)
		}
	}
	for i, t := range s.Tools {
		if !whole || i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "mcp_%s.%s\n", s.Alias, t.Signature)
		text := t.Summary()
		if whole {
			text = t.Docstring()
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); line != "" {
				b.WriteString("    " + line)
			}
			b.WriteByte('\n')
		}
		if t.Policy != "" {
			fmt.Fprintf(&b, "    %s\n", t.Policy)
		}
		if full {
			fmt.Fprintf(&b, "    input schema: %s\n", t.InputSchema)
			if t.OutputSchema != nil {
				fmt.Fprintf(&b, "    output schema: %s\n", t.OutputSchema)
			}
		}
	}
	return b.String()
}
