package commands

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
