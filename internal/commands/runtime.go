package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/mcpserver"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/python"
)

var errNoCache = hint.New("there is no folder to unpack Python into: neither HOME nor XDG_CACHE_HOME names one",
	"set HOME, or XDG_CACHE_HOME and XDG_CONFIG_HOME, to absolute paths")

// serveBridge is what makes the bridge of a command that runs code again and again, when the servers are known. Nothing
// is started or probed by it.
func (t *tenancy) serveBridge(ui *ui, log *slog.Logger) (make func() *bridge.Bridge, err error) {
	return t.newBridge(ui, log, log, t.config.Sandbox.Pool, nil, true)
}

// execBridge makes the bridge of a command that runs code once, for a user who is told what the engine's log would
// warn of.
func (t *tenancy) execBridge(ui *ui, log *slog.Logger) (*bridge.Bridge, error) {
	make, err := t.newBridge(ui, log, slog.New(warner{ui}), 0, ui.waiting, false)
	if err != nil {
		return nil, err
	}
	return make(), nil
}

func (t *tenancy) newBridge(
	ui *ui, log, engines *slog.Logger, pool int, progress func(subject, text string), keep bool,
) (make func() *bridge.Bridge, err error) {
	rt, err := t.chooseRuntime(ui, log, engines, pool)
	if err != nil {
		return nil, err
	}
	return func() *bridge.Bridge {
		opts := t.bridgeOptions(log)
		opts.KeepOutFiles = keep
		opts.Runtime = &tenantRuntime{
			Runtime: rt, config: t.config, log: engines, packages: t.packagesAtStart(ui), tenancy: t,
		}
		opts.Progress, opts.Servers = progress, t.configured
		t.adder = &adder{env: t.env, cmd: t.cmd}
		opts.Adder, opts.Packages = t.adder, &packageAdder{t, ui}
		t.adder.bridge = bridge.New(opts)
		return t.adder.bridge
	}, nil
}

// mcpOptions are those of what MCP clients see of the tenant's bridge.
func (t *tenancy) mcpOptions(ui *ui, log *slog.Logger) mcpserver.Options {
	return mcpserver.Options{
		Config: t.config, Version: readVersion().Version, Log: log, Artifacts: t.artifactsDir() != "",
		Packages: func(ctx context.Context) ([]string, error) { return t.importable(ctx, ui) },
	}
}

// chooseRuntime returns the runtime that the settings ask for. What is asked for by name is never replaced by
// something else.
func (t *tenancy) chooseRuntime(ui *ui, log, engines *slog.Logger, pool int) (sandbox.Runtime, error) {
	if t.paths.Cache == "" {
		return nil, errNoCache
	}
	names := runtimeNames(t.config.Sandbox)
	runtimes := make([]sandbox.Runtime, 0, len(names))
	for _, name := range names {
		var rt sandbox.Runtime
		if name == config.RuntimeNative {
			rt = t.native(ui, log)
		} else { // an engine, or the path of one's command
			rt = t.engine(name, ui, engines)
		}
		if pool > 0 {
			rt = sandbox.NewPool(rt, pool, t.config.Sandbox.IdleTimeout, engines)
		}
		runtimes = append(runtimes, rt)
	}
	if len(runtimes) == 1 {
		return runtimes[0], nil
	}
	return sandbox.NewFirst(runtimes...), nil
}

// tenantRuntime is a runtime whose errors call settings by the names that their user knows, and which tells where no
// container is had though a variable asks for one. What it starts has the tenant's packages as they are at that moment.
type tenantRuntime struct {
	sandbox.Runtime
	config   config.Config
	log      *slog.Logger
	packages func(context.Context) (sandbox.Packages, error)
	tenancy  *tenancy
	once     sync.Once
	without  sync.Once
	unfit    atomic.Pointer[string] // the layer that the image's Python cannot use
}

func (n *tenantRuntime) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	packages, lost := n.packages(ctx)
	if lost != nil {
		n.without.Do(func() { n.log.Warn(told(lost)) })
	}
	spec.Packages = packages
	box, err := n.startWith(ctx, spec)
	image := n.config.Variables["sandbox.image"]
	if err == nil && image != "" && len(runtimeNames(n.config.Sandbox)) > 1 && n.Name() == config.RuntimeNative {
		n.once.Do(func() {
			n.log.Warn(image + " does not apply: no engine here could use it (codemode doctor says more), " +
				"and the native runtime has no image")
		})
	}
	return box, n.wrap(err)
}

// startWith has code run without packages that are not for the runtime's Python, unless the program asks for some.
func (n *tenantRuntime) startWith(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if unfit := n.unfit.Load(); unfit != nil && *unfit == spec.Packages.Host {
		spec.Packages.Host, spec.Packages.ABI = "", ""
	}
	box, err := n.Runtime.Start(ctx, spec)
	var other *sandbox.PackagesError
	if !errors.As(err, &other) || n.tenancy.needs {
		return box, err
	}
	n.without.Do(func() {
		n.log.Warn(told(hint.New(fmt.Sprintf(
			"code runs without the packages that were added: they are for %s, and the Python of runtime %q is %s",
			other.Want, other.Runtime, other.Has,
		), n.config.Name(hint.Of(err))...)))
	})
	host := spec.Packages.Host
	n.unfit.Store(&host)
	spec.Packages.Host, spec.Packages.ABI = "", ""
	return n.Runtime.Start(ctx, spec)
}

