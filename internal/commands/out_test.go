package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// TestFoldersOfOut: code has as many folders made as it may leave files, and no more.
func TestFoldersOfOut(t *testing.T) {
	o, err := openOut(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.root.Close()
	for n := range maxSaved {
		o.folders[fmt.Sprint("made", n)] = true
	}
	file := sandbox.OutFile{Name: "one/more/file", Content: strings.NewReader("")}
	if name, err := o.write(file); !errors.Is(err, errManySaved) {
		t.Errorf("wrote %q, %v", name, err)
	}
	if _, err := o.root.Stat("one"); err == nil {
		t.Error("a folder was made")
	}
	if name, err := o.write(sandbox.OutFile{Name: "file", Content: strings.NewReader("")}); err != nil {
		t.Errorf("wrote %q, %v", name, err)
	}
}

// TestOneName: files of one name are numbered on, without another look at all that are there.
func TestOneName(t *testing.T) {
	o, err := openOut(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.root.Close()
	for _, want := range []string{"_", "_-2", "_-3"} {
		if name, err := o.write(sandbox.OutFile{Name: "\x01", Content: strings.NewReader("")}); name != want || err != nil {
			t.Errorf("wrote %q, %v, want %q", name, err, want)
		}
		if err := o.root.Remove("_"); err != nil && want == "_" { // would be found at the next look
			t.Error(err)
		}
	}
}

// TestLinksBelowOut: a link is not followed, wherever it leads, nor is a file written to where one leads.
func TestLinksBelowOut(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(top, "real", ".git"), 0o755),
		os.Symlink(".git", filepath.Join(top, "real", "charts")),
		os.Symlink(".vscode", filepath.Join(top, "dangling")), os.Symlink("real", filepath.Join(top, "link")),
		os.Symlink(filepath.Join("real", ".git", "commondir"), filepath.Join(top, "file")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	o, err := openOut(top, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.root.Close()
	for name, want := range map[string]string{
		"real/charts/commondir": "", "real/charts/a/b": "", "link/commondir": "", "link/sub/x": "", "dangling/x": "",
		"file": "file-2", "real/x": "real/x", "real/.git/x": "real/_git/x",
	} {
		got, err := o.write(sandbox.OutFile{Name: name, Content: strings.NewReader("")})
		if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "is a link, and") {
			t.Errorf("%s: wrote %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]int{".": 5, "real": 4, "real/.git": 0} { // with what was saved
		if list, err := os.ReadDir(filepath.Join(top, name)); err != nil || len(list) != want {
			t.Errorf("%s has %v, %v; want %d", name, list, err, want)
		}
	}
}

// TestNumbered: a name stays within what a file system takes.
func TestNumbered(t *testing.T) {
	long := strings.Repeat("é", 127) + "x"
	for _, name := range []string{"a.csv", "sub/a", long, "a." + long[:200]} {
		got := numbered(name, 12)
		if len(filepath.Base(got)) > maxElement || !strings.Contains(got, "-12") || filepath.Dir(got) != filepath.Dir(name) {
			t.Errorf("the twelfth %q is %q", name, got)
		}
	}
}
