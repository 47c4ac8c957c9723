package signin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"codemode/internal/fakemcp"
)

const askChildEnv = "CODEMODE_TEST_SIGN_INS"

// TestAskChild asks for a token in place of each that it reads, and tells which. It is no test but the processes of
// one.
func TestAskChild(t *testing.T) {
	dir, server, is := strings.Cut(os.Getenv(askChildEnv), "\n")
	if !is {
		t.Skip("only as a child of TestTwoProcesses")
	}
	store := &Store{Dir: dir}
	for refused := bufio.NewScanner(os.Stdin); refused.Scan(); {
		fmt.Println("asking")
		token, err := store.Token(t.Context(), server, refused.Text())
		fmt.Printf("token %q %v\n", token, err)
	}
}

// asker is a process that asks for tokens.
type asker struct {
	in    io.Writer
	lines *bufio.Scanner
	said  *bytes.Buffer
}

func startAsker(t *testing.T, dir, server string) *asker {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAskChild$")
	cmd.Env = append(os.Environ(), askChildEnv+"="+dir+"\n"+server)
	a := &asker{said: &bytes.Buffer{}}
	cmd.Stderr = a.said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, a.said)
		}
	})
	a.in, a.lines = in, bufio.NewScanner(out)
	return a
}

// reads is the next line that the process has written.
func (a *asker) reads(t *testing.T) string {
	t.Helper()
	if !a.lines.Scan() {
		t.Fatalf("the process has ended: %v", a.lines.Err())
	}
	return a.lines.Text()
}

// TestTwoProcesses has two processes ask at once in place of a token that was refused, again and again: one of them
// refreshes, for both. Its refresh tokens can be used once, and a second use would end the sign-in.
func TestTwoProcesses(t *testing.T) {
	var open atomic.Value // of chan struct{}: closed when both ask
	var refreshes atomic.Int64
	open.Store(make(chan struct{}))
	fake := fakemcp.Handler("-oauth")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && r.FormValue("grant_type") == "refresh_token" {
			refreshes.Add(1)
			select {
			case <-open.Load().(chan struct{}):
			case <-r.Context().Done():
			}
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	server := s.URL + "/mcp"
	store := &Store{Dir: t.TempDir()}
	g, err := (&Login{Store: store, Server: server, Show: browser(t)}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	askers := []*asker{startAsker(t, store.Dir, server), startAsker(t, store.Dir, server)}
	refused := g.AccessToken
	for round := range int64(10) {
		both := make(chan struct{})
		open.Store(both)
		for _, a := range askers {
			_, _ = fmt.Fprintln(a.in, refused)
		}
		for _, a := range askers {
			if line := a.reads(t); line != "asking" {
				t.Fatalf("the process has said %q", line)
			}
		}
		close(both)
		var got [2]string
		for i, a := range askers {
			line := a.reads(t)
			if _, err := fmt.Sscanf(line, "token %q <nil>", &got[i]); err != nil {
				t.Fatalf("the process has said %q", line)
			}
			if got[i] == refused || status(t, server, got[i]) == http.StatusUnauthorized {
				t.Errorf("round %d: the token %q is no good one", round, got[i])
			}
		}
		if got[0] != got[1] || refreshes.Load() != round+1 {
			t.Errorf("round %d: %q and %q, by %d refreshes", round, got[0], got[1], refreshes.Load())
		}
		refused = got[0]
	}
}
