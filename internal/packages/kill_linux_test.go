package packages

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"codemode/internal/packages/packagestest"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
)

// installer is what the test binary does when it is started as a codemode that installs a lock.
type installer struct{ State, Cache, Python, Lock, Old string }

const installerVariable = "CODEMODE_PACKAGES_INSTALLER"

func TestMain(m *testing.M) {
	text := os.Getenv(installerVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var i installer
	err := json.Unmarshal([]byte(text), &i)
	if err == nil {
		err = i.run()
	}
	switch {
	case errors.Is(err, ErrChanged):
		os.Exit(3)
	case err != nil:
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func (i installer) store() *Store {
	return &Store{
		State: i.State, Cache: i.Cache, Source: python.Source{CacheDir: i.Python},
		Programs: sandbox.NewPrograms(sandbox.ProgramOptions{}), Client: &http.Client{},
	}
}

func (i installer) run() error {
	lock, err := ParseLock([]byte(i.Lock))
	if err != nil {
		return err
	}
	old := &Lock{}
	if i.Old != "" {
		if old, err = ParseLock([]byte(i.Old)); err != nil {
			return err
		}
	}
	return i.store().Install(context.Background(), lock, old)
}

func (i installer) command(ctx context.Context) *exec.Cmd {
	text, _ := json.Marshal(i) // of strings
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), installerVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// twoLocks are a store that has the first of two locks, and the second.
func twoLocks(t *testing.T) (s *Store, first, second *Lock) {
	t.Helper()
	s = newStore(t)
	x := packagestest.NewIndex()
	t.Cleanup(x.Close)
	x.Add(five()...)
	w := Wish{Requirements: []string{"words-kit"}, Index: x.URL()}
	first = add(t, s, w)
	w.Requirements = append(w.Requirements, "table-kit")
	second, err := s.Resolve(t.Context(), w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, first, second
}

// TestKilled kills a codemode that adds packages at many moments. The lock is the old one or the new one, whole, and so
// is its layer; and the next codemode does what this one could not.
func TestKilled(t *testing.T) {
	s, first, second := twoLocks(t)
	i := installer{s.State, s.Cache, s.Source.CacheDir, string(second.encode()), string(first.encode())}
	abi, err := s.Source.ABI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := i.command(t.Context()).Run(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begin)
	moments := 12
	if require.Named("random") {
		moments = 200
	}
	became := map[string]int{}
	for n := range moments {
		restore(t, s, first, second, abi)
		cmd := i.command(t.Context())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(whole*time.Duration(n)/time.Duration(moments), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed, or was faster
		timer.Stop()
		became[checkWhole(t, s, first, second, abi)]++
	}
	t.Logf("%v killed within %v: %v", moments, whole, became)
	restore(t, s, first, second, abi)
	if err := i.command(t.Context()).Run(); err != nil {
		t.Fatal("after all that:", err)
	}
	for _, dir := range []string{s.Cache, s.layers(), s.wheels(), s.State} {
		if left, _ := filepath.Glob(filepath.Join(dir, tempName+"*")); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
	}
}

// restore has a store as it was before the second lock, but for what killed processes have left.
func restore(t *testing.T, s *Store, first, second *Lock, abi string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.layers(), second.layerName(abi))); err != nil {
		t.Fatal(err)
	}
	for _, p := range second.Packages {
		if _, kept := first.Find(p.Name); !kept {
			_ = os.Remove(filepath.Join(s.wheels(), p.wheelName())) // it need not have got that far
		}
	}
	if err := os.WriteFile(filepath.Join(s.State, lockName), first.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkWhole says which lock there is, and fails the test unless its layer is what its mark says.
func checkWhole(t *testing.T, s *Store, first, second *Lock, abi string) string {
	t.Helper()
	lock, err := s.Lock()
	if err != nil {
		t.Fatal(err)
	}
	which := "neither"
	switch string(lock.encode()) {
	case string(first.encode()):
		which = "the old one"
	case string(second.encode()):
		which = "the new one"
	default:
		t.Errorf("the lock is neither the old one nor the new one:\n%s", lock.encode())
	}
	layer, there := s.Layer(lock, abi)
	if !there {
		t.Fatalf("%s has no layer", which)
	}
	for _, l := range []*Lock{first, second} { // a layer that is there is whole, whoever names it
		layer, there = s.Layer(l, abi)
		if !there {
			continue
		}
		mark, err := os.ReadFile(filepath.Join(layer.Host, markName))
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := digest(layer.Host); err != nil || sum != string(mark) {
			t.Errorf("a layer is %s, %v; its mark says %s", sum, err, mark)
		}
	}
	return which
}

// TestAtOnce has codemodes install at once: one is first, and the others are told, and have changed nothing.
func TestAtOnce(t *testing.T) {
	s, first, second := twoLocks(t)
	none, err := first.Without([]string{"words-kit"})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	codes := make([]int, 4)
	for n := range codes {
		lock := second
		if n%2 == 1 {
			lock = none
		}
		work.Go(func() {
			i := installer{s.State, s.Cache, s.Source.CacheDir, string(lock.encode()), string(first.encode())}
			cmd := i.command(t.Context())
			_ = cmd.Run()
			codes[n] = cmd.ProcessState.ExitCode()
		})
	}
	work.Wait()
	done := 0
	for _, code := range codes {
		switch code {
		case 0:
			done++
		case 3: // ErrChanged
		default:
			t.Errorf("codes %v", codes)
		}
	}
	if done != 1 {
		t.Errorf("%d of %d were first: %v", done, len(codes), codes)
	}
}

// TestIndexGone: an index that ends in the middle of it leaves the old packages, and nothing half.
func TestIndexGone(t *testing.T) {
	s := newStore(t)
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(five()...)
	w := Wish{Requirements: []string{"words-kit"}, Index: x.URL()}
	first := add(t, s, w)
	w.Requirements = []string{"table-kit"}
	second, err := s.Resolve(t.Context(), w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	if err := s.Install(t.Context(), second, first); err == nil {
		t.Fatal("what cannot be fetched was added")
	}
	abi, err := s.Source.ABI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if which := checkWhole(t, s, first, second, abi); which != "the old one" {
		t.Errorf("there is %s", which)
	}
	if _, err := s.Resolve(t.Context(), w, nil, nil); err == nil {
		t.Error("an index that is gone has an answer")
	}
}
