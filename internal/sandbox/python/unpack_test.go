package python

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gofrs/flock"
)

// unpackChildEnv names a cache; it makes TestUnpackChild a process that fills it.
const unpackChildEnv = "CODEMODE_TEST_UNPACK"

// TestUnpackChild tells its progress on stdout. It is no test but the processes of one.
func TestUnpackChild(t *testing.T) {
	dir := os.Getenv(unpackChildEnv)
	if dir == "" {
		t.Skip("only as a child of TestUnpackKilledAndConcurrent")
	}
	s := Source{CacheDir: dir, Progress: func(_, _ int, what string) { fmt.Println(what) }}
	if _, err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Eight processes want the same cache, in which a ninth has just been killed at work.
func TestUnpackKilledAndConcurrent(t *testing.T) {
	if embeddedRelease == "" {
		t.Skip("no embedded python on this system")
	}
	if testing.Short() {
		t.Skip("unpacks twice")
	}
	cache := t.TempDir()
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnpackChild$")
		cmd.Env = []string{unpackChildEnv + "=" + cache}
		return cmd
	}

	victim := child()
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "unpacking python"; {
	}
	victim.Process.Kill()
	victim.Wait()
	root := filepath.Join(cache, "python")
	if temps, _ := filepath.Glob(filepath.Join(root, tempPrefix+"*")); len(temps) != 1 {
		t.Fatalf("the killed process left %v, want one temporary directory", temps)
	}

	type result struct {
		out string
		err error
	}
	results := make(chan result)
	const processes = 8
	for range processes {
		go func() {
			out, err := child().CombinedOutput()
			results <- result{string(out), err}
		}()
	}
	unpacked := 0
	for range processes {
		r := <-results
		if r.err != nil {
			t.Errorf("%v: %s", r.err, r.out)
		}
		if strings.Contains(r.out, "unpacking python") {
			unpacked++
		}
	}
	if unpacked != 1 {
		t.Errorf("%d processes unpacked, want 1", unpacked)
	}
	if temps, _ := filepath.Glob(filepath.Join(root, tempPrefix+"*")); len(temps) != 0 {
		t.Errorf("left over: %v", temps)
	}
	py, err := Source{CacheDir: cache}.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := py.Verify(); err != nil {
		t.Error(err)
	}
	checkNoneRuns(t, cache)
}

// checkNoneRuns fails the test if a program below dir is being run.
func checkNoneRuns(t *testing.T, dir string) {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, dir) {
			t.Errorf("%s is still running %s", link, exe)
		}
	}
}

// unpacked makes a directory that looks like a distribution which was used some time ago.
func unpacked(t *testing.T, dir string, ago time.Duration) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range (distribution{dir: dir}).vital() { // a folder will do for the interpreter
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	marker := filepath.Join(dir, markerName)
	if err := os.WriteFile(marker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-ago)
	if err := os.Chtimes(marker, then, then); err != nil {
		t.Fatal(err)
	}
}

// stub is a distribution in root that must not be unpacked, or fails as told.
func stub(root string, files func() ([]file, error)) distribution {
	progress := func(int, int, string) {}
	return distribution{dir: filepath.Join(root, "3.14.6-current"), files: files, progress: progress}
}

// failing is a distribution's list that cannot be had.
func failing(err error) func() ([]file, error) {
	return func() ([]file, error) { return nil, err }
}

// reading is a distribution's list of one file of a byte, which is read so.
func reading(read func(p []byte) (int, error)) func() ([]file, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(iotest.OneByteReader(readerFunc(read))), nil }
	return func() ([]file, error) { return []file{{name: "lib/file", size: 1, open: open}}, nil }
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestUnpackedIsTrustedByItsMarker(t *testing.T) {
	root := t.TempDir()
	asked := errors.New("unpacked again")
	d := stub(root, failing(asked))
	unpacked(t, d.dir, 0)
	if err := d.ensure(t.Context()); err != nil {
		t.Errorf("with a marker: %v", err)
	}
	if err := os.Remove(d.marker()); err != nil {
		t.Fatal(err)
	}
	if err := d.ensure(t.Context()); !errors.Is(err, asked) {
		t.Errorf("without a marker: %v, want that it is unpacked again", err)
	}
}

