package commands

import (
	"context"
	"fmt"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/registry"

	"github.com/urfave/cli/v3"
)

func findServersCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "find",
		Usage:     "look for servers in the MCP registry",
		ArgsUsage: "WORD...",
		Description: "Anybody may list a server there: it has checked no more than who owns a name.\n" +
			"codemode servers add NAME shows what would be started, and asks.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "`N` servers at most", Local: true},
			jsonFlag(), configFlag(),
		},
		Metadata: examples(`codemode servers find postgres`, `codemode servers find --limit 50 file search`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			words := strings.Fields(strings.Join(cmd.Args().Slice(), " "))
			if len(words) == 0 {
				return &usageError{"find which servers?", []string{"see: codemode servers find --help"}}
			}
			if n := cmd.Int("limit"); n < 1 || n > 500 {
				return &usageError{fmt.Sprintf("--limit is %d; it must be 1 to 500", n), nil}
			}
			c, err := load(env, cmd)
			if err != nil {
				return err
			}
			return findServers(ctx, env, ui, cmd, c, words)
		},
	}
}

// offeredServer is a server of a registry in JSON.
type offeredServer struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Kinds       []string `json:"kinds"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Status      string   `json:"status,omitempty"`
	Repository  string   `json:"repository,omitempty"`
	Website     string   `json:"website,omitempty"`
}

func findServers(ctx context.Context, env Env, ui *ui, cmd *cli.Command, c config.Config, words []string) error {
	var found []registry.Server
	var more bool
	err := askRegistry(ctx, ui, c, func(ctx context.Context, asked *registry.Client) (err error) {
		found, more, err = asked.Find(ctx, words, cmd.Int("limit"))
		return err
	})
	if err != nil {
		return err
	}
	out := newSheet(env)
	if cmd.Bool("json") {
		list := make([]offeredServer, 0, len(found))
		for _, s := range found {
			list = append(list, offeredServer{
				s.Name, s.Version, append([]string{}, s.Kinds()...), s.Title, s.Description, s.Status,
				s.Repository.URL, s.Website,
			})
		}
		err = out.json(list)
	} else {
		err = out.offers(found)
	}
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		ui.note("note", "the MCP registry has nothing for "+quote(strings.Join(words, " ")))
		ui.hints([]string{
			"it looks for a word as it is written, in names and descriptions: try fewer or shorter ones",
			"a server that it does not have: codemode servers add NAME -- COMMAND [ARG...]",
		})
		return exit(exitFailed)
	case more:
		ui.note("note", fmt.Sprintf("there are more than these %d; --limit shows more, another word fewer", len(found)))
	}
	ui.hints([]string{"codemode servers add " + hint.Word(found[0].Name)})
	return nil
}

// maxOffer is how much of what a stranger says of a server is shown in a list.
const maxOffer = 160

// offers prints what was found.
func (p sheet) offers(found []registry.Server) error {
	rows := make([][]cell, 0, len(found))
	for _, s := range found {
		about := s.Description
		if s.Status == registry.Deprecated {
			about = "deprecated: " + about
		}
		rows = append(rows, cells(
			s.Name, cut(s.Version, maxName), cut(strings.Join(s.Kinds(), ","), maxName), cut(about, maxOffer),
		))
	}
	if len(rows) == 0 {
		return nil
	}
	return p.table([]string{"NAME", "VERSION", "KIND", "DESCRIPTION"}, rows)
}

// askRegistry asks the registry that the settings name, and says so where that takes long.
func askRegistry(
	ctx context.Context, ui *ui, c config.Config, ask func(context.Context, *registry.Client) error,
) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	ui.working("asking " + redacted(c.Registry.Address))
	defer ui.done()
	err := ask(ctx, &registry.Client{Address: c.Registry.Address, Agent: "codemode/" + readVersion().Version})
	if stopped := interrupted(ctx); stopped != nil {
		return stopped
	}
	return err
}
