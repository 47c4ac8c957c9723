package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
)

// systemPython returns a python3 of the host that is a program, not some version manager's script.
func systemPython(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if checkProgram(path) == nil {
			return path
		}
	}
	require.Lacking(t, "python", "no python3 in /usr/bin or /usr/local/bin")
	return ""
}

// newVenv makes a virtual environment in dir, with one package in it.
func newVenv(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command(systemPython(t), "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		require.Lacking(t, "python", "python3 -m venv: %v: %s", err, out)
	}
	sites, _ := filepath.Glob(filepath.Join(dir, "lib", "python3.*", "site-packages"))
	if len(sites) != 1 {
		t.Fatalf("site-packages: %v", sites)
	}
	if err := os.WriteFile(filepath.Join(sites[0], "of_the_venv.py"), []byte("answer = 42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withSites begins code by what a guest does with SitePackages. On the host they are elsewhere.
func withSites(py *Interpreter, code string) string {
	var sites []string
	for _, s := range py.SitePackages {
		sites = append(sites, fmt.Sprintf("%q", py.HostPath(s)))
	}
	return "import sys; sys.path += [" + strings.Join(sites, ", ") + "]\n" + code
}

func TestInterpreterOfSystem(t *testing.T) {
	path := systemPython(t)
	lookPath := func(name string) (string, error) {
		if name == "snake" {
			return path, nil
		}
		return "", exec.ErrNotFound
	}
	for _, name := range []string{path, "snake"} {
		py, err := Source{CacheDir: t.TempDir(), Interpreter: name, LookPath: lookPath}.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lib := filepath.Dir(filepath.Dir(realPath(path))) + "/lib"
		if !slices.Contains(py.Binds, Bind{Host: lib, Inside: lib}) || py.Embedded {
			t.Errorf("%s: got %+v", name, py)
		}
		for _, b := range py.Binds {
			if b.Host == "/usr" || b.Host == "/usr/local" {
				t.Errorf("%s: code sees all of %s", name, b.Host)
			}
		}
		const code = `import json, platform, sys; print(platform.python_version(), sys.implementation.cache_tag)`
		if got, want := runOnHost(t, py, code), py.Version+" "+py.Tag; got != want {
			t.Errorf("%s: is %q, want %q", name, got, want)
		}
	}
}

func TestInterpreterWithPandas(t *testing.T) {
	py, err := Source{CacheDir: t.TempDir(), Interpreter: systemPython(t)}.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const find = `import importlib.util as u; print(all(map(u.find_spec, ["numpy", "pandas", "matplotlib"])))`
	if runOnHost(t, py, withSites(py, find)) != "True" {
		require.Lacking(t, "pandas", "python3 has no pandas or no matplotlib")
	}
	const code = `
import matplotlib; matplotlib.use("agg")
import matplotlib.pyplot, numpy, pandas
print(pandas.DataFrame({"a": numpy.arange(4)}).a.sum())`
	if got := runOnHost(t, py, withSites(py, code)); got != "6" {
		t.Errorf("got %q, want 6", got)
	}
}

func TestInterpreterOfVenv(t *testing.T) {
	venv := filepath.Join(t.TempDir(), "venv")
	newVenv(t, venv)
	for _, name := range []string{venv, filepath.Join(venv, "bin", "python"), filepath.Join(venv, "bin", "python3")} {
		py, err := Source{CacheDir: t.TempDir(), Interpreter: name}.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(py.SitePackages) != 1 {
			t.Fatalf("%s: site-packages %q, want those of the environment alone", name, py.SitePackages)
		}
		if insidePath(venv) != venv && !strings.HasPrefix(py.SitePackages[0], movedDir+"/") {
			t.Errorf("%s: site-packages %q lie where the sandbox has a directory of its own", name, py.SitePackages)
		}
		if got := runOnHost(t, py, withSites(py, "import of_the_venv; print(of_the_venv.answer)")); got != "42" {
			t.Errorf("%s: got %q, want 42", name, got)
		}
	}
}

func TestInterpreterRefused(t *testing.T) {
	dir := t.TempDir()
	shim := filepath.Join(dir, "python3")
	if err := os.WriteFile(shim, []byte("#!/bin/sh\nexec python3.12 \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		shim:                    {shim, "script", "sys.executable"},
		text:                    {text, "not an ELF program"},
		dir:                     {dir, "no virtual environment"},
		filepath.Join(dir, "x"): {"no such file"},
		"snake":                 {"snake", exec.ErrNotFound.Error()},
		os.Args[0]:              {os.Args[0], "running", "exit status"},
	} {
		s := Source{
			CacheDir: t.TempDir(), Interpreter: name,
			LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
		}
		_, err := s.Prepare(t.Context())
		for _, want := range append(wants, fmt.Sprintf("python %q: ", name)) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got error %v, want one with %q", name, err, want)
			}
		}
	}
}

func TestInterpreterBareName(t *testing.T) {
	_, err := Source{CacheDir: t.TempDir(), Interpreter: "python3"}.Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bare name") {
		t.Errorf("without LookPath: got error %v", err)
	}
}

// What an interpreter may answer. The answers come from scripts, which findInterpreter would refuse.
func TestRunInspection(t *testing.T) {
	const ok = `"version": "3.12.1", "new_enough": true, "implementation": "cpython", "tag": "cpython-312"`
	for _, test := range []struct {
		name, script, want string
	}{
		{"fine", `echo '{` + ok + `}'`, ""},
		{
			"old", `echo '{"version": "3.8.18", "new_enough": false, "implementation": "cpython"}'`,
			"Python 3.8.18; guests need 3.9",
		},
		{"other", `echo '{"version": "3.10.1", "new_enough": true, "implementation": "pypy"}'`, "pypy"},
		{"chatty", `echo hello`, "does not answer as a python"},
		{"silent", `true`, "does not answer as a python"},
		{
			"broken", `echo one >&2; echo "ImportError: no encodings" >&2; exit 3`,
			"exit status 3: ImportError: no encodings",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "python3")
			if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			about, err := runInspection(t.Context(), program{exe: exe})
			if test.want == "" {
				if err != nil || about.Version != "3.12.1" {
					t.Errorf("got %+v, %v", about, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), exe) {
				t.Errorf("got error %v, want one with %q that names the interpreter", err, test.want)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(os.ErrDeadlineExceeded)
		if _, err := runInspection(ctx, program{exe: "/bin/sh"}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got error %v, want the cause", err)
		}
	})
}

// TestNotExecuted: where there is no sandbox to ask an environment in, which is so in reduced mode, nothing that lies
// in its site-packages is executed.
func TestNotExecuted(t *testing.T) {
	venv, mark := filepath.Join(t.TempDir(), "venv"), filepath.Join(t.TempDir(), "executed")
	newVenv(t, venv)
	sites, err := filepath.Glob(filepath.Join(venv, "lib", "*", "site-packages"))
	if err != nil || len(sites) != 1 {
		t.Fatalf("site-packages are %v, %v", sites, err)
	}
	for _, name := range []string{"evil.pth", "sitecustomize.py", "usercustomize.py"} {
		line := fmt.Sprintf("import os; open(%q, 'a').write(%q)\n", mark, name)
		if err := os.WriteFile(filepath.Join(sites[0], name), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (Source{CacheDir: t.TempDir(), Interpreter: venv}).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if executed, err := os.ReadFile(mark); err == nil {
		t.Errorf("executed were %s", executed)
	}
}

// A cached inspection stands in for running the interpreter until interpreter or environment change.
func TestInspectionIsCached(t *testing.T) {
	venv := filepath.Join(t.TempDir(), "venv")
	newVenv(t, venv)
	s := Source{CacheDir: t.TempDir(), Interpreter: venv}
	version := func() string {
		t.Helper()
		py, err := s.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return py.Version
	}
	real := version()
	files, _ := filepath.Glob(filepath.Join(s.CacheDir, "python", "interpreters", "*"))
	if len(files) != 1 {
		t.Fatalf("cached: %v, want one file", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var cached cachedInspection
	if err := json.Unmarshal(data, &cached); err != nil {
		t.Fatal(err)
	}
	cached.About.Version = "3.99.0"
	data, _ = json.Marshal(cached)
	if err := replaceFile(files[0], data); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != "3.99.0" {
		t.Errorf("got version %s: the interpreter was run again", got)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(venv, "pyvenv.cfg"), then, then); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != real {
		t.Errorf("got version %s, want %s: a new environment is taken for the old one", got, real)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != real {
		t.Errorf("got version %s from a damaged cache, want %s", got, real)
	}
}

func TestBindsOfInterpreter(t *testing.T) {
	home := t.TempDir() // below a directory that is covered, so everything is moved
	for _, dir := range []string{"bin", "lib/python3.12/site-packages", ".ssh"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("lib", filepath.Join(home, "lib64")); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(home, "lib64/python3.12/site-packages")
	py := inspection{
		Executable:   filepath.Join(home, "bin/python3.12"),
		Prefixes:     []string{home, home},
		Stdlib:       filepath.Join(home, "lib/python3.12"),
		SitePackages: []string{site, filepath.Join(home, "lib/python3.12/site-packages"), filepath.Join(home, "gone")},
	}.python()
	real := realPath(home)
	want := []Bind{
		{Host: real + "/bin", Inside: insidePath(real + "/bin")},
		{Host: real + "/lib", Inside: insidePath(real + "/lib")},
	}
	slices.SortFunc(want, func(a, b Bind) int { return strings.Compare(a.Host, b.Host) })
	if !slices.Equal(py.Binds, want) {
		t.Errorf("binds %v, want %v", py.Binds, want)
	}
	if want := []string{insidePath(real + "/lib/python3.12/site-packages")}; !slices.Equal(py.SitePackages, want) {
		t.Errorf("site-packages %q, want %q", py.SitePackages, want)
	}
}

func TestInsidePath(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/python3": "/usr/bin/python3",
		"/tmp/venv":        "/opt/codemode/host/tmp/venv",
		"/workspace":       "/opt/codemode/host/workspace",
		"/tmpfiles/venv":   "/tmpfiles/venv",
		"/home/me/venv":    "/home/me/venv",
		"/codemode/x":      "/opt/codemode/host/codemode/x",
	} {
		if got := insidePath(path); got != want {
			t.Errorf("insidePath(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestExplainStart(t *testing.T) {
	py := embeddedPython(t)
	exe, err := os.ReadFile(py.HostPath(py.Exe))
	if err != nil {
		t.Fatal(err)
	}
	loader := elfLoader(py.HostPath(py.Exe))
	foreign := strings.Replace(string(exe), loader, loader[:len(loader)-1]+"_", 1)
	path := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(path, []byte(foreign), 0o755); err != nil {
		t.Fatal(err)
	}
	got := explainStart(path, os.ErrNotExist).Error()
	if !strings.Contains(got, path) || !strings.Contains(got, loader[:len(loader)-1]+"_") {
		t.Errorf("got %q, want file and loader named", got)
	}
	denied := &os.PathError{Op: "fork/exec", Path: path, Err: syscall.EACCES}
	if got := explainStart(path, denied).Error(); !strings.Contains(got, "noexec") || strings.Contains(got, "fork") {
		t.Errorf("got %q, want noexec named", got)
	}
	if got := explainStart("/nowhere", os.ErrNotExist).Error(); strings.Contains(got, "loader") {
		t.Errorf("got %q for a file that is missing", got)
	}
}

// TestCompiledForItself: what another interpreter compiles is for nobody else, whatever it says of itself.
func TestCompiledForItself(t *testing.T) {
	cache := t.TempDir()
	guests := Trees{Root: filepath.Join(cache, "guest")}
	seen := map[string]string{}
	for _, from := range []string{"", systemPython(t), venv(t), venv(t)} {
		s := Source{CacheDir: cache, Interpreter: from}
		py, err := s.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		py.Tag, py.Version = "cpython-314", "3.14.6" // as a stranger's may say
		dir, err := guests.Dir(t.Context(), fstest.MapFS{"boot.py": {Data: []byte("1\n")}}, py)
		if err != nil {
			t.Fatal(err)
		}
		pip, err := s.Pip(t.Context(), py)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{dir, pip, py.Own("cache")} {
			if other, taken := seen[folder]; taken {
				t.Errorf("%q and %q have what they compile in one folder, %s", from, other, folder)
			}
			seen[folder] = from
		}
	}
}

// TestInterpreterInAHome: of a program that lies directly in a home, or among other files, its own file is shown, and
// its library.
func TestInterpreterInAHome(t *testing.T) {
	home := realPath(t.TempDir())
	exe := filepath.Join(home, "python3")
	text, err := os.ReadFile(systemPython(t))
	if err := errors.Join(
		err, os.WriteFile(exe, text, 0o755), os.MkdirAll(filepath.Join(home, "lib", "python3.11"), 0o755),
		os.Mkdir(filepath.Join(home, ".ssh"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	about := inspection{Executable: exe, Prefixes: []string{home}, Stdlib: filepath.Join(home, "lib", "python3.11")}
	py := about.python()
	for _, b := range py.Binds {
		if b.Host != exe && b.Host != filepath.Join(home, "lib") {
			t.Errorf("code sees %q", b.Host)
		}
	}
	if err := checkPlaces(exe, about, py); err != nil {
		t.Error(err)
	}
	about.SitePackages = []string{filepath.Join(home, ".ssh")}
	if err := checkPlaces(exe, about, about.python()); err == nil {
		t.Error("any folder beside the program is taken for its own")
	}
	about.SitePackages = []string{"/usr/local/bin"}
	if err := checkPlaces(exe, about, about.python()); err == nil {
		t.Error("any folder of the system is taken for its own")
	}
}

// venv makes a virtual environment as an attacker would: the system's program, beside other files.
func venv(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "venv")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "bin"), 0o755),
		os.Symlink(systemPython(t), filepath.Join(dir, "bin", "python3")),
		os.WriteFile(filepath.Join(dir, "bin", "pyvenv.cfg"), []byte("home = /usr/bin\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCompilingEnds: an interpreter that never has done is not waited for without end.
func TestCompilingEnds(t *testing.T) {
	defer func(before time.Duration) { compileTime = before }(compileTime)
	compileTime = time.Second
	exe := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(exe, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := compileTree(t.Context(), program{exe: exe}, dir, "", func(int, int) {})
	if err == nil || !strings.Contains(err.Error(), "was not done within 1s") || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestInstallationOfAStranger: what a pyvenv.cfg names is no installation for that alone.
func TestInstallationOfAStranger(t *testing.T) {
	dir := t.TempDir()
	local := filepath.Join(dir, "home", ".local")
	exe := filepath.Join(dir, "venv", "bin", "python3")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(local, "bin"), 0o755), os.MkdirAll(filepath.Join(local, "lib", "python3.11"), 0o755),
		os.MkdirAll(filepath.Dir(exe), 0o755), os.WriteFile(exe, []byte("\x7fELF"), 0o755),
		os.WriteFile(filepath.Join(dir, "venv", "pyvenv.cfg"), []byte("home = "+local+"/bin\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(local, "bin", "python3")
	for _, makes := range []func() error{
		func() error { return nil },
		func() error { return os.Symlink("/etc/passwd", program) },
		func() error { return errors.Join(os.Remove(program), os.Symlink(systemPython(t), program)) },
		func() error { return errors.Join(os.Remove(program), os.Symlink("/dev/null", program)) },
	} {
		if err := makes(); err != nil {
			t.Fatal(err)
		}
		for _, place := range installation(exe) {
			if _, within := cutDir(place, local); within {
				t.Errorf("%s is taken for a part of the installation", place)
			}
		}
	}
}

// TestLinksAmongBytecode: who compiles may leave a link beside its bytecode, and has no other mode changed by that.
func TestLinksAmongBytecode(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Symlink(other, filepath.Join(dir, "a.pyc"))); err != nil {
		t.Fatal(err)
	}
	if err := readableByAll(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("the error is %v", err)
	}
	if fi, err := os.Stat(other); err != nil || fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("the other file is %v, %v", fi, err)
	}
}
