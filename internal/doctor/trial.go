package doctor

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/sandbox"
)

//go:embed trial/trial.py
var trialScript embed.FS

var trialFiles = sync.OnceValue(func() fs.FS {
	files, err := fs.Sub(trialScript, "trial")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
})

const (
	// trialMemory and trialProcesses are small, so that an attempt ends soon and does no harm where it succeeds. What
	// enforces them is what enforces any other limit.
	trialMemory    = 192 << 20
	trialProcesses = 128

	// trialTime bounds a trial on a busy machine; it takes a few tenths of a second.
	trialTime = 30 * time.Second
)

var errTrialTime = fmt.Errorf("the guest was not done within %v", trialTime)

// attempts are what a guest tries, with what it is that must hold, in the order they are told.
var attempts = []struct{ name, about string }{
	{"memory", "memory"},
	{"processes", "processes"},
	{"network", "the network"},
	{"files", "files of this machine"},
	{"root", "its own root"},
}

// An attempt is one that a guest has made.
type attempt struct {
	Attempt string
	Held    bool
	Detail  string
}

// A trial is what a guest that tried everything came to.
type trial struct {
	python   string // its version
	enforced sandbox.Enforcement
	attempts []attempt
	cutShort string // why some were not made; empty if all were
}

// escaped are the attempts that succeeded.
func (t trial) escaped() (list []attempt) {
	for _, a := range t.attempts {
		if !a.Held {
			list = append(list, a)
		}
	}
	return list
}

// try starts a guest that tries to get out. What limits the user has done without are not tried.
func try(ctx context.Context, rt sandbox.Runtime, policy sandbox.Policy) (trial, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errTrialTime)
	defer cancel()
	host, err := newBait()
	if err != nil {
		return trial{}, err
	}
	defer host.close()
	report, err := rt.Probe(ctx)
	if err != nil {
		return trial{}, err
	}
	policy.Memory, policy.Processes = trialMemory, trialProcesses
	policy.AllowGaps = append(slices.Clone(policy.AllowGaps), "memory", "pids", "cpus") // told by who asks
	enforced, _ := sandbox.Effective(policy, report)
	sb, err := rt.Start(ctx, sandbox.Spec{
		Session: "doctor", Files: trialFiles(), Boot: "trial.py", Policy: policy,
		Env: []string{"CODEMODE_DOCTOR=" + host.facts(policy, enforced)},
	})
	if err != nil {
		return trial{}, err
	}
	defer sb.Close()
	defer context.AfterFunc(ctx, sb.Kill)()
	t := trial{enforced: sb.Enforced(), attempts: readAttempts(sb)}
	<-sb.Done()
	if ctx.Err() != nil {
		return trial{}, context.Cause(ctx)
	}
	e := sb.Exit()
	t.judge(e, host.reached.Load())
	if t.python == "" {
		return t, fmt.Errorf(
			"the guest said nothing and ended with exit code %d, signal %d: %s", e.Code, e.Signal, lastLine(e.Stderr),
		)
	}
	t.cut(e, tried(enforced))
	return t, nil
}

// readAttempts reads what the guest says until it has ended. Of two lines about one attempt the later counts.
func readAttempts(sb sandbox.Sandbox) (list []attempt) {
	at := map[string]int{}
	lines := bufio.NewReader(sb.Channel())
	for {
		line, err := lines.ReadSlice('\n')
		var a attempt
		if json.Unmarshal(line, &a) == nil && a.Attempt != "" {
			i, again := at[a.Attempt]
			if !again {
				i = len(list)
				at[a.Attempt], list = i, append(list, a)
			}
			list[i] = a
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return list
		}
	}
}

// judge adds what the host saw to what the guest says of itself.
func (t *trial) judge(exit sandbox.Exit, reached int64) {
	var kept []attempt
	for _, a := range t.attempts {
		switch {
		case a.Attempt == "python":
			t.python = a.Detail
			continue
		case a.Attempt == "network" && reached > 0:
			a.Held, a.Detail = false, "it has reached a server of this machine"
		case a.Attempt == "memory" && a.Detail == "begun":
			a.Held, a.Detail = exit.Cause == sandbox.ExitMemory, "killed at the limit"
			if !a.Held {
				a.Detail = fmt.Sprintf(
					"it ended with exit code %d, signal %d, and not for its memory", exit.Code, exit.Signal,
				)
			}
		}
		kept = append(kept, a)
	}
	t.attempts = kept
}

// cut notes that a guest which ended so has not made all of its attempts.
func (t *trial) cut(exit sandbox.Exit, all int) {
	missing := all - len(t.attempts)
	if missing <= 0 {
		return
	}
	t.cutShort = fmt.Sprintf("the guest ended with exit code %d, signal %d", exit.Code, exit.Signal)
	if exit.Cause == sandbox.ExitMemory {
		t.cutShort += ", at the limit of memory"
	}
	t.cutShort += fmt.Sprintf(", before %d of its %d attempts", missing, all)
}

func lastLine(b []byte) string {
	b = bytes.TrimRight(b, "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}

// A bait is what a guest tries to reach on this machine: a file that everybody can read, and servers.
type bait struct {
	dir, file string
	addresses [][2]any // host and port
	listeners []net.Listener
	reached   atomic.Int64
	work      sync.WaitGroup
}

func newBait() (*bait, error) {
	dir, err := os.MkdirTemp("", "codemode-doctor-")
	if err != nil {
		return nil, fmt.Errorf("making a file for the guest to look for: %w", err)
	}
	b := &bait{dir: dir, file: filepath.Join(dir, "token")}
	// Readable by everybody: what keeps the guest out must be the sandbox.
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(b.file, []byte("codemode"), 0o644), os.Chmod(b.file, 0o644))
	if err != nil {
		b.close()
		return nil, fmt.Errorf("making a file for the guest to look for: %w", err)
	}
	b.listen("127.0.0.1")
	addresses, _ := net.InterfaceAddrs() // where there are none, nothing can be reached
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() && len(b.listeners) < 4 {
			b.listen(ip.IP.String())
		}
	}
	// Nobody has this address (RFC 5737), but where there is a network there is a way to it.
	b.addresses = append(b.addresses, [2]any{"192.0.2.1", 9})
	return b, nil
}

// listen opens a server that counts who comes. One that cannot be opened is one attempt less.
func (b *bait) listen(host string) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return
	}
	b.listeners = append(b.listeners, l)
	b.addresses = append(b.addresses, [2]any{host, l.Addr().(*net.TCPAddr).Port})
	b.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.reached.Add(1)
			c.Close()
		}
	})
}

// facts tells the guest what to try.
func (b *bait) facts(p sandbox.Policy, e sandbox.Enforcement) string {
	facts := map[string]any{"file": b.file, "root": "/", "addresses": b.addresses}
	if e.Pids != "none" {
		facts["processes"] = p.Processes
	}
	if e.Memory != "none" {
		facts["memory"] = p.Memory
	}
	text, err := json.Marshal(facts)
	if err != nil {
		panic(err) // of strings and numbers
	}
	return string(text)
}

// tried is how many attempts a guest makes by these facts.
func tried(e sandbox.Enforcement) int {
	n := len(attempts)
	for _, means := range []string{e.Pids, e.Memory} {
		if means == "none" {
			n--
		}
	}
	return n
}

func (b *bait) close() {
	for _, l := range b.listeners {
		l.Close()
	}
	b.work.Wait()
	_ = os.RemoveAll(b.dir) // what is left is a word that means nothing
}
