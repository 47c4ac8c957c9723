package container

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/cachedir"
	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/seccomp"
)

// How long an engine may take for a question: one that hangs is as good as none. A busy machine takes ten seconds to
// start podman; a cluster is not on it.
const (
	answerTime    = 20 * time.Second
	podAnswerTime = 10 * time.Second
)

var errNoAnswer = errors.New("no answer")

// withAnswer bounds a question to an engine, with errNoAnswer as the cause of its end.
func withAnswer(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w within %v", errNoAnswer, d))
}

// An engine is a command that was asked what it is. It does not change.
type engine struct {
	name    string        // Podman, Docker or Kubernetes
	answer  time.Duration // the runtime's
	path    string        // of the command
	global  []string      // arguments before every subcommand
	profile string        // path of the system call filter's profile; empty where the init has the filter
	filters []filter      // of the init, which knows what machine it is on
	inner   []filter      // a second one, of the guest alone
	closed  bool          // the filter is that of guests which see folders of their user's: they make no socket
	writes  bool          // and of those which may change files there
	owner   owner         // codemode, as the labels of its containers say

	id       string // of docker's daemon
	version  string
	alone    string // the option of a mount that leaves out what is mounted below
	rootless bool
	local    bool // containers are processes of this machine
	vm       string
	seccomp  bool
	memory   string
	pids     string
	cpus     string

	processes int64 // of one user, more than all containers together have
	cluster   cluster
}

const manyProcesses = 16384

// Means of a limit, as in sandbox.Report.
const (
	byCgroup   = "cgroup"
	byWatchdog = "watchdog" // the container's init looks
	byRlimit   = "rlimit"
	byNothing  = "none"
)

// find finds the engine's command and asks it what it is.
func (r *Runtime) find(ctx context.Context) (*engine, error) {
	command := cmp.Or(r.opts.Engine, Podman)
	if command == Kubernetes {
		command = kubectl
	}
	path, err := r.opts.LookPath(command)
	if err != nil {
		return nil, notInstalled(r.name, command, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	e := &engine{
		name: r.name, answer: r.answer, path: path, owner: thisProcess(), processes: manyProcesses,
		alone: "bind-nonrecursive=true",
	}
	switch e.name {
	case Docker:
		err = e.askDocker(ctx, r.opts.Lookup)
	case Kubernetes:
		err = e.askKubernetes(ctx, r.opts.Kubernetes)
	default:
		if err = e.askPodman(ctx); err != nil {
			err = r.startMachine(ctx, e, err)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := r.chooseFilter(e); err != nil {
		return nil, err
	}
	if e.name == Docker && !e.rootless && e.vm == "" {
		r.log.Warn("docker's daemon runs as root; rootless docker or podman is safer", "engine", e.path)
	}
	r.log.Debug(
		"engine found", "engine", e.path, "version", e.version, "rootless", e.rootless, "local", e.local, "vm", e.vm,
	)
	return e, nil
}

// chooseFilter has the engine's command read the system call filter from a file, and where podman would look for that
// on another machine, the init. Docker's command sends what it has read (podman-run(1) and docker run, November
// 2026). It is closed for guests that see folders of their user's.
func (r *Runtime) chooseFilter(e *engine) (err error) {
	opts := seccomp.Options{Watched: e.memory == byWatchdog, Closed: e.closed, Init: true, Writes: e.writes}
	// Of many sessions each would get as much of the processor as the init, which then measures too late. Where a
	// cgroup limits memory, that does no harm.
	inner := seccomp.Options{OneSession: opts.Watched}
	e.inner, err = filters(func(goarch string) ([]seccomp.Insn, error) { return seccomp.Guest(goarch, inner) })
	if err != nil {
		return err
	}
	if e.name == Podman && !e.local || e.name == Kubernetes {
		e.filters, err = filters(func(goarch string) ([]seccomp.Insn, error) { return seccomp.Filter(goarch, opts) })
		return err
	}
	e.profile, err = writeProfile(r.opts.CacheDir, opts)
	if untrusted, ok := errors.AsType[*cachedir.Error](err); ok {
		return e.unavailable("cache", "writing the system call filter", err, untrusted.Hint()...)
	}
	if err != nil {
		return e.unavailable("cache", "writing the system call filter", err,
			"Set XDG_CACHE_HOME to a directory that can be written.")
	}
	return nil
}

// report is what the engine can enforce.
func (e *engine) report(image string) sandbox.Report {
	landlock := 0
	if e.local {
		landlock = landlockHere()
	}
	return sandbox.Report{
		Runtime: e.name, Version: e.version, Method: "container", Seccomp: e.seccomp, Proc: true, Landlock: landlock,
		Memory: e.memory, Pids: e.pids, CPUs: e.cpus, Rootless: e.rootless, Python: "image " + image,
	}
}

// A commandError is an engine's command that failed.
type commandError struct {
	command string // "podman run"
	code    int
	stderr  string // what it said, its end
	cause   error  // why it was not started, or given up
}

func (e *commandError) Error() string {
	why := lastLines(e.stderr)
	switch {
	case e.cause != nil && why != "":
		return fmt.Sprintf("`%s`: %v: %s", e.command, e.cause, why)
	case e.cause != nil:
		return fmt.Sprintf("`%s`: %v", e.command, e.cause)
	case why != "":
		return fmt.Sprintf("`%s`: %s", e.command, why)
	}
	return fmt.Sprintf("`%s` ended with exit code %d", e.command, e.code)
}

func (e *commandError) Unwrap() error { return e.cause }

// command prepares the engine's command. It inherits codemode's environment, which says where the engine
// is, but for what a service manager gave codemode alone. A terminal's ^C is codemode's to act on.
func (e *engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.path, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "LISTEN_") || strings.HasPrefix(v, "NOTIFY_SOCKET=")
	})
	if e.profile != "" {
		// Podman's conmon makes a file "oom" in the directory it was started from (2.1.6, November 2026).
		cmd.Dir = filepath.Dir(e.profile)
	}
	detach(cmd)
	return cmd
}

// ask runs a command that answers at once.
func (e *engine) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := withAnswer(ctx, e.answer)
	defer cancel()
	return e.run(ctx, nil, append(slices.Clone(e.global), args...)...)
}

