package keyring

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/keyring/keyringtest"
	"codemode/internal/require"
)

// start has a keyring answer, and this process know none before it.
func start(t *testing.T, how string) *keyringtest.Keyring {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		require.Lacking(t, "dbus", "%v", err)
	}
	k, err := keyringtest.Start(t.TempDir(), how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	fresh(t, k.Address)
	return k
}

// fresh has the session's bus be somewhere, and this process be another that knows no key.
func fresh(t *testing.T, address string) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	forgetKeys()
	t.Cleanup(forgetKeys)
}

func forgetKeys() {
	known.Clear()
	silent.Store(nil)
}

func ring(t *testing.T) *Ring { return &Ring{Dir: filepath.Join(t.TempDir(), "work"), Store: "auto"} }

func TestSeal(t *testing.T) {
	k := start(t, "")
	r := ring(t)
	s, why, err := r.Seal(t.Context(), "secret gh", []byte("hush"))
	if err != nil || why != "" || strings.Contains(string(s.Data), "hush") {
		t.Fatalf("%v, %q, %v", s, why, err)
	}
	if list := k.Values(); len(list) != 1 || !strings.HasPrefix(s.Key, "work ") {
		t.Errorf("the keyring has %d items, the key is %q", len(list), s.Key)
	}
	forgetKeys()
	before := k.Asked()
	for range 3 {
		if got, err := r.Open(t.Context(), "secret gh", s); err != nil || string(got) != "hush" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if n := k.Asked() - before; n != 1 {
		t.Errorf("the keyring was asked %d times", n)
	}
	if _, err := r.Open(t.Context(), "secret other", s); err == nil || !strings.Contains(err.Error(), "another's place") {
		t.Errorf("in another's place: %v", err)
	}
	s.Data[len(s.Data)-1] ^= 1
	if _, err := r.Open(t.Context(), "secret gh", s); err == nil || !strings.Contains(err.Error(), "has been changed") {
		t.Errorf("changed: %v", err)
	}
	large := []byte(strings.Repeat("x", 200<<10)) // more than what Windows and macOS keep
	if s, _, err = r.Seal(t.Context(), "large", large); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Open(t.Context(), "large", s); err != nil || len(got) != len(large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := r.Forget(t.Context()); err != nil || len(k.Values()) != 0 {
		t.Errorf("after forgetting: %d items, %v", len(k.Values()), err)
	}
	if _, err := r.Open(t.Context(), "large", s); err == nil || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("after forgetting: %v", err)
	}
}

// TestOneKey makes one, however many need it first.
func TestOneKey(t *testing.T) {
	k := start(t, "")
	r := ring(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, _, err := (&Ring{Dir: r.Dir, Store: "keyring"}).Seal(t.Context(), "x", []byte("hush"))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := r.Open(t.Context(), "x", s); err != nil || string(got) != "hush" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := len(k.Values()); n != 1 {
		t.Errorf("there are %d keys", n)
	}
}

// TestLost has a keyring lose the key: what it sealed is lost, and what comes after is sealed with another.
func TestLost(t *testing.T) {
	k := start(t, "")
	r := ring(t)
	old, _, err := r.Seal(t.Context(), "x", []byte("hush"))
	if err != nil {
		t.Fatal(err)
	}
	k.Lose()
	forgetKeys()
	s, _, err := r.Seal(t.Context(), "x", []byte("anew"))
	if err != nil || s.Key == old.Key {
		t.Fatalf("%v, %v", s, err)
	}
	if got, err := r.Open(t.Context(), "x", s); err != nil || string(got) != "anew" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.Open(t.Context(), "x", old); err == nil || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("the error is %v", err)
	}
}

// TestAbsent does without a keyring that cannot be used where that is allowed, says why, and waits for none for good.
func TestAbsent(t *testing.T) {
	for how, want := range map[string]string{
		"absent":    "no program here is a keyring (Secret Service)",
		"dismissed": "failed to unlock correct collection",
		"forgetful": "it does not return what it was given",
		"odd":       "it has answered what no keyring should",
		"gone":      "",
	} {
		t.Run(how, func(t *testing.T) {
			start(t, how)
			r := ring(t)
			if s, why, err := r.Seal(t.Context(), "x", []byte("hush")); s != nil || err != nil || why == "" || !strings.Contains(why, want) {
				t.Errorf("%v, %q, %v", s, why, err)
			}
			r.Store = "keyring"
			var absent *AbsentError
			if _, _, err := r.Seal(t.Context(), "x", []byte("hush")); !errors.As(err, &absent) || strings.Contains(err.Error(), "hush") {
				t.Errorf("where it must be the keyring: %v", err)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		fresh(t, "unix:path=/nowhere")
		r := &Ring{Dir: t.TempDir(), Store: "file"}
		if s, why, err := r.Seal(t.Context(), "x", []byte("hush")); s != nil || why != "" || err != nil {
			t.Errorf("%v, %q, %v", s, why, err)
		}
	})
	t.Run("no bus", func(t *testing.T) {
		fresh(t, "unix:path=/nowhere")
		if _, why, err := ring(t).Seal(t.Context(), "x", nil); err != nil || !strings.Contains(why, "there is no session bus") {
			t.Errorf("%q, %v", why, err)
		}
	})
	t.Run("dead bus", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bus")
		l, err := net.Listen("unix", path) // whose connections nobody takes
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		fresh(t, "unix:path="+path)
		_, why, err := ring(t).Seal(t.Context(), "x", nil)
		if err != nil || !strings.Contains(why, "does not answer") {
			t.Errorf("%q, %v", why, err)
		}
	})
}

// TestGivenUp gives up a keyring that never answers, says that it is waited for, and leaves nothing that goes on asking.
func TestGivenUp(t *testing.T) {
	for _, how := range []string{"locked", "mute"} {
		t.Run(how, func(t *testing.T) {
			k := start(t, "")
			r := ring(t)
			s, _, err := r.Seal(t.Context(), "x", []byte("hush"))
			if err != nil {
				t.Fatal(err)
			}
			forgetKeys()
			k.Behave(how)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errSlow)
			defer cancel()
			waited := make(chan bool, 1)
			r.Slow = func() { waited <- true }
			_, err = r.Open(ctx, "x", s)
			if err == nil || !strings.Contains(err.Error(), "it has not answered within") || len(waited) != 1 {
				t.Errorf("told %d times: %v", len(waited), err)
			}
			k.Behave("") // it would answer now
			if _, why, _ := r.Seal(t.Context(), "x", nil); !strings.Contains(why, "not answered") {
				t.Errorf("it is asked again at once: %q", why)
			}
			silent.Store(nil)
			if got, err := r.Open(t.Context(), "x", s); err != nil || string(got) != "hush" {
				t.Errorf("later: %q, %v", got, err)
			}
		})
	}
}
