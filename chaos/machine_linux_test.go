package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/audit"
	"codemode/internal/proc/proctest"
	"codemode/internal/toolbox"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// patience bounds every wait that no deadline of codemode's does: for ever, as tests go, but on a busy machine.
const patience = 60 * time.Second

// A machine is where codemodes run, one after the other: a home, folders for state, cache and temporary files, and what
// its codemodes have promised to keep there. Whoever made it closes it.
type machine struct {
	t      *testing.T
	rng    *rand.Rand
	engine *engine // of its containers; nil without any
	dir    string
	mark   string        // of every process but guests and the engine's
	busy   int           // sessions of each codemode that go on during faults
	pause  time.Duration // between two of their runs: they are not there to wear the machine out
	pace   int           // how many times longer everything takes than on the native runtime, about
	disks  bool          // state, cache and tmp have a small file system each
	now    *codemode
	count  int   // codemodes so far
	pids   []int // theirs
	ahead  int64 // seconds, of its time of day

	mu    sync.Mutex
	tools map[string]version // saved, by name
	runs  map[string]receipt // whose results came, by id
}

// receipt is what the result of a run has said.
type receipt struct {
	nth   int // result that came
	calls int // -1 where not all of them need a line
}

// version is what a saved tool returns.
type version struct{ kept, tried int }

// config makes faults frequent: the audit log rotates, deadlines are short, memory is little. It lacks the runtime.
const config = `[run]
timeout = "30s"
max_timeout = "60s"
grace = "1s"
[mcp]
start_timeout = "10s"
[sandbox]
runtime = %q
memory = "128m"
[audit]
max_size = "64k"
keep = 10000
[log]
level = "debug"
`

// limit is of calls, for codemodes that are given that file.
const (
	limitedFile = "home/limited.toml"
	limit       = "[policy]\ncalls_per_minute = 5\n"
)

// cursor is what a client's file of every machine says.
const (
	cursorFile = "home/.cursor/mcp.json"
	cursor     = "{ \"mcpServers\": {} }\n"
)

// upstreams are the servers of every machine, with what they do wrong.
var upstreams = map[string][]string{
	"steady":           {},
	"wrong":            {"-wrong"},
	"dies_initialize":  {"-die", "initialize"},
	"dies_list":        {"-die", "tools/list"},
	"dies_listed":      {"-die", "listed"},
	"dies_answered":    {"-die", "answered"},
	"hangs_initialize": {"-hang", "initialize"},
	"hangs_list":       {"-hang", "tools/list"},
	"hangs_call":       {"-hang", "call"},
	"stubborn":         {"-ignore-eof", "-ignore-term", "-spawn-child"},
	"noisy":            {"-flood-stderr"},
	"hasty":            {},
}

func newMachine(t *testing.T, rng *rand.Rand, busy int, e *engine) *machine {
	t.Helper()
	m := &machine{
		t: t, rng: rng, engine: e, busy: busy, pause: 100 * time.Millisecond, pace: 1, dir: t.TempDir(),
		mark: proctest.Mark(t), tools: map[string]version{}, runs: map[string]receipt{},
	}
	runtime := "native"
	if e != nil {
		runtime, m.pause, m.pace = e.command, time.Second, 4
	}
	servers := map[string]any{}
	for name, args := range upstreams {
		servers[name] = map[string]any{
			"command": programs["fakemcp"], "args": args,
			"env": map[string]string{proctest.Variable: m.mark, "GORACE": "atexit_sleep_ms=0"},
		}
	}
	servers["hasty"].(map[string]any)["timeout"] = 2000 // of a call
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	conf := fmt.Sprintf(config, runtime)
	for name, content := range map[string]string{
		"home/MCPs/servers.json": string(text), "home/.config/codemode/config.toml": conf, cursorFile: cursor,
		limitedFile: conf + limit,
	} {
		err = errors.Join(
			err, os.MkdirAll(filepath.Dir(m.path(name)), 0o700), os.WriteFile(m.path(name), []byte(content), 0o600),
		)
	}
	for _, name := range []string{"state", "cache/codemode/python", "tmp"} {
		err = errors.Join(err, os.MkdirAll(m.path(name), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	m.mountDisks()
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// mountDisks gives state, cache and tmp a file system each, small enough to be filled. Only root may, and only in
// mounts of this process's own.
func (m *machine) mountDisks() {
	if m.disks = m.engine == nil && ownMounts(); m.disks {
		for name, size := range map[string]string{"state": "24m", "cache": "24m", "tmp": "4m"} {
			m.mount("tmpfs", m.path(name), "tmpfs", 0, "mode=755,size="+size)
		}
		if err := os.MkdirAll(m.path("cache/codemode/python"), 0o755); err != nil {
			m.t.Fatal(err)
		}
	}
	if m.engine == nil {
		m.pythonFrom(m.path("cache"))
	}
}

func (m *machine) mount(source, target, kind string, flags uintptr, data string) {
	m.t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		m.t.Fatalf("mounting %s: %v", target, err)
	}
	m.t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			m.t.Error(err)
		}
	})
}

