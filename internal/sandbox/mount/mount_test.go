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
	r := Rules{Home: home, Kept: []string{kept, filepath.Join(home, "MCPs"), ""}}
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
		{"work/harmless", false, "holds credentials"},
		{"work/harmless/sso", false, "holds credentials"},
		{".cursor", false, "what decides about servers"},
		{".cursor/mcp.json", true, "what decides about servers"},
		{"work/mcp.csv", true, "what decides about servers"},
	} {
		w := Wish{Path: filepath.Join(home, tt.path), Name: "x", File: tt.file}
		list, err := r.Choose([]Wish{w})
		var refused *RefusedError
		switch {
		case tt.want == "" && (err != nil || len(list) != 1 || list[0].Host != w.Path || list[0].Dir == tt.file):
			t.Errorf("%s: %+v, %v", tt.path, list, err)
		case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
	}
	if _, err := r.Choose(make([]Wish, maxMounts+1)); err == nil {
		t.Error("any number of mounts is taken")
	}
}

// TestWrite: more may be looked at than changed.
func TestWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its folders have other names")
	}
	w := Wish{Path: "/usr/lib", Name: "lib"}
	if _, err := (Rules{}).Choose([]Wish{w}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	w.Write = true
	if _, err := (Rules{}).Choose([]Wish{w}); err == nil {
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
