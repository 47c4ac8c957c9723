package commands

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"

	"github.com/urfave/cli/v3"
)

// settingValues names the values of the flags that stand for settings.
var settingValues = map[string]string{
	"servers-file": "FILE", "timeout": "DURATION", "runtime": "NAME", "python": "PATH", "memory": "SIZE",
	"tenant": "NAME", "pull": "WHEN",
}

// settingFlags are the flags that stand for settings, with the words of the settings' table.
func settingFlags(order ...string) []cli.Flag {
	var flags []cli.Flag
	for _, name := range order {
		i := slices.IndexFunc(config.Docs(), func(d config.Doc) bool { return d.Flag == "--"+name })
		usage := "`" + settingValues[name] + "` " + config.Docs()[i].Text
		if name == "servers-file" {
			flags = append(flags, &cli.StringSliceFlag{Name: name, Usage: usage, Local: true})
			continue
		}
		flags = append(flags, &cli.StringFlag{Name: name, Usage: usage, Local: true})
	}
	return flags
}

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Usage: "`FILE` to read instead of the usual config.toml", Local: true}
}

// load resolves the settings for a command.
func load(env Env, cmd *cli.Command) (config.Config, error) {
	return config.Load(settingsSource(env, cmd))
}

// settingsSource is what a command's settings are read from.
func settingsSource(env Env, cmd *cli.Command) config.Source {
	src := config.Source{Lookup: env.Lookup, Dir: env.Dir, File: cmd.String("config"), Flags: map[string]any{}}
	for _, d := range config.Docs() {
		name := strings.TrimPrefix(d.Flag, "--")
		switch {
		case name == "" || !cmd.IsSet(name):
		case name == "servers-file":
			src.Flags[d.Name] = cmd.StringSlice(name)
		default:
			src.Flags[d.Name] = cmd.String(name)
		}
	}
	return src
}

// warnings are what is odd about the settings and stops nothing.
func warnings(env Env, c config.Config) []error {
	list := slices.Clone(c.Problems)
	for _, unknown := range config.UnknownVariables(env.Environ) {
		list = append(list, unknown)
	}
	return list
}

// lookPath finds a program in the PATH of env; with a separator in it, the name is a path.
func lookPath(env Env) func(string) (string, error) {
	return func(name string) (string, error) {
		if strings.ContainsRune(name, filepath.Separator) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(env.Dir, name)
			}
			return exec.LookPath(name)
		}
		for _, dir := range filepath.SplitList(env.get("PATH")) {
			if !filepath.IsAbs(dir) {
				continue
			}
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
		return "", fmt.Errorf("%q is not in PATH", name)
	}
}

// newLog writes to stderr at a level, with the fields people read and no time: who starts codemode stamps it.
func newLog(env Env, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // config has checked it
	return slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: l}))
}
