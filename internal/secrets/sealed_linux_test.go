package secrets

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/keyring"
	"codemode/internal/keyring/keyringtest"
	"codemode/internal/require"
)

// TestSealed keeps what is in the file beside what a keyring's key seals, and tells which is which without the keyring.
func TestSealed(t *testing.T) {
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		require.Lacking(t, "dbus", "%v", err)
	}
	k, err := keyringtest.Start(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", k.Address)
	dir := t.TempDir()
	s := &Store{File: filepath.Join(dir, "secrets.json")}
	if _, err := s.Set(t.Context(), "old", "hushold"); err != nil {
		t.Fatal(err)
	}
	s.Ring = &keyring.Ring{Dir: dir, Store: "auto"}
	if done, err := s.Set(t.Context(), "new", "hushnew"); err != nil || !done.Sealed || done.Why != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if data, _ := os.ReadFile(s.File); strings.Contains(string(data), "hushnew") || !strings.Contains(string(data), "hushold") {
		t.Errorf("the file is %s", data)
	}
	for name, want := range map[string]string{"old": "hushold", "new": "hushnew"} {
		if got, err := s.Get(t.Context(), name); got != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	k.Close()
	if list, err := s.List(); err != nil || len(list) != 2 || list[0] != (Kept{"new", true}) || list[1] != (Kept{"old", false}) {
		t.Errorf("the list is %v, %v", list, err)
	}
	if err := s.Has("new"); err != nil {
		t.Error(err)
	}
	if err := s.Has("none"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	s.Ring.Store = "keyring"
	if _, err := s.Set(t.Context(), "new", "hushlater"); err != nil { // the key is known by now
		t.Error(err)
	}
	done, err := (&Store{File: s.File, Ring: &keyring.Ring{Dir: t.TempDir(), Store: "auto"}}).Set(t.Context(), "new", "hushplain")
	if err != nil || done.Sealed || !strings.Contains(done.Why, "there is no session bus") {
		t.Errorf("%+v, %v", done, err)
	}
}
