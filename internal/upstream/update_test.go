package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"codemode/internal/config"
	"codemode/internal/proc/proctest"
)

// fakes are servers of a pool that newPool has made, for an update of it.
func (f *fixture) fakes(servers ...config.Server) []config.Server {
	for i := range servers {
		servers[i].Env = marked(f.mark)
	}
	return servers
}

func TestUpdateKeepsWhatStartsTheSame(t *testing.T) {
	f := newPool(t, nil, fake("same"), fake("changed"), fake("gone"))
	before := map[string]string{}
	for _, name := range []string{"same", "changed", "gone"} {
		before[name] = f.text(name, "pid", "")
	}
	gone := f.entry("gone")
	same := fake("same")
	same.Description, same.Source, same.ToolsDeny = "other words", "another file", []string{"crash"}
	same.Line = 7
	f.Update(f.fakes(same, fake("changed", "-tools", "1"), fake("added")))
	if got := f.text("same", "pid", ""); got != before["same"] {
		t.Errorf("the unchanged server is process %s, was %s", got, before["same"])
	}
	if got := f.text("changed", "pid", ""); got == before["changed"] {
		t.Error("the changed server is the process it was")
	}
	if !slices.Contains(f.names("changed"), "tool_1") {
		t.Errorf("the changed server has the tools %q", f.names("changed"))
	}
	f.text("added", "pid", "")
	if _, err := f.Tools(f.ctx(), "gone"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("the removed server's error is %v", err)
	}
	f.eventually("the removed server stops", func() (stopped bool) {
		gone.update(func(st *serverState) { stopped = st.live == nil })
		return stopped
	})
}

// A call under way brings its result though its server is replaced or removed meanwhile; new calls do not wait for it.
func TestUpdateLetsCallsEnd(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("changed"), fake("gone"))
	results := make(chan string, 2)
	for _, name := range []string{"changed", "gone"} {
		go func() {
			raw, err := f.Call(f.ctx(), name, "slow", json.RawMessage(`{"ms":1000}`))
			results <- fmt.Sprint(string(raw), err)
		}()
	}
	f.waitForCalls("changed", 1)
	f.waitForCalls("gone", 1)
	f.Update(f.fakes(fake("changed", "-tools", "1")))
	f.text("changed", "pid", "")
	for range 2 {
		if got := <-results; !strings.Contains(got, "waited 1000 ms") {
			t.Errorf("a call under way brought %s", got)
		}
	}
}

// What is still starting for nobody is not waited for; what starts for a caller serves it.
func TestUpdateWhileStarting(t *testing.T) {
	f := newPool(t, nil, fake("stub", "-start-delay", "200ms"))
	answer := make(chan error)
	go func() {
		_, err := f.Tools(f.ctx(), "stub")
		answer <- err
	}()
	f.waitForStart("stub")
	f.Update(nil)
	if err := <-answer; err != nil {
		t.Errorf("the one who waited got %v", err)
	}
}

func TestUpdateAfterClose(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Update(f.fakes(fake("late")))
	if _, err := f.Tools(f.ctx(), "late"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("the error is %v", err)
	}
	if _, err := f.Tools(f.ctx(), "stub"); !errors.Is(err, errClosed) {
		t.Errorf("the error is %v", err)
	}
}

// Callers, updates and Close side by side: a call succeeds, or says that its server is gone or the pool is closed.
func TestUpdateUnderLoad(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 30 {
				_, err := f.Call(f.ctx(), "stub", "pid", nil)
				_, listing := f.Tools(f.ctx(), "stub")
				for _, err := range []error{err, listing} {
					if err != nil && !errors.Is(err, ErrUnknownServer) && !errors.Is(err, errClosed) {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 6 {
		f.text("stub", "echo", `{"message":"up"}`)
		f.Update(f.fakes(fake("stub", "-tools", fmt.Sprint(i+1))))
	}
	f.Update(nil)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	work.Wait()
	proctest.None(t, f.mark)
}
