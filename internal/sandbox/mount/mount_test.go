package mount

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	home := filepath.Join(realTemp(t), "home")
	kept := filepath.Join(home, ".cursor", "mcp.json")
	work := filepath.Join(home, "work")
	must(t, os.MkdirAll(filepath.Join(work, "data"), 0o755))
	must(t, os.MkdirAll(filepath.Join(home, ".aws", "sso"), 0o755))
	must(t, os.MkdirAll(filepath.Dir(kept), 0o755))
	must(t, os.WriteFile(kept, nil, 0o600))
	must(t, os.WriteFile(filepath.Join(work, "a.csv"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(home, ".aws"), filepath.Join(work, "harmless")))
	must(t, os.Symlink(kept, filepath.Join(work, "mcp.csv")))
	r := Rules{Homes: []string{home}, Trusted: []string{home}, Kept: []string{kept, filepath.Join(home, "MCPs"), ""}}
	for _, tt := range []struct {
		path string
		file bool
		want string // of the error; "" is none
	}{
		{"work/data", false, ""},
		{"work", false, ""}, // what its links lead to is not in it
		{"work/a.csv", true, ""},
		{"work/none", false, "no such file"},
		{"work/a.csv", false, "it is no folder"},
		{"work/data", true, "it is a folder"},
		{".", false, "your home is in it"},
		{"..", false, "your home is in it"},
		{".aws/sso", false, "holds credentials"},
		{"work/harmless", false, "is a link: name "},
		{"work/harmless/sso", false, "is a link: name "},
		{".cursor", false, "what decides about servers"},
		{".cursor/mcp.json", true, "what decides about servers"},
		{"work/mcp.csv", true, "is a link: name "},
	} {
		w := Request{Path: filepath.Join(home, tt.path), Name: "x", File: tt.file}
		list, err := r.Choose([]Request{w})
		var refused *RefusedError
		switch {
		case tt.want == "" && (err != nil || len(list) != 1 || list[0].Host != w.Path || list[0].Dir == tt.file):
			t.Errorf("%s: %+v, %v", tt.path, list, err)
		case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
	}
	if _, err := r.Choose(make([]Request, maxMounts+1)); err == nil {
		t.Error("any number of mounts is taken")
	}
}

// TestLinkedHome: where tools keep a home's files in one folder, with links in the home, that folder is what they are.
func TestLinkedHome(t *testing.T) {
	home := filepath.Join(realTemp(t), "home")
	r := Rules{Homes: []string{home}, Trusted: []string{home}}
	for name, write := range map[string]bool{
		".bashrc": true, ".gitconfig": true, ".config/systemd/user/x.service": true, ".local/bin/tool": true,
		".ssh/config": false, ".aws/credentials": false, ".netrc": false,
	} {
		must(t, os.RemoveAll(home))
		dotfiles := filepath.Join(home, "dotfiles")
		must(t, os.MkdirAll(dotfiles, 0o755))
		must(t, os.WriteFile(filepath.Join(dotfiles, "file"), nil, 0o600))
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		must(t, os.Symlink(filepath.Join(dotfiles, "file"), filepath.Join(home, name)))
		for _, w := range []bool{false, true} {
			_, err := r.Choose([]Request{{Path: dotfiles, Name: "x", Write: w}})
			if refused := w || !write; (err != nil) != refused {
				t.Errorf("%s leads there, to be written %v: %v", name, w, err)
			}
		}
	}
}

// TestApart: what code may change decides about nothing else that it is shown, or that is saved.
func TestApart(t *testing.T) {
	dir := realTemp(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.MkdirAll(at("work/sub"), 0o755))
	must(t, os.MkdirAll(at("out"), 0o755))
	must(t, os.WriteFile(at("work/a.csv"), nil, 0o600))
	work, sub := Request{Path: at("work"), Name: "work", Write: true}, Request{Path: at("work/sub"), Name: "sub"}
	read, write := work, sub
	read.Write, write.Write = false, true
	for _, tt := range []struct {
		requests []Request
		saved    string
		want     string // in the error; "" is none
	}{
		{[]Request{work, sub}, "", at("work")},
		{[]Request{sub, work}, "", at("work/sub")},
		{[]Request{work, {Path: at("work/a.csv"), Name: "a.csv", File: true}}, "", at("work/a.csv")},
		{[]Request{work}, at("work/new"), at("work/new")},
		{[]Request{write}, at("work"), at("work/sub")},
		{[]Request{read, write}, at("out"), ""},
		{[]Request{read}, at("work/new"), ""},
	} {
		_, err := Rules{Saved: tt.saved}.Choose(tt.requests)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v beside %q: %v, want %q", tt.requests, tt.saved, err, tt.want)
		}
	}
}

// TestStarted: what programs and servers are started from is not changed.
func TestStarted(t *testing.T) {
	home := realTemp(t)
	for _, name := range []string{".config/systemd/user", ".local/bin", ".claude", "tools/server", "mine", "code/wind/src"} {
		must(t, os.MkdirAll(filepath.Join(home, name), 0o755))
	}
	r := Rules{Homes: []string{home}, Starts: []Start{
		{Path: filepath.Join(home, "tools/server/main.py"), By: `server "weather"`},
		{Path: filepath.Join(home, "code/wind"), By: `server "wind"`, Within: true},
	}}
	for name, want := range map[string]string{
		".config/systemd/user": "in ~/.config programs keep", ".local/bin": "in ~/.local programs keep",
		".claude": "credentials",
		"tools":   `server "weather" is started from it`, "mine": "", "tools/server": "weather",
		"code": `server "wind"`, "code/wind": `server "wind"`, "code/wind/src": `server "wind"`,
	} {
		w := Request{Path: filepath.Join(home, name), Name: "x", Write: true}
		_, err := r.Choose([]Request{w})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		w.Write = false
		if _, err := r.Choose([]Request{w}); (err != nil) != (want == "credentials") {
			t.Errorf("%s, to be read: %v", name, err)
		}
	}
}

// TestOwnOfPrograms: what begins with a dot in a home is programs' own, as are folders that many share.
func TestOwnOfPrograms(t *testing.T) {
	home := realTemp(t)
	must(t, os.MkdirAll(filepath.Join(home, ".whatever", "deep"), 0o755))
	must(t, os.MkdirAll(filepath.Join(home, "work"), 0o755))
	must(t, os.Symlink("/", filepath.Join(home, ".whatever", "z:"))) // leads around all
	r := Rules{Homes: []string{home}, Trusted: []string{home}}
	for path, refused := range map[string]bool{
		filepath.Join(home, ".whatever"): true, filepath.Join(home, ".whatever", "deep"): true,
		filepath.Join(home, "work"): false, "/tmp": true, "/var/tmp": true,
	} {
		if _, err := os.Stat(path); err != nil {
			continue // another system's
		}
		_, err := r.Choose([]Request{{Path: path, Name: "x", Write: true}})
		if (err != nil) != refused || (r.MayWrite(path) != nil) != refused {
			t.Errorf("%s: %v, to save to: %v", path, err, r.MayWrite(path))
		}
	}
}

// TestWrite: more may be looked at than changed.
func TestWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its folders have other names")
	}
	w := Request{Path: "/usr/lib", Name: "lib"}
	if _, err := (Rules{}).Choose([]Request{w}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	w.Write = true
	if _, err := (Rules{}).Choose([]Request{w}); err == nil {
		t.Error("code may change /usr/lib")
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
