package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"
)

func versionCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:     "version",
		Usage:    "print the version of codemode and of what it is made of",
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON", Local: true}},
		Metadata: examples("codemode version", "codemode version --json"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			return printVersion(env.Stdout, cmd.Bool("json"))
		},
	}
}

// version is what the toolchain recorded about this binary.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Python   string `json:"python,omitempty"` // the embedded interpreter
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

func printVersion(w io.Writer, asJSON bool) error {
	v := readVersion()
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	text := "codemode " + v.Version + "\n"
	for _, row := range [][2]string{{"revision", v.Revision}, {"go", v.Go}, {"platform", v.Platform}, {"python", v.Python}} {
		if row[1] != "" {
			text += fmt.Sprintf("  %-9s %s\n", row[0], row[1])
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