// run runs a command to its end, and kills it when ctx is over. line gets what it says on standard error.
func (e *engine) run(ctx context.Context, line func(string), args ...string) (string, error) {
	return e.feed(ctx, nil, line, args...)
}

// feed is run with something on standard input.
func (e *engine) feed(ctx context.Context, input []byte, line func(string), args ...string) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	cmd := e.command(args...)
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var lines *lineWriter
	if line != nil {
		lines = &lineWriter{to: line, keep: &stderr}
		cmd.Stderr = lines
	}
	cmd.WaitDelay = time.Second // a helper of the command's may hold its output
	failed := &commandError{command: e.program() + " " + verb(args[len(e.global):])}
	if err := cmd.Start(); err != nil {
		failed.cause = err
		return "", failed
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	failed.stderr = stderr.String()
	if !stop() {
		failed.cause = context.Cause(ctx)
		return "", failed
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		failed.code = cmd.ProcessState.ExitCode()
		return stdout.String(), failed
	}
	return stdout.String(), nil
}

// program is what the engine's command is called.
func (e *engine) program() string {
	if e.name == Kubernetes {
		return kubectl
	}
	return e.name
}

// verb is the words of a command before its options.
func verb(args []string) string {
	n := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if n < 0 {
		n = len(args)
	}
	return strings.Join(args[:min(n, 2)], " ")
}

// A lineWriter hands on lines, and keeps the end of them.
type lineWriter struct {
	to   func(string)
	keep *bytes.Buffer
	part []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if w.keep.Len() > maxChatter {
		w.keep.Next(w.keep.Len() - maxChatter)
	}
	w.keep.Write(p)
	w.part = append(w.part, p...)
	for {
		i := bytes.IndexAny(w.part, "\r\n")
		if i < 0 {
			w.part = w.part[max(0, len(w.part)-maxChatter):]
			return len(p), nil
		}
		if line := strings.TrimSpace(string(w.part[:i])); line != "" {
			w.to(line)
		}
		w.part = w.part[i+1:]
	}
}

// kubectlNoise is what kubectl logs of itself, and that it ends as its command did.
var kubectlNoise = lazyregexp.New(`^[EWI]\d{4} \d\d:|^command terminated with exit code`)

// lastLines is the end of what a command said, in one line.
func lastLines(text string) string {
	lines := strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.TrimSpace(l) == "" || strings.Contains(l, "run --help'") || kubectlNoise().MatchString(l)
	})
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// askPodman asks podman what it is. A podman of this machine is not asked what it can limit: that takes it
// half a second (4.3.1, November 2026), and can be read from the cgroup file system at once.
func (e *engine) askPodman(ctx context.Context) error {
	text, err := e.ask(ctx, "version", "--format", "json")
	if err != nil {
		return e.diagnose("asking the engine what it is", err)
	}
	var v struct{ Client, Server *struct{ Version string } }
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Client == nil {
		return e.unavailable(
			codeEngine,
			"asking the engine what it is",
			fmt.Errorf("`podman version` said %q", clip(text)),
		)
	}
	e.version, e.seccomp = v.Client.Version, true
	if v.Server == nil {
		if e.here() {
			return nil
		}
	} else {
		e.version = v.Server.Version
	}
	return e.askPodmanInfo(ctx)
}