// TestChangedModesAreFound holds that a start finds an interpreter that gives its user's rights to others, and a
// library that cannot be read.
func TestChangedModesAreFound(t *testing.T) {
	asked := errors.New("unpacked again")
	for i := range stub("", nil).vital() {
		for _, mode := range []fs.FileMode{0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid, 0o777, 0o644, 0} {
			d := stub(t.TempDir(), failing(asked))
			unpacked(t, d.dir, 0)
			path := d.vital()[i]
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if err := d.ensure(t.Context()); !errors.Is(err, asked) {
				t.Errorf("%s with mode %v: %v, want that it is unpacked again", path, mode, err)
			}
			if err := discard(d.dir); err != nil {
				t.Errorf("%s with mode %v: %v", path, mode, err)
			}
		}
	}
}

func TestUnpackRemovesOld(t *testing.T) {
	root := t.TempDir()
	d := stub(root, nil)
	unpacked(t, d.dir, 2*usedEvery)
	unpacked(t, filepath.Join(root, "3.13.0-old"), keepUnused+time.Hour)
	unpacked(t, filepath.Join(root, "3.13.1-recent"), keepUnused-time.Hour)
	unpacked(t, filepath.Join(root, tempPrefix+"dead"), 0)

	busy := flock.New(filepath.Join(root, ".lock"))
	if err := busy.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := d.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEntries(t, root, ".lock", tempPrefix+"dead", "3.13.0-old", "3.13.1-recent", "3.14.6-current")
	if info, err := os.Stat(d.marker()); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the use of the distribution is not recorded: %v, %v", info.ModTime(), err)
	}
	busy.Close()

	unpacked(t, d.dir, -2*usedEvery)
	if err := d.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEntries(t, root, ".lock", "3.13.1-recent", "3.14.6-current")
	if info, err := os.Stat(d.marker()); err != nil || info.ModTime().After(time.Now()) {
		t.Errorf("the distribution is used in the future: %v, %v", info.ModTime(), err)
	}
}

func checkEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func TestUnpackErrors(t *testing.T) {
	t.Run("disk full", func(t *testing.T) {
		root := t.TempDir()
		full := reading(func([]byte) (int, error) {
			return 0, &os.PathError{Op: "write", Path: root, Err: syscall.ENOSPC}
		})
		err := stub(root, full).ensure(t.Context())
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), root) {
			t.Errorf("got error %v", err)
		}
		checkEntries(t, root, ".lock")
	})
	t.Run("another size", func(t *testing.T) {
		root := t.TempDir()
		short := reading(func([]byte) (int, error) { return 0, io.EOF })
		err := stub(root, short).ensure(t.Context())
		if err == nil || !strings.Contains(err.Error(), `"lib/file" has 0 bytes`) {
			t.Errorf("got error %v", err)
		}
		checkEntries(t, root, ".lock")
	})
	t.Run("cancelled in the midst of unpacking", func(t *testing.T) {
		root := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user went away")
		reads := 0
		endless := reading(func(p []byte) (int, error) {
			if reads++; reads == 10 {
				cancel(why)
			}
			return len(p), nil
		})
		if err := stub(root, endless).ensure(ctx); !errors.Is(err, why) {
			t.Errorf("got error %v", err)
		}
		checkEntries(t, root, ".lock")
	})
	t.Run("cancelled while waiting", func(t *testing.T) {
		root := t.TempDir()
		busy := flock.New(filepath.Join(root, ".lock"))
		if err := busy.Lock(); err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user went away")
		d := stub(root, nil)
		d.progress = func(_, _ int, what string) {
			if !strings.Contains(what, "waiting") {
				t.Errorf("progress says %q", what)
			}
			cancel(why)
		}
		if err := d.ensure(ctx); !errors.Is(err, why) {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("no directory", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(file, "python")
		err := stub(root, nil).ensure(t.Context())
		if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), file) {
			t.Errorf("got error %v", err)
		}
	})
}
