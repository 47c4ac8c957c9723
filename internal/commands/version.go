package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func versionCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of codemode and of what it is made of",
		Description: "Nobody is asked anything without --check, by no command.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "ask release.address which release is the newest", Local: true},
			&cli.BoolFlag{Name: "json", Usage: "print JSON", Local: true}, configFlag(),
		},
		Metadata: examples("codemode version", "codemode version --check", "codemode version --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			v := readVersion()
			if !cmd.Bool("check") {
				return printVersion(env.Stdout, v, cmd.Bool("json"))
			}
			c, err := load(env, cmd)
			if err != nil {
				return err
			}
			if c.Release.Address == "" {
				return errNoReleases
			}
			ui.waiting("", "asking "+redacted(c.Release.Address)+" for the newest release")
			defer ui.waiting("", "")
			v.Newest, err = newestRelease(ctx, c.Release.Address, v.Version, maxReleaseWait)
			return errors.Join(printVersion(env.Stdout, v, cmd.Bool("json")), err)
		},
	}
}

var errNoReleases = hint.New("this codemode does not know where its releases are: it was built from source",
	"set release.address in config.toml, or CODEMODE_RELEASE_ADDRESS")

// version is what the toolchain recorded about this binary.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Python   string `json:"python,omitempty"` // the embedded interpreter

	Newest *release `json:"newest,omitempty"` // when it was asked for
}

func readVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = strings.TrimPrefix(m, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/kluctl/go-embed-python" {
			v.Python = pythonOf(d.Version)
		}
	}
	return v
}

// pythonOf reads a version such as "v0.0.0-3.14.6-20260610-1".
func pythonOf(module string) string {
	parts := strings.Split(module, "-")
	if len(parts) < 2 {
		return module
	}
	return parts[1]
}

func printVersion(w io.Writer, v version, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	text := "codemode " + v.Version + "\n"
	for _, row := range [][2]string{
		{"revision", v.Revision},
		{"go", v.Go},
		{"platform", v.Platform},
		{"python", v.Python},
		{"newest", v.Newest.String()},
	} {
		if row[1] != "" {
			text += fmt.Sprintf("  %-9s %s\n", row[0], row[1])
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
