package commands

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/plainfile"
	"codemode/internal/sandbox/mount"
)

// TestHostStarts: whatever servers there are, something is started from codemode's own program, by whichever path it
// was started, and from the folders of PATH.
func TestHostStarts(t *testing.T) {
	h := newHousehold(t)
	for name, text := range map[string]string{
		"bin/codemode": "", "links/codemode": "#!/usr/bin/env other\n", "bin/other": "#!" + h.dir + "/third -e\n", "third": "",
	} {
		h.write(name, text, 0o700)
	}
	s := h.settings()
	s.env.Args[0] = filepath.Join(h.dir, "links", "codemode")
	list := s.hostStarts()
	for path, by := range map[string]string{
		"bin/codemode": "codemode", "links/codemode": "codemode", "bin/other": "codemode", "bin": "what your PATH finds",
	} {
		want := mount.Start{Path: filepath.Join(h.dir, path), By: by, Within: path == "bin"}
		if !slices.Contains(list, want) {
			t.Errorf("%+v is not among %+v", want, list)
		}
	}
}

// TestVariableStarts: what variables of codemode's own name for other programs is started from: a folder with all that
// is below, a file, and a program with all around it. What may hold much else is not.
func TestVariableStarts(t *testing.T) {
	h := newHousehold(t)
	for _, name := range []string{
		"docker/x", "kube/config", "kube/below/x", "editor/bin/edit", "editor/lib/x", "data/x",
		"home/.rc.py", "home/work/x",
	} {
		h.write(name, "", 0o700)
	}
	at := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(h.dir, name)
	}
	err := errors.Join(os.Chmod(at("kube/config"), 0o600), os.Symlink(at("editor/bin/edit"), at("bin/edit")))
	if err != nil {
		t.Fatal(err)
	}
	ask, err := os.CreateTemp("/tmp", "*.sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(ask.Name()) })
	_ = ask.Close()
	for name, value := range map[string]string{
		"DOCKER_CONFIG": at("docker"), "KUBECONFIG": at("none") + string(filepath.ListSeparator) + at("kube/config"),
		"EDITOR": "edit --wait", "npm_config_cache": at("cache"), "GOPATH": at("data"), "ENV": "data",
		"GIT_SSH_COMMAND": "'" + at("my ssh") + "' -v", "GIT_ASKPASS": ask.Name(),
		"PYTHONSTARTUP": at("home/.rc.py"),
	} {
		h.vars[name] = value
	}
	h.cwd = h.dir
	list := h.settings().hostStarts()
	for folder, want := range map[string]string{
		"docker": "DOCKER_CONFIG", "docker/below": "DOCKER_CONFIG", "kube": "KUBECONFIG", "kube/below": "",
		"editor/lib": "EDITOR", "cache": "npm_config_cache", "data": "", "my ssh": "GIT_SSH_COMMAND",
		ask.Name(): "GIT_ASKPASS", "/tmp/below": "", "home/work": "",
	} {
		if want != "" {
			want = "what your " + want + " names"
		}
		if s, _ := mount.StartedFrom(at(folder), list); s.By != want {
			t.Errorf("%s: by %q, want %q", folder, s.By, want)
		}
	}
}

// TestTrusted: a link is followed that led to the working directory when codemode was started, and none that has come
// into the way since.
func TestTrusted(t *testing.T) {
	h := newHousehold(t)
	h.write("work/sub/file", "", 0o600)
	h.write("other/file", "", 0o600)
	work, link := filepath.Join(h.dir, "work"), filepath.Join(h.dir, "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	follow := func(s *tenancy) (string, error) {
		return plainfile.Follow(filepath.Join(s.env.Dir, "sub"), s.trusted())
	}
	h.cwd = link
	if real, err := follow(h.settings()); real != filepath.Join(work, "sub") {
		t.Errorf("by a link that was there it is %q, %v", real, err)
	}
	h.cwd = work
	s := h.settings()
	if err := errors.Join(os.Rename(work, work+".old"), os.Symlink("other", work)); err != nil {
		t.Fatal(err)
	}
	if real, err := follow(s); err == nil {
		t.Errorf("by a link that has come since it is %q", real)
	}
}

func TestFromHome(t *testing.T) {
	for path, want := range map[string]string{
		"~/a": "/h/a", "$HOME/a": "/h/a", "${HOME}/a": "/h/a", "file:///a/b": "/a/b", "file:/a": "/a", "file:a": "a",
		"/a": "/a", "//a/b": "//a/b", "a~/b": "a~/b",
	} {
		if got := filepath.ToSlash(fromHome(path, "/h")); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestCredentials: what variables name of credentials is given to no code, be it to be read, nor what it lies in.
func TestCredentials(t *testing.T) {
	h := newHousehold(t)
	for _, name := range []string{"work/kube/config", "work/kube/data/x", "work/other/x"} {
		h.write(name, "", 0o600)
	}
	h.vars["KUBECONFIG"] = filepath.Join(h.dir, "none") + string(filepath.ListSeparator) + "kube/config"
	h.vars["PIP_CONFIG_FILE"] = os.DevNull
	h.cwd = filepath.Join(h.dir, "work")
	rules := h.settings().mountRules()
	for folder, refused := range map[string]bool{"": true, "kube": true, "kube/data": false, "other": false} {
		_, err := rules.Choose([]mount.Request{{Path: filepath.Join(h.cwd, folder), Name: "x"}})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "kube/config\" holds credentials") {
			t.Errorf("%q: %v", folder, err)
		}
	}
}

// TestEveryHome: no server in a sandbox sees the home of who has started codemode whole, nor of whom that was for.
func TestEveryHome(t *testing.T) {
	current, err := user.Current()
	other, lookErr := user.Lookup("daemon")
	if err != nil || lookErr != nil || !filepath.IsAbs(other.HomeDir) {
		t.Skip("no users that are known")
	}
	home := t.TempDir()
	for name, value := range map[string]string{
		"SUDO_USER": other.Username, "DOAS_USER": other.Username, "PKEXEC_UID": other.Uid,
	} {
		of := &tenancy{env: Env{Lookup: func(variable string) (string, bool) {
			v, ok := map[string]string{"HOME": home, "USERPROFILE": home, name: value}[variable]
			return v, ok
		}}}
		got := of.unseenHomes()
		for _, want := range []string{home, current.HomeDir, other.HomeDir} {
			if filepath.IsAbs(want) && !slices.Contains(got, filepath.Clean(want)) {
				t.Errorf("with %s=%s the homes are %q, without %q", name, value, got, want)
			}
		}
	}
}