// pythonFrom gives a cache the Python that all machines share.
func (m *machine) pythonFrom(cache string) {
	shared := filepath.Join(sharedCache, "codemode", "python")
	if m.disks {
		m.mount(shared, filepath.Join(cache, "codemode", "python"), "", unix.MS_BIND, "")
		return
	}
	if out, err := exec.Command("cp", "-a", shared+"/.", filepath.Join(cache, "codemode", "python")).
		CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

// environment is all that a codemode of this machine inherits.
func (m *machine) environment(cache string) []string {
	env := []string{
		"HOME=" + m.path("home"),
		"XDG_STATE_HOME=" + m.path("state"),
		"XDG_CACHE_HOME=" + cache,
		"TMPDIR=" + m.path("tmp"),
		"PATH=" + os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0",
		proctest.Variable + "=" + m.mark,
	}
	if m.engine != nil {
		env = append(env, m.engine.env...)
		env = append(env, fmt.Sprintf("CODEMODE_SANDBOX_POOL=%d", m.rng.IntN(2)))
	}
	return env
}

// alive is the codemode under way, or another where there is none.
func (m *machine) alive() (*codemode, error) {
	if m.now != nil && !m.now.over() {
		return m.now, nil
	}
	if err := m.settle(); err != nil {
		return nil, err
	}
	c := m.start(m.path("cache"))
	if err := c.connect(); err != nil {
		return nil, err
	}
	for i := range m.busy {
		c.beBusy(fmt.Sprintf("busy%d", i))
	}
	return c, nil
}

// rest has the codemode under way end, if there is one, by its client's leaving.
func (m *machine) rest() error {
	if m.now != nil {
		m.now.leave()
	}
	return m.settle()
}

// settle waits for the end of a codemode that is to end, and looks at what it left.
func (m *machine) settle() error {
	c := m.now
	m.now = nil
	if c == nil {
		return nil
	}
	err := errors.Join(c.end(), m.left())
	if m.count%checkEvery == 0 {
		err = errors.Join(err, m.kept())
	}
	return err
}

// checkEvery is after how many codemodes everything that was promised to be kept is read again; each time costs more.
const checkEvery = 8

// works is what must hold after every fault: the next run_python works.
func (m *machine) works() error {
	c, err := m.alive()
	if err != nil {
		return fmt.Errorf("codemode again: %w", err)
	}
	code, want := "print(await mcp_steady.echo(message='alive'))", "alive"
	if name, least := m.anyTool(); name != "" {
		code += fmt.Sprintf("\nfrom tools import %s\nprint(%s() >= %d)", name, name, least)
		want += "\nTrue"
	}
	if got := c.run("victim", code, 30); got.err != nil || !strings.HasPrefix(got.text, want) {
		return fmt.Errorf("the next run_python: %w", got.wrong())
	}
	return nil
}

// anyTool is a saved tool and what it returns at least.
func (m *machine) anyTool() (name string, least int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, v := range m.tools {
		if v.kept > 0 {
			return name, v.kept
		}
	}
	return "", 0
}

// close ends the last codemode by the client's leaving, after one that works, and looks at everything.
func (m *machine) close() {
	err := errors.Join(m.works(), m.rest(), m.kept(), m.halfDone())
	if err != nil {
		m.t.Errorf("at the end: %v", err)
	}
}

// left waits until nothing of a codemode that has ended is there.
func (m *machine) left() error {
	var left []string
	within := eventually(func() bool {
		left = orphans()
		if m.engine != nil {
			left = slices.DeleteFunc(left, m.engine.daemon.forgot)
		}
		if n := proctest.Count(m.mark); n > 0 {
			left = append(left, fmt.Sprintf("%d processes below codemode", n))
		}
		if m.engine != nil && len(left) == 0 {
			left = m.engine.containers(m.pids)
		}
		return len(left) == 0
	})
	if !within {
		return fmt.Errorf("left: %v", left)
	}
	for _, tree := range []string{"state", "cache/codemode/guest", "cache/codemode/tenants"} {
		_ = filepath.WalkDir(m.path(tree), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == ".lock" {
				lock := flock.New(path)
				if got, err := lock.TryLock(); err != nil || !got {
					left = append(left, fmt.Sprintf("lock %s: %v", path, err))
				}
				lock.Close()
			}
			return nil
		})
	}
	entries, _ := os.ReadDir(m.path("tmp"))
	for _, e := range entries {
		left = append(left, "temporary file "+e.Name())
	}
	if len(left) > 0 {
		return fmt.Errorf("left: %v", left)
	}
	return nil
}

// halfDone looks for what writers leave who are killed: the next writer is to take it away.
func (m *machine) halfDone() error {
	var found []string
	for _, tree := range []string{"state", "cache"} {
		_ = filepath.WalkDir(m.path(tree), func(path string, e fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err == nil && e.IsDir() && name == "python" {
				return filepath.SkipDir // is not this machine's alone
			}
			if err == nil &&
				slices.ContainsFunc(
					[]string{".tmp-", ".new-", ".temp-", "output-", "audit.key."},
					func(p string) bool { return strings.HasPrefix(name, p) },
				) {
				found = append(found, path)
			}
			return nil
		})
	}
	for _, pid := range m.pids { // of codemodes that were killed while docker started a container
		channels, _ := filepath.Glob(fmt.Sprintf("/dev/shm/codemode-channel-*.%d.*", pid))
		found = append(found, channels...)
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/codemode-*-*")
	for _, g := range groups {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(g), "codemode-"), "-")
		if _, err := os.Stat("/proc/" + pid); err != nil {
			found = append(found, g)
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("half done: %v", found)
	}
	return nil
}

// kept reads all that was acknowledged.
func (m *machine) kept() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := filepath.Join(m.path("state"), "codemode", "default")
	var lost []string
	box := toolbox.New(filepath.Join(state, "tools"), nil)
	if _, problems := box.List(); len(problems) > 0 {
		lost = append(lost, fmt.Sprint("saved tools: ", problems))
	}
	for name, v := range m.tools {
		tool, err := box.Load(name)
		_, value, _ := strings.Cut(tool.Source, "return ")
		if n, _ := strconv.Atoi(strings.TrimSpace(value)); v.kept > 0 && (err != nil || n < v.kept || n > v.tried) {
			lost = append(lost, fmt.Sprintf("saved tool %s: version %d of %d to %d, %v", name, n, v.kept, v.tried, err))
		}
	}
	type lines struct {
		began, called, ended int
		late                 bool // behind what came later
	}
	found, last := map[string]*lines{}, map[string]int{} // by run, and of a session, which does one run after the other
	_, err := audit.Read(filepath.Join(state, "audit"), func(r audit.Record, _ []byte) {
		l := found[r.Run]
		if l == nil {
			l = &lines{late: r.Event != audit.RunBegins}
			found[r.Run] = l
		}
		switch r.Event {
		case audit.RunBegins:
			l.began++
			nth := m.runs[r.Run].nth
			l.late = l.late || nth > 0 && nth < last[r.Session]
			last[r.Session] = max(last[r.Session], nth)
		case audit.Called:
			l.called++
			l.late = l.late || l.ended > 0 && m.runs[r.Run].calls >= 0
		case audit.RunEnded:
			l.ended++
		}
	})
	for run, said := range m.runs {
		if l := found[run]; l == nil || l.began != 1 || l.ended != 1 || l.late ||
			said.calls >= 0 && l.called != said.calls {
			lost = append(lost, fmt.Sprintf("audit lines of run %s: %+v of %d calls", run, l, said.calls))
		}
	}
	if err != nil || len(lost) > 0 {
		return fmt.Errorf("lost: %v %v", lost, err)
	}
	return nil
}

// tally is what was acknowledged: runs, versions of tools, lines.
func (m *machine) tally() (runs, saved, lines int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, said := range m.runs {
		lines += 2 + max(0, said.calls)
	}
	for _, v := range m.tools {
		saved += v.kept
	}
	return len(m.runs), saved, lines
}

// eventually asks until the answer is yes: process tables tell nobody when they change.
func eventually(is func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}
