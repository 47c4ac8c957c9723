// Package sandboxtest is what every runtime has to pass: a contract that its sandboxes keep, and a
// collection of attempts to escape from them.
//
// It owns scripts for guests and the host side to judge them. It never looks at how a runtime works:
// all it knows is [sandbox.Runtime]. Each test closes what it starts and proves that nothing is left.
package sandboxtest

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

//go:embed guests
var guestScripts embed.FS

// patience bounds every wait; no test comes near it unless something hangs.
const patience = 30 * time.Second

// Run holds a runtime to the contract of [sandbox.Sandbox] under a policy. AllowGaps of it name what
// the machine cannot enforce; the cases about that are skipped.
func Run(t *testing.T, rt sandbox.Runtime, policy sandbox.Policy) {
	k := kit{rt: rt, policy: policy}
	for _, c := range []struct {
		name string
		test func(*testing.T, kit)
	}{
		{"Echo", echo},
		{"LargeMessages", largeMessages},
		{"ExitCode", exitCode},
		{"Signal", signalExit},
		{"Kill", kill},
		{"CloseTwice", closeTwice},
		{"CloseWithoutDone", closeAtOnce},
		{"CancelledStart", cancelledStart},
		{"Orphans", orphans},
		{"Network", network},
		{"ReadOnlyRoot", readOnlyRoot},
		{"Memory", memory},
		{"Processes", processes},
		{"Descriptors", descriptors},
		{"Environment", environment},
		{"Mounts", mounts},
		{"Packages", packages},
		{"MountGone", mountGone},
		{"MountCovered", mountCovered},
		{"Left", left},
		{"LeftByLink", leftByLink},
		{"LeftOutput", leftOutput},
		{"LeftOutputIsBounded", leftOutputIsBounded},
		{"ReadsOwnOutput", readsOwnOutput},
		{"Stdin", stdin},
		{"StdinUnread", stdinUnread},
		{"StdinEmpty", stdinEmpty},
		{"StdinEnds", stdinEnds},
		{"Subprocess", subprocess},
		{"ClosedDescriptors", closedDescriptors},
		{"ManyAtOnce", manyAtOnce},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, k) })
	}
}

// kit is what the cases are run with.
type kit struct {
	rt     sandbox.Runtime
	policy sandbox.Policy
}

// scripts returns the guests' files as the root of a file system: always the same value, which a runtime
// may know again.
var scripts = sync.OnceValue(func() fs.FS { return rooted(guestScripts, "guests") })

func rooted(files embed.FS, dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

// start starts a guest that is closed with the test.
func (k kit) start(t *testing.T, script string, change ...func(*sandbox.Spec)) sandbox.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the start took too long"))
	defer cancel()
	spec := sandbox.Spec{Session: t.Name(), Files: scripts(), Boot: script, Policy: k.policy}
	for _, c := range change {
		c(&spec)
	}
	sb, err := k.rt.Start(ctx, spec)
	if err != nil {
		t.Fatalf("starting %s: %v", script, err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return sb
}

// end waits for the guest and returns how it ended.
func end(t *testing.T, sb sandbox.Sandbox) sandbox.Exit {
	t.Helper()
	select {
	case <-sb.Done():
		return sb.Exit()
	case <-time.After(patience):
		t.Fatal("the guest does not end")
		return sandbox.Exit{}
	}
}

// answer reads the one line of JSON that a guest sends.
func answer(t *testing.T, sb sandbox.Sandbox, to any) {
	t.Helper()
	line, err := bufio.NewReader(sb.Channel()).ReadBytes('\n')
	if err != nil {
		<-sb.Done()
		t.Fatalf("reading the guest's answer: %v; it wrote %q and ended as %s", err, line, describe(sb.Exit()))
	}
	if err := json.Unmarshal(line, to); err != nil {
		t.Fatalf("the guest answered %q: %v", line, err)
	}
}

func describe(e sandbox.Exit) string {
	return fmt.Sprintf(
		"code %d, signal %d, cause %d, stdout %q, stderr %q", e.Code, e.Signal, e.Cause, e.Stdout, e.Stderr,
	)
}

func wantExit(t *testing.T, got sandbox.Exit, code, signal int, cause sandbox.ExitCause) {
	t.Helper()
	if got.Code != code || got.Signal != signal || got.Cause != cause {
		t.Errorf("the guest ended as %s; want code %d, signal %d, cause %d", describe(got), code, signal, cause)
	}
}

// command makes the guest do one thing; see guests/obey.py.
func command(words ...string) func(*sandbox.Spec) {
	return func(s *sandbox.Spec) { s.Env = append(s.Env, "CODEMODE_TEST_DO="+strings.Join(words, " ")) }
}

func input(f *os.File) func(*sandbox.Spec) {
	return func(s *sandbox.Spec) { s.Stdin = f }
}

// readAll reads a channel to its end.
func readAll(t *testing.T, sb sandbox.Sandbox) []byte {
	t.Helper()
	b, err := io.ReadAll(sb.Channel())
	if err != nil {
		t.Fatalf("reading the channel: %v", err)
	}
	return b
}