func (n *tenantRuntime) Probe(ctx context.Context) (sandbox.Report, error) {
	report, err := n.Runtime.Probe(ctx)
	return report, n.wrap(err)
}

func (n *tenantRuntime) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &namedError{err, n.config}
}

type namedError struct {
	error
	config config.Config
}

func (e *namedError) Unwrap() error  { return e.error }
func (e *namedError) Hint() []string { return e.config.Name(hint.Of(e.error)) }

// idleSettings are variables of the environment that ask for something of a container where code runs in none.
func idleSettings(c config.Config) (list []error) {
	if runtimeNames(c.Sandbox)[0] != config.RuntimeNative {
		return nil
	}
	way := "to use an engine: " + cmp.Or(c.Variables["sandbox.runtime"], "CODEMODE_SANDBOX_RUNTIME") + "=podman"
	if image := c.Variables["sandbox.image"]; image != "" {
		list = append(list, hint.New(image+" does not apply: code runs in the native runtime, which has no image", way))
	}
	if user := c.Variables["sandbox.user"]; user != "" && c.Sandbox.User != container.Nobody {
		list = append(list, hint.New(
			user+" does not apply: code runs in the native runtime, as nobody ("+container.Nobody+")", way))
	}
	return list
}

// runtimeNames are those that are tried, one after the other. Only one is named where the settings leave no choice.
func runtimeNames(c config.Sandbox) []string {
	switch {
	case c.Runtime != config.RuntimeAuto:
		return []string{c.Runtime}
	case c.Python != "":
		return []string{config.RuntimeNative} // an interpreter of this machine is in no container
	}
	return c.Order
}

func (t *tenancy) native(ui *ui, log *slog.Logger) sandbox.Runtime {
	c := t.config.Sandbox
	return sandbox.NewNative(sandbox.NativeOptions{
		CacheDir:  t.paths.Cache,
		Log:       log,
		Isolation: sandbox.Isolation(c.Isolation),
		Python:    t.python(ui),
		Ahead:     t.env.ahead,
	})
}

// startAhead begins to start a guest while the program still has to find out which.
func startAhead(env Env) *sandbox.Ahead {
	if !expectsGuest(env) {
		return nil
	}
	return sandbox.StartAhead()
}

// expectsGuest tells whether the command line and the environment let expect a guest of the native runtime. An error
// costs time: what config.toml says is not known yet.
func expectsGuest(env Env) bool {
	if len(env.Args) < 3 || env.Args[1] != "exec" {
		return false
	}
	asked := env.get("CODEMODE_SANDBOX_RUNTIME")
	for i, arg := range env.Args[2:] {
		name, value, given := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case name == "-help" || name == "h":
			return false
		case name == "-runtime" && given:
			asked = value
		case name == "-runtime" && len(env.Args) > 3+i:
			asked = env.Args[3+i]
		}
	}
	return asked == "" || asked == config.RuntimeAuto || asked == config.RuntimeNative
}

func (t *tenancy) python(ui *ui) python.Source {
	s := python.Source{
		CacheDir:    t.paths.Cache,
		Interpreter: t.config.Sandbox.Python,
		LookPath:    lookPath(t.env),
		Progress:    ui.busy,
	}
	if t.config.Sandbox.Isolation != string(sandbox.IsolationReduced) { // there is nothing to start programs in, then
		s.Confine = t.helpers().Confined
	}
	return s
}

// helpers start what codemode itself needs done within restrictions.
func (t *tenancy) helpers() *sandbox.Programs {
	return sandbox.NewPrograms(sandbox.ProgramOptions{Homes: t.unseenHomes(), Trusted: t.trusted()})
}

func (t *tenancy) engine(name string, ui *ui, log *slog.Logger) *container.Runtime {
	c := t.config.Sandbox
	return container.New(container.Options{
		Engine:   name,
		Image:    c.Image,
		User:     c.User,
		CacheDir: t.paths.Cache,
		Log:      log,
		Missing:  c.Pull == "missing",
		Machine:  c.Podman.Machine == "manage",
		Idle:     c.IdleTimeout,
		Progress: func(line string) { ui.waiting(filepath.Base(name), line) },
		LookPath: lookPath(t.env),
		Lookup:   t.env.Lookup,

		Kubernetes: container.KubernetesOptions(c.Kubernetes),
		AllowGaps:  c.AllowGaps,
	})
}

// warner shows a user the warnings of a log, and nothing else of it.
type warner struct{ ui *ui }

func (w warner) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warner) Handle(_ context.Context, r slog.Record) error {
	w.ui.warn(r.Message)
	return nil
}

func (w warner) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warner) WithGroup(string) slog.Handler      { return w }
