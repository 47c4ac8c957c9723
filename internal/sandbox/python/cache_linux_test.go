package python

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/cachedir"
	"codemode/internal/require"
)

// wantUntrusted fails the test unless err says that the directory is not to be trusted, and why.
func wantUntrusted(t *testing.T, err error, dir, why string) {
	t.Helper()
	var untrusted *cachedir.Error
	if !errors.As(err, &untrusted) || len(untrusted.Hint()) == 0 {
		t.Fatalf("error %v, want a cachedir.Error with a hint", err)
	}
	if !strings.Contains(err.Error(), strconv.Quote(dir)) || !strings.Contains(err.Error(), why) {
		t.Errorf("error %v does not say about %q: %s", err, dir, why)
	}
}

// TestUntrustedCacheIsNotUsed spoils each directory of a cache in turn: nothing of it is run or made.
func TestUntrustedCacheIsNotUsed(t *testing.T) {
	used := errors.New("the cache was used")
	for _, spoiled := range []string{".", "python", "python/3.14.6-current", "python/interpreters", "guest"} {
		t.Run(spoiled, func(t *testing.T) {
			cache := t.TempDir()
			dir := filepath.Join(cache, spoiled)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			var err error
			switch spoiled {
			case "guest":
				guests := Trees{Root: dir}
				_, err = guests.Dir(t.Context(), fstest.MapFS{"boot.py": {}}, &Interpreter{})
			case "python/interpreters":
				_, err = Source{CacheDir: cache}.inspect(t.Context(), os.Args[0])
			default:
				err = stub(filepath.Join(cache, "python"), failing(used)).ensure(t.Context())
			}
			wantUntrusted(t, err, dir, "can be written by others")
		})
	}
}

// TestGuestTreeOfAnother: a directory with the right name and files, that somebody else made.
func TestGuestTreeOfAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks Python, and does nothing beside it")
	}
	if os.Geteuid() != 0 {
		require.Lacking(t, "user", "only root can give files away")
	}
	guests := Trees{Root: filepath.Join(t.TempDir(), "guest")}
	files := fstest.MapFS{"boot.py": {Data: []byte("x = 1\n")}}
	py := embeddedPython(t)
	dir, err := guests.Dir(t.Context(), files, py)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 61234, 61234); err != nil {
		t.Fatal(err)
	}
	_, err = guests.Dir(t.Context(), files, py)
	wantUntrusted(t, err, dir, "belongs to another user (uid 61234)")
}

// TestCacheUnderAnyUmask: what is made must be trusted the next time.
func TestCacheUnderAnyUmask(t *testing.T) {
	py := embeddedPython(t)
	for _, umask := range []int{0o000, 0o002, 0o077} {
		base := t.TempDir()
		old := syscall.Umask(umask)
		guests := Trees{Root: filepath.Join(base, "codemode", "guest")}
		files := fstest.MapFS{"pkg/boot.py": {Data: []byte("x = 1\n")}}
		_, err := guests.Dir(t.Context(), files, py)
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := guests.Dir(t.Context(), files, py); err != nil {
			t.Errorf("umask %#o: %v", umask, err)
		}
		filepath.WalkDir(base, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			if fi, err := e.Info(); err != nil || path != base && fi.Mode().Perm()&0o022 != 0 {
				t.Errorf("umask %#o: %s has mode %v, %v", umask, path, fi.Mode(), err)
			}
			return nil
		})
	}
}

// TestGuestKeepsItsStart has a tree with a start to keep write it: a file among the others, which all can read.
func TestGuestKeepsItsStart(t *testing.T) {
	py := embeddedPython(t)
	guests := Trees{Root: filepath.Join(t.TempDir(), "codemode", "guest")}
	tree := func(keep string) fstest.MapFS {
		return fstest.MapFS{startModule: {Data: []byte("def keep(here):\n    " + keep + "\n")}}
	}
	defer syscall.Umask(syscall.Umask(0o077))
	dir, err := guests.Dir(t.Context(), tree(`print(end="kept", file=open(here + "/start", "w"))`), py)
	if err != nil {
		t.Fatal(err)
	}
	start := filepath.Join(dir, "start")
	text, err := os.ReadFile(start)
	if fi, serr := os.Stat(start); string(text) != "kept" || serr != nil || fi.Mode() != 0o644 {
		t.Errorf("the start is %q, %v, %v, %v", text, err, fi, serr)
	}
	_, err = guests.Dir(t.Context(), tree(`raise ValueError("no start")`), py)
	if err == nil || !strings.HasSuffix(err.Error(), "ValueError: no start") {
		t.Errorf("error %v, want the guest's", err)
	}
	checkEntries(t, guests.Root, ".lock", filepath.Base(dir))
}

func TestGuestFilesPrune(t *testing.T) {
	root := t.TempDir()
	guests := Trees{Root: root}
	for name, age := range map[string]time.Duration{"new": time.Hour, "old": unusedAfter + time.Hour} {
		dir := filepath.Join(root, name)
		then := time.Now().Add(-age)
		err := errors.Join(
			os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "boot.py"), nil, 0o644), os.Chtimes(dir, then, then),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	guests.prune()
	checkEntries(t, root, "new")
}

// TestGuestFilesHalfWritten has a start find what one left that was killed while it wrote.
func TestGuestFilesHalfWritten(t *testing.T) {
	py := embeddedPython(t)
	root := filepath.Join(t.TempDir(), "codemode", "guest")
	guests := Trees{Root: root}
	if err := os.MkdirAll(filepath.Join(root, tempPrefix+"dead"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := guests.Dir(t.Context(), fstest.MapFS{"boot.py": {Data: []byte("1\n")}}, py)
	if err != nil {
		t.Fatal(err)
	}
	checkEntries(t, root, ".lock", filepath.Base(dir))
}
