package chaos

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"
)

// An engine is where a machine's codemodes have their containers. It knows nothing of codemode but labels.
type engine struct {
	command string
	feature string
	image   string
	env     []string // of it, and of the codemodes that use it
	daemon  *daemon  // docker's, and nobody else's; nil of podman, which has none
}

// newEngine is an engine that is there, with an image.
func newEngine(t *testing.T, command, feature string) *engine {
	t.Helper()
	e := &engine{
		command: command, feature: feature,
		image: cmp.Or(os.Getenv("CODEMODE_TEST_IMAGE"), "localhost/codemode-test:latest"),
	}
	if out, err := e.ask("image", "inspect", "--format", "{{.Id}}", e.image); err != nil {
		require.Lacking(t, feature, "%v: %s", err, out)
	}
	e.env = []string{"CODEMODE_SANDBOX_IMAGE=" + e.image}
	if os.Geteuid() != 0 { // where podman has it all, whatever codemode's home is
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		conf := filepath.Join(home, ".config", "containers")
		e.env = append(
			e.env,
			"XDG_DATA_HOME="+filepath.Join(home, ".local", "share"),
			"XDG_RUNTIME_DIR="+os.Getenv("XDG_RUNTIME_DIR"),
			"CONTAINERS_CONF="+filepath.Join(conf, "containers.conf"),
			"CONTAINERS_STORAGE_CONF="+filepath.Join(conf, "storage.conf"),
		)
	}
	return e
}

// begin readies the engine for a machine. What that takes ends with the test.
func (e *engine) begin(t *testing.T) {
	t.Helper()
	if e.command == "docker" {
		e.ownDaemon(t)
	}
}

// ask runs one of the engine's commands.
func (e *engine) ask(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.command, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), e.env...), &out, &out, time.Second
	if err := startChild(cmd, cmd.Start); err != nil {
		return "", err
	}
	if err := waitChild(cmd, func() {}); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", e.command, args[0], err, out.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// has tells whether there is a container of that name.
func (e *engine) has(name string) bool {
	_, err := e.ask("container", "inspect", "--format", "{{.Id}}", name)
	return err == nil
}

// containers are those of codemodes, by their numbers. What docker lists, without a name, and does not know by its ID
// is no container: one that dies while it is removed can come back to the list alone, until the daemon is started
// again.
func (e *engine) containers(pids []int) (found []string) {
	label := `{{.Label "codemode.pid"}}`
	if e.command == "podman" {
		label = `{{index .Labels "codemode.pid"}}`
	}
	text, err := e.ask(
		"ps", "--all", "--filter", "label=codemode.owner", "--format", label+" {{.ID}} {{.Names}} {{.Status}}",
	)
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(text) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		id, _, _ := strings.Cut(rest, " ")
		if pid, err := strconv.Atoi(number); err == nil && slices.Contains(pids, pid) && e.has(id) {
			found = append(found, "container "+rest)
		}
	}
	return found
}

// A blow is one way in which an engine dies or stands still.
type blow struct {
	name   string
	all    bool // every session notices
	hangs  bool // nothing dies of it: a run goes on until its time is over
	strike func(e *engine, at target) error
	heal   func(e *engine, at target) error // nil where there is nothing to be undone
}

// blows are those that the engine can be dealt.
func (e *engine) blows() []blow {
	all := []blow{
		{name: "its command is killed", strike: func(_ *engine, at target) error { return at.client(syscall.SIGKILL) }},
		{
			name:   "its command is stopped",
			hangs:  true,
			strike: func(_ *engine, at target) error { return at.client(syscall.SIGSTOP) },
			heal: func(_ *engine, at target) error {
				_ = at.client(syscall.SIGCONT) // codemode may have ended it
				return nil
			},
		},
		{name: "its container is killed", strike: told("kill")},
		{name: "its container is removed", strike: told("rm", "--force")},
		{name: "the process beside its container is killed", strike: (*engine).killMonitor},
	}
	if e.canPause() {
		all = append(
			all,
			blow{
				name:   "its container is paused",
				hangs:  true,
				strike: told("pause"),
				heal: func(e *engine, at target) error {
					_, _ = e.ask("unpause", at.name) // codemode may have had it removed
					return nil
				},
			},
		)
	}
	if e.command == "docker" {
		back := func(e *engine, _ target) error { return e.daemon.start(e) }
		all = append(
			all,
			blow{
				name: "the daemon is killed", all: true,
				strike: func(e *engine, _ target) error { return e.daemon.end(syscall.SIGKILL) }, heal: back,
			},
			blow{
				name: "the daemon is told to end", all: true,
				strike: func(e *engine, _ target) error { return e.daemon.end(syscall.SIGTERM) }, heal: back,
			},
			blow{
				name:   "the daemon is stopped",
				all:    true,
				hangs:  true,
				strike: func(e *engine, _ target) error { return e.daemon.signal(syscall.SIGSTOP) },
				heal: func(e *engine, _ target) error {
					return e.daemon.signal(syscall.SIGCONT)
				},
			},
		)
	}
	return all
}

