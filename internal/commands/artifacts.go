package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/artifact"
	"codemode/internal/fileerr"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func artifactsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "artifacts",
		Usage: "files that code of run_python has left for you",
		Description: "Code leaves them in /workspace/out, or hands them to artifact(path_or_bytes).\n" +
			"disk.max_size bounds them, and the oldest go first.",
		Flags:           append([]cli.Flag{jsonFlag()}, tenantFlags()...),
		HideHelpCommand: true,
		Commands:        []*cli.Command{saveArtifactCommand(env, ui), removeArtifactsCommand(env, ui)},
		Metadata: examples(
			`codemode artifacts`, `codemode artifacts save k3v5qm2xw7pa .`, `codemode artifacts remove k3v5qm2xw7pa`,
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			t, store, err := openArtifacts(env, ui, cmd)
			if err != nil {
				return err
			}
			return t.printArtifacts(ui, store.List(), cmd.Bool("json"))
		},
	}
}

var errNoArtifacts = errors.New("there is no folder to keep artifacts in: neither HOME nor XDG_STATE_HOME names one")

// openArtifacts looks into the tenant's artifacts.
func openArtifacts(env Env, ui *ui, cmd *cli.Command) (*tenancy, *artifact.Store, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, nil, err
	}
	store := t.artifacts(slog.New(slog.DiscardHandler))
	if store == nil {
		return nil, nil, errNoArtifacts
	}
	ui.warnAll(t.ownProblems())
	return t, store, nil
}

// artifacts are the files that the tenant's code has left; nil where there is no folder for them.
func (t *tenancy) artifacts(log *slog.Logger) *artifact.Store {
	if dir := t.artifactsDir(); dir != "" {
		return artifact.New(dir, t.disk(log))
	}
	return nil
}

// artifactsDir is where they are.
func (t *tenancy) artifactsDir() string {
	return join(t.paths.TenantState(t.config.Tenant), "artifacts")
}

// artifactRow is an artifact in JSON.
type artifactRow struct {
	artifact.Artifact
	URI string `json:"uri"`
}

func (t *tenancy) printArtifacts(ui *ui, list []artifact.Artifact, asJSON bool) error {
	out := newSheet(t.env)
	if asJSON {
		rows := make([]artifactRow, len(list))
		for i, a := range list {
			rows[i] = artifactRow{a, a.URI()}
		}
		return out.json(rows)
	}
	if len(list) == 0 {
		ui.note("note", "nothing is kept")
		return nil
	}
	table := make([][]cell, 0, len(list))
	for _, a := range list {
		table = append(table, cells(a.ID, a.Made.Local().Format(time.DateTime), bytesOf(a.Size), a.Type, a.Name))
	}
	return out.table([]string{"ID", "MADE", "SIZE", "TYPE", "NAME"}, table)
}

// bytesOf writes a size for people.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return megabytes(n)
}

func saveArtifactCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "save",
		Usage:       "copy an artifact to a file or folder",
		ArgsUsage:   "ID PATH",
		Description: "In a folder it has its own name; - is standard output.",
		Flags:       append([]cli.Flag{forceFlag("write over a file that is there")}, tenantFlags()...),
		Metadata: examples(
			`codemode artifacts save k3v5qm2xw7pa chart.svg`, `codemode artifacts save k3v5qm2xw7pa .`,
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 2 {
				return &usageError{
					"save takes the ID of an artifact, and where to put it", []string{"there are: codemode artifacts"},
				}
			}
			t, store, err := openArtifacts(env, ui, cmd)
			if err != nil {
				return err
			}
			id, to := artifactID(cmd.Args().Get(0)), cmd.Args().Get(1)
			f, a, err := store.Open(id)
			if err != nil {
				return fmt.Errorf("%s: %w", quote(cmd.Args().Get(0)), fileerr.Cause(err))
			}
			defer f.Close()
			if to == "-" {
				_, err := io.Copy(env.Stdout, f)
				return err
			}
			ui.working("saving")
			defer ui.done()
			saved, err := t.saveArtifact(f, a, to, cmd.Bool("force"))
			if err != nil {
				return err
			}
			ui.note("saved", saved)
			return nil
		},
	}
}

// artifactID is what was typed as an ID, which may be the address of the resource.
func artifactID(typed string) string { return strings.TrimPrefix(typed, artifact.URIPrefix) }

// saveArtifact copies an artifact, and returns where it is now, as it was typed.
func (t *tenancy) saveArtifact(f *os.File, a artifact.Artifact, to string, force bool) (string, error) {
	if isFolder(absolute(t.env, to)) {
		to = filepath.Join(to, path.Base(a.Name))
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("writing %s: %w", quote(to), fileerr.Cause(err))
	}
	switch err := t.write(to, f, force, 0o644); {
	case errors.As(err, new(*isThereError)):
		return "", hint.New(quote(to)+" is there already; nothing was written", "to write over it: --force")
	case err != nil:
		return fail(err)
	}
	return to, nil
}

func removeArtifactsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "remove artifacts",
		ArgsUsage: "ID...",
		Flags:     tenantFlags(),
		Metadata:  examples(`codemode artifacts remove k3v5qm2xw7pa`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return &usageError{"remove takes the IDs of artifacts", []string{"there are: codemode artifacts"}}
			}
			_, store, err := openArtifacts(env, ui, cmd)
			if err != nil {
				return err
			}
			var ids []string
			for _, typed := range cmd.Args().Slice() {
				ids = append(ids, artifactID(typed))
			}
			if err := store.Remove(ids...); err != nil {
				return fmt.Errorf("%w; nothing was removed", err)
			}
			for _, id := range ids {
				ui.note("removed", id)
			}
			return nil
		},
	}
}
