package python

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if testCache != "" {
		os.RemoveAll(testCache)
	}
	os.Exit(code)
}

// testCache is a cache that all tests of the package share, because filling it takes seconds.
var testCache string

var unpackOnce = sync.OnceValues(func() (*Interpreter, error) {
	dir, err := os.MkdirTemp("", "codemode-test-")
	if err != nil {
		return nil, err
	}
	testCache = dir
	return Source{CacheDir: dir}.Prepare(context.Background())
})

// embeddedPython returns the embedded interpreter, unpacked in a cache that lasts as long as the tests.
func embeddedPython(t testing.TB) *Interpreter {
	t.Helper()
	if embeddedRelease == "" {
		t.Skip("no embedded python on this system")
	}
	py, err := unpackOnce()
	if err != nil {
		t.Fatal(err)
	}
	return py
}

// runOnHost runs code with py as it lies on the host, without any sandbox.
func runOnHost(t *testing.T, py *Interpreter, code string) string {
	t.Helper()
	cmd := exec.Command(py.HostPath(py.Exe), "-I", "-S", "-B", "-c", code)
	cmd.Env = []string{"LANG=C.UTF-8"}
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestEmbeddedPython(t *testing.T) {
	py := embeddedPython(t)
	if py.Exe != "/opt/codemode/python/bin/python3.14" || py.Tag != "cpython-314" || !py.Embedded {
		t.Errorf("got %+v", py)
	}
	for name, code := range map[string]string{
		"version": `import sys; print(sys.version.split()[0] == "` + py.Version + `")`,
		"tag":     `import sys; print(sys.implementation.cache_tag == "` + py.Tag + `")`,
		"modules": `
import asyncio, bz2, ctypes, curses, dbm, decimal, hashlib, lzma, multiprocessing, pdb, readline, sqlite3, ssl
import sysconfig, unittest, uuid, zlib
print(sysconfig.get_config_vars() != {})`,
		"subprocess": `
import subprocess, sys
print(subprocess.check_output([sys.executable, "-c", "print(True)"], text=True).strip())`,
		"links": `
import os, sys
d = os.path.dirname(sys.executable)
names = ["python", "python3", "python3.14"]
print(sorted(os.listdir(d)) == names and os.readlink(d + "/python3") == "python3.14")`,
		"names": `
import importlib.util as u, json, marshal
code = marshal.loads(open(u.cache_from_source(json.__file__), "rb").read()[16:])
print(code.co_filename == "/opt/codemode/python/lib/python3.14/json/__init__.py")`,
		"bytecode": `
import pydoc, importlib.util as u
print(open(u.cache_from_source(pydoc.__file__), "rb").read(8)[4:] == bytes([1, 0, 0, 0]))`,
		"no pip": `
import importlib.util as u
print(not any(map(u.find_spec, ["pip", "ensurepip", "tkinter", "idlelib", "_testcapi"])))`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := runOnHost(t, py, code); got != "True" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestEmbeddedReleaseIsGoMods(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line := "github.com/kluctl/go-embed-python v0.0.0-" + embeddedRelease + "\n"
	if embeddedRelease != "" && !strings.Contains(string(mod), line) {
		t.Errorf("go.mod has no line %q: embeddedRelease names another release than the one in the binary", line)
	}
}

func TestEmbeddedSize(t *testing.T) {
	const most = 60 << 20
	dir := embeddedPython(t).HostPath(embeddedDir)
	var size int64
	filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if e.Type().IsRegular() {
			size += info.Size()
		}
		if want := os.FileMode(0o444); info.Mode()&want != want || (e.IsDir() && info.Mode()&0o111 != 0o111) {
			t.Errorf("%s: mode %v: a guest with another user id cannot read it", path, info.Mode())
		}
		return nil
	})
	if size > most {
		t.Errorf("the distribution takes %d MiB, want at most %d", size>>20, most>>20)
	}
}

func TestVerify(t *testing.T) {
	py := embeddedPython(t)
	if err := py.Verify(); err != nil {
		t.Fatal(err)
	}
	runOnHost(t, py, "import asyncio, json, doctest")
	if err := py.Verify(); err != nil {
		t.Errorf("after use: %v", err)
	}
	extra := filepath.Join(py.HostPath(embeddedDir), "lib", "extra.py")
	if err := os.WriteFile(extra, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(extra)
	if err := py.Verify(); err == nil {
		t.Error("a file that was added is not noticed")
	}
	if err := py.Try(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRepair flips a bit, which leaves names and sizes as they were.
func TestRepair(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks Python twice, one after the other")
	}
	source := Source{CacheDir: t.TempDir()}
	py, err := source.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := py.HostPath(embeddedDir + "/lib/python" + majorMinor(embeddedVersion(), ".") + "/json/decoder.py")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if damage, err := source.Repair(t.Context()); err != nil || damage == nil {
		t.Fatalf("the damage %v was repaired with error %v", damage, err)
	}
	if damage, err := source.Repair(t.Context()); err != nil || damage != nil {
		t.Errorf("afterwards there is damage %v, error %v", damage, err)
	}
}

var fix = flag.Bool("fix", false, "write what a test would compare")

// TestCompiled holds that the bytecode in the binary is what the interpreter makes of its modules. What has the
// processor's name in its own is left to the interpreter.
func TestCompiled(t *testing.T) {
	py := embeddedPython(t)
	dir := filepath.Join(t.TempDir(), "sources")
	if err := os.CopyFS(dir, os.DirFS(py.HostPath(embeddedDir))); err != nil {
		t.Fatal(err)
	}
	drop := func(pattern string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	drop("lib/python*/_sysconfigdata_*")
	files, err := embeddedFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.name, ".pyc") {
			drop(f.name)
		}
	}
	exe := py.HostPath(py.Exe)
	if err := compileTree(t.Context(), program{exe: exe}, dir, embeddedDir, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if *fix {
		writeCompiled(t, dir)
		return
	}
	const compare = `
import marshal, pathlib, sys
here, there = map(pathlib.Path, sys.argv[1:])
names = {str(f.relative_to(here)) for f in here.rglob("*.pyc")}
for name in sorted(names ^ {str(f.relative_to(there)) for f in there.rglob("*.pyc")}):
    print("only on one side:", name)
def meaning(path):
    head, code = path.read_bytes()[:16], marshal.loads(path.read_bytes()[16:])
    return head, code, code.co_filename
for name in sorted(names):
    if (there / name).exists() and meaning(here / name) != meaning(there / name):
        print("not the same:", name)
print(len(names) > 500)
`
	cmd := exec.Command(exe, "-I", "-S", "-B", "-c", compare, dir, py.HostPath(embeddedDir))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "True\n" {
		t.Errorf("run `go test ./internal/sandbox/python -run TestCompiled -fix` (%v):\n%s", err, out)
	}
}

// writeCompiled makes the archive of the bytecode below dir: the same bytes whenever it is made.
func writeCompiled(t *testing.T, dir string) {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pyc") {
			return err
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		out, err := w.Create(path)
		if err != nil {
			return err
		}
		_, err = out.Write(b)
		return err
	})
	if err := errors.Join(err, w.Close(), os.WriteFile("compiled.zip", archive.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestCompile(t *testing.T) {
	py := embeddedPython(t)
	dir := t.TempDir()
	write := func(name, code string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("boot.py", "x = 1\n")
	write("pkg/__init__.py", "def f(): raise ValueError\n")
	write("pkg/data.txt", "not python")
	if err := py.Compile(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"__pycache__/boot.cpython-314.pyc", "pkg/__pycache__/__init__.cpython-314.pyc"} {
		code, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if flags := code[4:8]; !slices.Equal(flags, []byte{1, 0, 0, 0}) {
			t.Errorf("%s: flags %v, want an unchecked hash", name, flags)
		}
		if strings.Contains(string(code), dir) {
			t.Errorf("%s shows the host's path %s", name, dir)
		}
	}

	write("pkg/bad.py", "def f(:\n")
	err := py.Compile(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "SyntaxError") {
		t.Errorf("got error %v, want one that names the directory and the syntax error", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrDeadlineExceeded)
	if err := py.Compile(ctx, dir); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got error %v, want the cause of the cancellation", err)
	}
	if err := py.Compile(t.Context(), t.TempDir()); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestCutDir(t *testing.T) {
	for _, test := range []struct {
		path, dir, rest string
		ok              bool
	}{
		{"/usr", "/usr", "", true},
		{"/usr/lib/x", "/usr", "lib/x", true},
		{"/usrlocal", "/usr", "/usrlocal", false},
		{"/", "/usr", "/", false},
		{"/etc", "/", "etc", true},
	} {
		rest, ok := cutDir(test.path, test.dir)
		if rest != test.rest || ok != test.ok {
			t.Errorf("cutDir(%q, %q) = %q, %v; want %q, %v", test.path, test.dir, rest, ok, test.rest, test.ok)
		}
	}
}

func BenchmarkEmbeddedPython(b *testing.B) {
	embeddedPython(b)
	s := Source{CacheDir: testCache}
	for b.Loop() {
		if _, err := s.Prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
