package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/commands"
	"codemode/internal/fakemcp"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "the seed of a run that is to be repeated; 0 is another each time")
	forFlag     = flag.Duration("for", 0, "how long faults happen; 0 is as the kind of run has it")
	resultsFlag = flag.String("results", "", "write what was seen to `FILE`, from which docs/reliability.md is made")
)

// ownMountsVariable says that this process was started in mounts of its own.
const ownMountsVariable = "CODEMODE_TEST_OWN_MOUNTS"

// ownMounts tells whether file systems can be mounted that nobody else sees, and that end with this process. Another
// user's process may have been started by one that can.
func ownMounts() bool { return os.Geteuid() == 0 && os.Getenv(ownMountsVariable) != "" }

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "codemode":
		env := commands.ProcessEnv()
		env.Self = ""                // the file is the servers', too, so it does not know itself by that
		if os.Args[1] == "install" { // which has to know what to write
			env.Self = os.Args[0]
		}
		os.Exit(commands.Main(context.Background(), env))
	case "fakemcp":
		os.Exit(fakemcp.Main(os.Args[1:]))
	case "date":
		fmt.Println(time.Now().Unix())
		os.Exit(0)
	}
	flag.Parse()
	if os.Geteuid() == 0 && !ownMounts() {
		if code, ok := inOwnMounts(); ok {
			os.Exit(code)
		}
	}
	os.Exit(run(m))
}

// inOwnMounts runs this program again, in a mount namespace of its own. Where there can be none, ok is false.
func inOwnMounts() (code int, ok bool) {
	runtime.LockOSThread() // whose end would be the signal for the other's
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), ownMountsVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), true
}

// programs are this one, by other names; sharedCache holds the Python of all machines.
var (
	programs    = map[string]string{}
	sharedCache string
)

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	for _, name := range []string{"codemode", "fakemcp", "date"} {
		programs[name] = filepath.Join(dir, name)
		err = errors.Join(err, os.Symlink(self, programs[name]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sharedCache = sandboxtest.CacheHome()
	code := m.Run()
	if *resultsFlag != "" && code == 0 {
		text, _ := json.MarshalIndent(results, "", "\t")
		if err := os.WriteFile(*resultsFlag, append(text, '\n'), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// children are the processes that this one has started and waits for. Whoever starts one holds the lock.
var children = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// startChild starts a process that is none of the orphans. Whoever does that calls waitChild.
func startChild(cmd *exec.Cmd, start func() error) error {
	children.Lock()
	defer children.Unlock()
	err := start()
	if err == nil {
		children.pids[cmd.Process.Pid] = true
	}
	return err
}

// waitChild waits for its end; then is done before its number may be another's.
func waitChild(cmd *exec.Cmd, then func()) error {
	err := cmd.Wait()
	then()
	children.Lock()
	defer children.Unlock()
	delete(children.pids, cmd.Process.Pid)
	return err
}

// orphans are the processes that codemodes have left to us: each was below one that has ended. Those that have ended,
// too, are taken off.
func orphans() (left []string) {
	children.Lock()
	defer children.Unlock()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(word)
			if children.pids[pid] {
				continue
			}
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == pid || err != nil {
				continue
			}
			command, _ := os.ReadFile("/proc/" + word + "/cmdline")
			left = append(left, word+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		}
	}
	return left
}