func (e *engine) askPodmanInfo(ctx context.Context) error {
	text, err := e.ask(ctx, "info", "--format", "json")
	if err != nil {
		return e.diagnose("asking the engine what it can do", err)
	}
	var info struct {
		Host struct {
			CgroupVersion     string
			CgroupControllers []string
			ServiceIsRemote   bool
			Security          struct {
				Rootless       bool
				SeccompEnabled bool
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return e.unavailable(
			codeEngine,
			"asking the engine what it can do",
			fmt.Errorf("`podman info` said %q", clip(text)),
		)
	}
	h := info.Host
	e.local, e.rootless, e.seccomp = !h.ServiceIsRemote && hostIsLinux, h.Security.Rootless, h.Security.SeccompEnabled
	if !e.local && !hostIsLinux {
		e.vm = PodmanMachine
	}
	e.limitBy(h.CgroupVersion != "v1" || !h.Security.Rootless, h.CgroupControllers)
	return nil
}

// limitBy sets what limits are enforced by. Without cgroups the container's own init looks at its memory.
func (e *engine) limitBy(cgroups bool, controllers []string) {
	e.memory, e.pids, e.cpus = byWatchdog, byRlimit, byNothing
	has := func(c string) bool { return cgroups && slices.Contains(controllers, c) }
	if has("memory") {
		e.memory = byCgroup
	}
	if has("pids") {
		e.pids = byCgroup
	}
	if has("cpu") {
		e.cpus = byCgroup
	}
}

// askDocker asks docker's daemon what it is.
func (e *engine) askDocker(ctx context.Context, lookup func(string) (string, bool)) error {
	e.preferRootless(ctx, lookup)
	text, err := e.ask(ctx, "info", "--format", "{{json .}}")
	if err != nil {
		return e.diagnose("asking the engine what it can do", err)
	}
	var info struct {
		ServerVersion   string
		CgroupVersion   string
		CgroupDriver    string
		MemoryLimit     bool
		PidsLimit       bool
		CpuCfsQuota     bool
		SecurityOptions []string
		OperatingSystem string
		ID, Name        string
		ServerErrors    []string
		ClientInfo      struct{ Version string } // since 23.0
		Host            *json.RawMessage         `json:"host"` // podman's
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil || info.Host != nil {
		if info.Host != nil || strings.Contains(text, "buildahVersion") {
			return e.isPodman()
		}
		return e.unavailable(
			codeEngine,
			"asking the engine what it can do",
			fmt.Errorf("`docker info` said %q", clip(text)),
		)
	}
	if info.ServerVersion == "" {
		return e.diagnose("asking the engine what it can do",
			&commandError{command: "docker info", stderr: strings.Join(info.ServerErrors, "\n")})
	}
	option := func(name string) bool {
		return slices.ContainsFunc(info.SecurityOptions, func(o string) bool {
			return o == "name="+name || strings.HasPrefix(o, "name="+name+",")
		})
	}
	var major int
	if _, err := fmt.Sscanf(info.ClientInfo.Version, "%d.", &major); err == nil && major >= 25 {
		e.alone = "bind-recursive=disabled" // 29.0 refuses what was right until 25.0
	}
	host, _ := os.Hostname()
	e.id, e.version, e.rootless, e.seccomp = info.ID, info.ServerVersion, option("rootless"), option("seccomp")
	if strings.Contains(info.OperatingSystem, "Docker Desktop") || strings.Contains(info.OperatingSystem, "OrbStack") ||
		!hostIsLinux {
		e.vm = cmp.Or(info.OperatingSystem, "a virtual machine")
	}
	e.local = e.vm == "" && info.Name == host
	var controllers []string
	for name, ok := range map[string]bool{"memory": info.MemoryLimit, "pids": info.PidsLimit, "cpu": info.CpuCfsQuota} {
		if ok {
			controllers = append(controllers, name)
		}
	}
	e.limitBy(info.CgroupDriver != "none", controllers)
	return nil
}

// preferRootless uses docker's rootless daemon where there is one and the user has chosen none
// (https://docs.docker.com/engine/security/rootless/, read November 2026: its setup makes the context "rootless").
func (e *engine) preferRootless(ctx context.Context, lookup func(string) (string, bool)) {
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT"} {
		if v, ok := lookup(name); ok && v != "" {
			return
		}
	}
	text, err := e.ask(ctx, "context", "ls", "--format", "{{.Name}}\t{{.Current}}")
	if err != nil {
		return // what is wrong shows in the next question
	}
	lines := strings.Split(text, "\n")
	if slices.Contains(lines, "default\ttrue") && slices.Contains(lines, "rootless\tfalse") {
		rootless := *e
		rootless.global = []string{"--context", "rootless"}
		if _, err := rootless.ask(ctx, "version", "--format", "{{.Server.Version}}"); err == nil {
			e.global = rootless.global
		}
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }
