package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/sandbox"

	"github.com/urfave/cli/v3"
)

// settingValues names the values of the flags that stand for settings.
var settingValues = map[string]string{
	"servers-file": "FILE", "timeout": "DURATION", "runtime": "NAME", "python": "PATH", "memory": "SIZE",
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
	return config.Load(src)
}

// discover finds the servers. A file the user has named on this command line must be there.
func discover(env Env, cmd *cli.Command, c config.Config) (clientcfg.Found, error) {
	found := clientcfg.Discover(c.Servers)
	for _, name := range cmd.StringSlice("servers-file") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(env.Dir, name)
		}
		for _, p := range found.Problems {
			if p.File == name && errors.Is(p.Err, fs.ErrNotExist) {
				return found, p
			}
		}
	}
	return found, nil
}

// newBridge makes the bridge of a command. Nothing is started or probed by it.
func newBridge(env Env, c config.Config, servers []config.Server, log *slog.Logger, progress func(done, total int, what string)) (*bridge.Bridge, error) {
	paths := config.FindPaths(env.Lookup, runtime.GOOS)
	rt, err := chooseRuntime(env, c.Sandbox, paths, log, progress)
	if err != nil {
		return nil, err
	}
	return bridge.New(bridge.Options{
		Config:   c,
		Servers:  slices.DeleteFunc(servers, func(s config.Server) bool { return s.Disabled }),
		Runtime:  rt,
		Log:      log,
		Version:  readVersion().Version,
		Lookup:   env.Lookup,
		StateDir: filepath.Join(paths.State, "default", "outputs"),
	}), nil
}

var errNoCache = errors.New("there is no folder to unpack Python into: neither HOME nor XDG_CACHE_HOME names one")

// chooseRuntime returns the runtime that the settings ask for. What is asked for is never silently
// replaced by something else.
func chooseRuntime(env Env, c config.Sandbox, paths config.Paths, log *slog.Logger, progress func(done, total int, what string)) (sandbox.Runtime, error) {
	native := c.Runtime == "native" || c.Runtime == "auto" && slices.Contains(c.Order, "native")
	if !native {
		name := c.Runtime
		if name == "auto" {
			name = strings.Join(c.Order, ",")
		}
		return nil, fmt.Errorf("runtime %q is not part of this version of codemode: podman and docker come later, native is there", name)
	}
	if paths.Cache == "" {
		return nil, errNoCache
	}
	return sandbox.NewNative(sandbox.NativeOptions{
		CacheDir:  paths.Cache,
		Log:       log,
		Isolation: sandbox.Isolation(c.Isolation),
		Python: sandbox.PythonSource{
			CacheDir:    paths.Cache,
			Interpreter: c.Python,
			LookPath:    lookPath(env),
			Progress:    progress,
		},
	}), nil
}

// lookPath finds a program in the PATH of env.
func lookPath(env Env) func(string) (string, error) {
	return func(name string) (string, error) {
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
