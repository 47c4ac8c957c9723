package secrets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"codemode/internal/require"
)

// TestAtOnce holds that nobody's change is lost to another's.
func TestAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "secrets.json")
	var work sync.WaitGroup
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("name-%02d", i)
		want = append(want, name)
		work.Go(func() {
			if _, err := (&Store{File: file}).Set(t.Context(), name, "value of "+name); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	s := &Store{File: file}
	list, err := s.List()
	for i := range list {
		if list[i] != (Kept{Name: want[i]}) {
			t.Errorf("%v instead of %q", list[i], want[i])
		}
	}
	if err != nil || len(list) != len(want) {
		t.Errorf("%v, %v", list, err)
	}
	if v, err := s.Get(t.Context(), "name-07"); err != nil || v != "value of name-07" {
		t.Errorf("%q, %v", v, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".new-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestDamaged holds that a file which cannot be read is neither used nor overwritten, and no error says what is in it.
func TestDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets.json")
	for _, text := range []string{`{"a": "hush"`, `{"a": {"b": "hush"}}`, `["hush"]`, `hush`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Store{File: file}
		_, get := s.Get(t.Context(), "a")
		_, set := s.Set(t.Context(), "b", "hush")
		for _, err := range []error{get, set} {
			if err == nil || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", text, err)
			}
		}
		if now, _ := os.ReadFile(file); string(now) != text {
			t.Errorf("%s became %s", text, now)
		}
	}
}

// TestRefused holds that what could not be kept as it is is not kept, and no error says what it was.
func TestRefused(t *testing.T) {
	s := &Store{File: filepath.Join(t.TempDir(), "secrets.json")}
	for _, value := range []string{
		"", "hush\x1b[A", "hush\t", "hush\xff", "hush\u0085", "hush\nhush", strings.Repeat("h", MaxValue+3),
	} {
		if _, err := s.Set(t.Context(), "a", value); err == nil || strings.Contains(err.Error(), "hush") ||
			strings.Contains(err.Error(), fmt.Sprint(len(value))) && value != "" {
			t.Errorf("%.20q: %v", value, err)
		}
	}
	if _, err := s.Set(t.Context(), "a", strings.Repeat("ü", MaxValue/2)); err != nil {
		t.Error(err)
	}
}

// TestNoRegularFile holds that what is no file of codemode's is neither waited for nor replaced.
func TestNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	file, target := filepath.Join(dir, "secrets.json"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	if _, err := (&Store{File: file}).Set(t.Context(), "a", "hush"); err == nil || !strings.Contains(err.Error(), "no regular") {
		t.Error(err)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
		t.Errorf("replaced: %v, %v", info, err)
	}
}

// TestOthersFile holds that secrets are not used that others can read, or could have put there.
func TestOthersFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its permissions are no modes")
	}
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, "secrets.json")
	s := &Store{File: file}
	if _, err := s.Set(t.Context(), "a", "hush"); err != nil {
		t.Fatal(err)
	}
	for why, change := range map[string]func() error{
		"":                                 func() error { return nil },
		"mode 0640":                        func() error { return os.Chmod(file, 0o640) },
		"its folder: mode 0777":            func() error { return os.Chmod(dir, 0o777) },
		"it is another user's":             func() error { return os.Chown(file, 61234, -1) },
		"its folder: it is another user's": func() error { return os.Chown(dir, 61234, -1) },
	} {
		if strings.Contains(why, "another") && os.Geteuid() != 0 {
			continue
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Get(t.Context(), "a")
		if open := (*OpenError)(nil); why != "" && (!errors.As(err, &open) || open.Why != why) || why == "" && err != nil {
			t.Errorf("%q: %v", why, err)
		}
		if err := errors.Join(os.Chmod(file, 0o600), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := errors.Join(os.Chown(file, 0, -1), os.Chown(dir, 0, -1)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNowhere(t *testing.T) {
	if _, err := (&Store{}).Get(t.Context(), "a"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := (&Store{}).Set(t.Context(), "a", "b"); !errors.Is(err, errNowhere) {
		t.Error(err)
	}
}

func TestAdd(t *testing.T) {
	s := &Store{File: filepath.Join(t.TempDir(), "secrets.json")}
	if err := s.Add(t.Context(), "a", "one"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), "a", "two"); !errors.Is(err, ErrTaken) {
		t.Errorf("a second of one name: %v", err)
	}
	if got, err := s.Get(t.Context(), "a"); got != "one" || err != nil {
		t.Errorf("it is %q, %v", got, err)
	}
}
