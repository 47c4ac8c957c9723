package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/sandboxtest"
)

// beSoaker makes the test binary a codemode that uses the engine it names until it is killed.
const beSoaker = "CODEMODE_TEST_SOAK"

// soakAtOnce is how many sessions of a codemode run side by side.
func soakAtOnce(engine string) int {
	if engine == container.Kubernetes {
		return 8 // most of a pod's start is waiting
	}
	return 2
}

// TestContainersSoak is twenty sessions of codemodes that share an engine, a hundred in pods, with timeouts,
// cancellations and crashes, and codemodes that are killed in their midst. After the next start no container is left.
func TestContainersSoak(t *testing.T) {
	onEachEngine(t, func(t *testing.T, k *kit) {
		codemodes, each, own := 2, 5, 10 // of which all but the last are killed
		if k.opts.Runtime.Name() == container.Kubernetes {
			each, own = 20, 60
		}
		pids := []int{os.Getpid()}
		for range codemodes {
			pid, err := soakAndKill(k.opts.Runtime.Name(), each)
			if err != nil {
				t.Error(err)
			}
			pids = append(pids, pid)
		}
		soak(k.Bridge, own, func(session int, err error) {
			if err != nil {
				t.Errorf("session %d: %v", session, err)
			}
		})
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		next := New(Options{Config: testConfig(), Runtime: soakRuntime(k.opts.Runtime.Name(), t.TempDir(), 0)})
		k.eventually("the next start", func() bool {
			return next.Run(t.Context(), Request{Code: "1", Timeout: patience}).Status == StatusSuccess
		})
		if err := next.Close(); err != nil {
			t.Error(err)
		}
		var left []string
		k.eventually("no container is left", func() bool {
			left = nil
			for _, pid := range pids {
				left = append(left, sandboxtest.ContainersOf(t, k.opts.Runtime.Name(), pid)...)
			}
			return len(left) == 0
		})
	})
}

func soakRuntime(engine, cache string, pool int) sandbox.Runtime {
	rt := sandbox.Runtime(container.New(containerOptions(engine, cache)))
	if pool > 0 {
		rt = sandbox.NewPool(rt, pool, 0, nil)
	}
	return rt
}

// soakUntilKilled is the other side of soakAndKill.
func soakUntilKilled(engine string) {
	sessions, _ := strconv.Atoi(os.Args[1])
	b := New(Options{Config: testConfig(), Runtime: soakRuntime(engine, os.Args[2], 1)})
	soak(b, sessions, func(session int, err error) { fmt.Printf("%d %q\n", session, fmt.Sprint(err)) })
	select {}
}

// soakAndKill has another process use sessions and kills it when half of them have ended and others are under way.
func soakAndKill(engine string, sessions int) (pid int, err error) {
	cache, err := os.MkdirTemp("", "cache-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(cache)
	cmd := exec.Command("/proc/self/exe", strconv.Itoa(sessions), cache)
	cmd.Env = append(os.Environ(), beSoaker+"="+engine)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	for range sessions / 2 {
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), `"<nil>"`) {
			err = errors.Join(err, fmt.Errorf("a session of process %d: %q", cmd.Process.Pid, lines.Text()))
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return cmd.Process.Pid, err
}

// soak uses sessions, several at a time, each of which ends in another way, and tells what was wrong.
func soak(b *Bridge, sessions int, tell func(session int, err error)) {
	var all sync.WaitGroup
	var telling sync.Mutex
	turns := make(chan struct{}, soakAtOnce(b.opts.Runtime.Name()))
	for i := range sessions {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			err := endings[i%len(endings)](b, strconv.Itoa(i))
			if unavailable := (*sandbox.UnavailableError)(nil); errors.As(err, &unavailable) &&
				unavailable.Code == "no-answer" {
				err = nil // so busy is the machine; what was begun must not be left either
			}
			telling.Lock()
			defer telling.Unlock()
			tell(i, err)
		})
	}
	all.Wait()
}

// endings are how a session comes to its end, or nearly: one that goes on ends with its codemode, or for want of room.
var endings = []func(b *Bridge, session string) error{sleeps, isCancelled, isStubborn, crashes}

func sleeps(b *Bridge, session string) error {
	return timesOut(b, session, "import time\ntime.sleep(999)")
}

// isStubborn needs force.
func isStubborn(b *Bridge, session string) error {
	return timesOut(b, session, `import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
while True:
    try: time.sleep(999)
    except BaseException: pass`)
}

// timesOut has the session go on, with its variables unless they are said to be lost: on a busy machine that may be so
// of any code.
func timesOut(b *Bridge, session, code string) error {
	if o := b.Run(
		context.Background(), Request{Session: session, Code: "x = 1", Timeout: patience},
	); o.Status != StatusSuccess {
		return errors.Join(fmt.Errorf("before the timeout: %+v", o), o.Err)
	}
	out := b.Run(context.Background(), Request{Session: session, Code: code, Timeout: 300 * time.Millisecond})
	after := b.Run(context.Background(), Request{Session: session, Code: "'x' in globals()", Timeout: patience})
	if out.Status != StatusTimeout || after.Repr != map[bool]string{true: "False", false: "True"}[out.Lost] {
		return errors.Join(fmt.Errorf("the timeout: %+v; after it: %+v", out, after), out.Err, after.Err)
	}
	return nil
}

// isCancelled may be so before it has begun.
func isCancelled(b *Bridge, session string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(600))*time.Millisecond)
	defer cancel()
	if o := b.Run(
		ctx, Request{Session: session, Code: "import time\ntime.sleep(999)", Timeout: patience},
	); o.Status != StatusCancelled {
		return errors.Join(fmt.Errorf("cancelled: %+v", o), o.Err)
	}
	return nil
}

func crashes(b *Bridge, session string) error {
	if o := b.Run(
		context.Background(), Request{Session: session, Code: "import os\nos.kill(os.getpid(), 9)", Timeout: patience},
	); o.ExitCode != 137 {
		return errors.Join(fmt.Errorf("killed by itself: %+v", o), o.Err)
	}
	return nil
}
