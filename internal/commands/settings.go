package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/telemetry"

	"github.com/urfave/cli/v3"
)

// settingValues are the placeholders in help for the values of settings' flags. Each flag of config's keys needs one.
var settingValues = map[string]string{
	"servers-file": "FILE", "timeout": "DURATION", "runtime": "NAME", "python": "PATH", "memory": "SIZE",
	"tenant": "NAME", "pull": "WHEN", "mount": "DIR", "index": "URL",
}

// settingsCategory marks flags that stand for settings. The help of a command with more than manyFlags flags lists them
// by name alone.
const (
	settingsCategory = "settings"
	manyFlags        = 16
)

// repeated are the settings' flags that may be given more than once.
var repeated = []string{"servers-file", "mount"}

// settingFlags are the flags of a command that stand for settings. The flag in a key's row (config/keys.go) makes none
// by itself: each command names here those that it has. Their help is the key's doc.
func settingFlags(order ...string) []cli.Flag {
	var flags []cli.Flag
	for _, name := range order {
		i := slices.IndexFunc(config.Docs(), func(d config.Doc) bool { return d.Flag == "--"+name })
		usage := "`" + settingValues[name] + "` " + config.Docs()[i].Text
		if name == "mount" { // which is what a user gives to code, as inputFlags
			flags = append(flags, &cli.StringSliceFlag{Name: name, Usage: usage, Local: true})
			continue
		}
		if slices.Contains(repeated, name) {
			flags = append(
				flags, &cli.StringSliceFlag{Name: name, Usage: usage, Local: true, Category: settingsCategory},
			)
			continue
		}
		flags = append(flags, &cli.StringFlag{Name: name, Usage: usage, Local: true, Category: settingsCategory})
	}
	return flags
}

func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "config", Usage: "`FILE` to read instead of the usual config.toml", Local: true,
		Category: settingsCategory,
	}
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
		case slices.Contains(repeated, name):
			src.Flags[d.Name] = cmd.StringSlice(name)
		default:
			src.Flags[d.Name] = cmd.String(name)
		}
	}
	return src
}

// warnings are what is odd about the settings and stops nothing.
func warnings(env Env, c config.Config) []error {
	list := joinUntrusted(c.Problems)
	for _, unknown := range config.UnknownVariables(env.Environ) {
		list = append(list, unknown)
	}
	return append(list, idleSettings(c)...)
}

// untrustedError is all that one project's file says and is not applied.
type untrustedError struct {
	file string
	keys []string
}

func (e *untrustedError) Error() string {
	return fmt.Sprintf(
		"reading %q: %d settings are not applied, since the file came with the project: %s", e.file, len(e.keys),
		strings.Join(e.keys, ", "),
	)
}

// Hint is where each of them is told.
func (e *untrustedError) Hint() []string { return []string{"for each of them: codemode config check"} }

// joinUntrusted joins the problems about keys that a project's file may not set into one: every command warns of them.
func joinUntrusted(problems []error) []error {
	var (
		all   untrustedError
		first = -1
		list  []error
	)
	for _, p := range problems {
		var e *config.ProjectError
		if !errors.As(p, &e) {
			list = append(list, p)
			continue
		}
		if first < 0 {
			first, all.file = len(list), e.File
			list = append(list, p)
		}
		all.keys = append(all.keys, cut(e.Key, maxName))
	}
	if len(all.keys) > 1 {
		list[first] = &all
	}
	return list
}

// lookPath finds a program in the PATH of env; with a separator in it, the name is a path.
func lookPath(env Env) func(string) (string, error) { return lookIn(env, env.get("PATH")) }

func lookIn(env Env, path string) func(string) (string, error) {
	return func(name string) (string, error) {
		if strings.ContainsRune(name, filepath.Separator) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(env.Dir, name)
			}
			return exec.LookPath(name)
		}
		for _, dir := range filepath.SplitList(path) {
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

// newLog writes to stderr what the settings ask for, with the run that a line belongs to, and the tenant where it is
// not the one that everybody has.
func newLog(env Env, c config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // config has checked it
	options := &slog.HandlerOptions{Level: level}
	handler := slog.Handler(slog.NewTextHandler(env.Stderr, options))
	if c.Log.Format == "json" {
		handler = slog.NewJSONHandler(env.Stderr, options)
	}
	log := slog.New(bridge.LogHandler(handler))
	if c.Tenant != config.DefaultTenant {
		log = log.With("tenant", c.Tenant)
	}
	return log
}

// newTelemetry is what the environment asks for, which may be nothing. Nothing of it ever goes to stdout.
func newTelemetry(env Env, warn func(text string)) *telemetry.Telemetry {
	return telemetry.New(telemetry.Options{
		Lookup: env.Lookup, Console: env.Stderr, Version: readVersion().Version,
		Warn: warn,
	})
}
