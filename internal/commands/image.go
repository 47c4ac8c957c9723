package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"codemode/internal/bridge"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"

	"github.com/urfave/cli/v3"
)

func imageCommand(env Env, ui *ui) *cli.Command {
	flags := func() []cli.Flag {
		return append([]cli.Flag{
			&cli.StringFlag{
				Name:  "runtime",
				Usage: "`NAME` of the engine: podman or docker; default is both",
				Local: true,
			},
		}, append(settingFlags("tenant"), configFlag())...)
	}
	return &cli.Command{
		Name:  "image",
		Usage: "look for the image of containers, or fetch it",
		Description: "The runtimes podman and docker make containers from sandbox.image. It is fetched\n" +
			"by pull, and else only where sandbox.pull says so.",
		Flags:           append([]cli.Flag{jsonFlag()}, flags()...),
		Metadata:        examples(`codemode image`, `codemode image pull`, `codemode image pull --runtime podman`),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			{
				Name:  "pull",
				Usage: "fetch the image, or a newer one of its name",
				Flags: flags(),
				Metadata: examples(
					`codemode image pull`,
					`CODEMODE_SANDBOX_IMAGE=python:3.13 codemode image pull --runtime docker`,
				),
				Action: func(ctx context.Context, cmd *cli.Command) error {
					if err := noArguments(cmd); err != nil {
						return err
					}
					return pullImage(ctx, env, ui, cmd)
				},
			},
			{
				Name:  "warm-pool",
				Usage: "print a warm pool of pods for agent-sandbox",
				Description: "The pool's pods have the image and limits of the settings, and wait for guests\n" +
					"of this codemode. They are taken where sandbox.kubernetes.warm_pool names it.",
				Flags:    append(settingFlags("tenant"), configFlag()),
				Metadata: examples(`codemode image warm-pool | kubectl apply --filename -`),
				Action: func(_ context.Context, cmd *cli.Command) error {
					if err := noArguments(cmd); err != nil {
						return err
					}
					return printWarmPool(env, ui, cmd)
				},
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return showImage(ctx, env, ui, cmd)
		},
	}
}

func printWarmPool(env Env, ui *ui, cmd *cli.Command) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	rt := t.engine(container.Kubernetes, ui, slog.New(slog.DiscardHandler))
	text, err := rt.WarmPool(bridge.Policy(t.config.Sandbox))
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(text)
	return err
}

// imageState is what one engine has.
type imageState struct {
	Runtime string `json:"runtime"`
	Image   string `json:"image"`
	Present bool   `json:"present"`
	Error   string `json:"error,omitempty"` // why that is unknown
}

// engines are those the command is about, in the configured order.
func engines(env Env, ui *ui, cmd *cli.Command) ([]*container.Runtime, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, err
	}
	if t.paths.Cache == "" {
		return nil, errNoCache
	}
	names := []string{container.Podman, container.Docker}
	if order := t.config.Sandbox.Order; slices.Index(order, container.Docker) < slices.Index(order, container.Podman) &&
		slices.Contains(order, container.Docker) {
		slices.Reverse(names)
	}
	if only := cmd.String("runtime"); only != "" {
		if !slices.Contains(names, only) {
			return nil, &usageError{
				"runtime " + quote(only) + " has no images", []string{"there are podman and docker"},
			}
		}
		names = []string{only}
	}
	var all []*container.Runtime
	for _, name := range names {
		all = append(all, t.engine(name, ui, slog.New(slog.DiscardHandler)))
	}
	return all, nil
}

func showImage(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	all, err := engines(env, ui, cmd)
	if err != nil {
		return err
	}
	var states []imageState
	for _, rt := range all {
		s := imageState{Runtime: rt.Name(), Image: rt.Image().Name()}
		if s.Present, err = rt.Image().Present(ctx); err != nil {
			s.Error = err.Error()
		}
		states = append(states, s)
	}
	out := newSheet(env)
	if cmd.Bool("json") {
		return out.json(states)
	}
	rows := make([][]cell, 0, len(states))
	for _, s := range states {
		state := cell{"missing", yellow}
		switch {
		case s.Error != "":
			state = cell{"unknown", red}
		case s.Present:
			state = cell{"present", green}
		}
		rows = append(rows, []cell{{s.Runtime, ""}, {s.Image, ""}, state, {s.Error, ""}})
	}
	return out.table([]string{"RUNTIME", "IMAGE", "STATE", ""}, rows)
}

// pullImage fetches the image with every engine that works. It fails when none does.
func pullImage(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	all, err := engines(env, ui, cmd)
	if err != nil {
		return err
	}
	var failed []error
	for _, rt := range all {
		err := rt.Image().Pull(ctx, ui.working)
		ui.done()
		var unavailable *sandbox.UnavailableError
		switch {
		case err == nil:
			ui.note("image", fmt.Sprintf("%s has %s", rt.Name(), quote(rt.Image().Name())))
		case len(all) > 1 && errors.As(err, &unavailable) && unavailable.Code == "no-engine":
		default:
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && len(all) > 1 {
		return nil
	}
	return errors.Join(failed...)
}