// canPause: an ordinary user's podman has no groups in the first version.
func (e *engine) canPause() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil || e.feature != "podman-rootless"
}

// told is what the engine does to a container when somebody tells it to.
func told(command ...string) func(e *engine, at target) error {
	return func(e *engine, at target) error {
		_, err := e.ask(append(command, at.name)...)
		return err
	}
}

// killMonitor kills what the engine has beside each container: conmon, or containerd's shim.
func (e *engine) killMonitor(at target) error {
	id, err := e.ask("container", "inspect", "--format", "{{.Id}}", at.name)
	if err != nil {
		return err
	}
	for _, p := range processes() {
		if p.monitors() == id {
			return syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	return errors.New("nothing is beside it")
}

// A target is one container, and the command that is attached to it.
type target struct {
	name    string
	command *os.Process
}

// client sends the command a signal.
func (t target) client(s syscall.Signal) error {
	if t.command == nil {
		return errors.New("there is no such command")
	}
	return t.command.Signal(s)
}

// container is that of a session.
func (c *codemode) container(session string) (target, error) {
	got := c.run(session, "import os; print(os.readlink('/proc/self/ns/pid'))", 30)
	space, _, _ := strings.Cut(got.text, "\n")
	if got.err != nil || !strings.HasPrefix(space, "pid:") {
		return target{}, fmt.Errorf("looking for its container: %w", got.wrong())
	}
	all := processes()
	for _, p := range all {
		if p.space() != space {
			continue
		}
		for _, parent := range all {
			if id := parent.monitors(); parent.pid == p.parent && id != "" {
				name, err := c.m.engine.ask("container", "inspect", "--format", "{{.Name}}", id)
				name = strings.TrimPrefix(name, "/")
				command, _ := c.command(all, "--name", name)
				return target{name, command}, err
			}
		}
	}
	return target{}, fmt.Errorf("no process is in %s", space)
}

// starting is a container that is being started for a session, or for the pool where the session has one of it; but
// none of before.
func (c *codemode) starting(session string, before []process) (at target, pooled bool) {
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		all := slices.DeleteFunc(processes(), func(p process) bool {
			return slices.ContainsFunc(before, func(b process) bool { return b.pid == p.pid })
		})
		for _, label := range []string{session, "pool"} {
			if command, args := c.command(all, "--label", "codemode.session="+label); command != nil {
				return target{args[slices.Index(args, "--name")+1], command}, label == "pool"
			}
		}
	}
	return target{name: "none"}, false
}

// command is one of the engine's below codemode with two arguments one after the other.
func (c *codemode) command(all []process, option, value string) (*os.Process, []string) {
	for _, p := range all {
		if i := slices.Index(p.args, value); p.parent == c.cmd.Process.Pid && i > 0 && p.args[i-1] == option {
			command, _ := os.FindProcess(p.pid)
			return command, p.args
		}
	}
	return nil, nil
}

// A process is one of this system, as it was seen.
type process struct {
	pid, parent int
	args        []string
}

func processes() (all []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, _ := os.ReadFile(dir + "/stat")
		line, _ := os.ReadFile(dir + "/cmdline")
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 1 && len(line) > 0 {
			parent, _ := strconv.Atoi(f[1])
			all = append(all, process{pid, parent, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")})
		}
	}
	return all
}

// space is its namespace of processes.
func (p process) space() string {
	space, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid))
	return space
}

// monitors is the container that it is beside; "" of any other process.
func (p process) monitors() string {
	option := map[string]string{"conmon": "-c", "containerd-shim-runc-v2": "-id"}[filepath.Base(p.args[0])]
	if i := slices.Index(p.args, option); option != "" && i > 0 && i+1 < len(p.args) {
		return p.args[i+1]
	}
	return ""
}
