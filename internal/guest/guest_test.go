package guest

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFiles holds that exactly the Python files of the tree are embedded: nothing compiled, nothing forgotten.
func TestFiles(t *testing.T) {
	embedded := map[string]bool{}
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			embedded[path] = true
			if filepath.Ext(path) != ".py" {
				t.Errorf("embedded: %s", path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"boot.py", "codemode_guest/__init__.py", "mcp/__init__.py", "mcp/_state.py"} {
		if !embedded[name] {
			t.Errorf("not embedded: %s", name)
		}
	}
	err = filepath.WalkDir("python", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".py" &&
			!embedded[strings.TrimPrefix(filepath.ToSlash(path), "python/")] {
			t.Errorf("not embedded: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPythonGuards holds that every module of codemode_guest makes early.builtins its own: see its __init__.py. What is
// executed before any code of the user's needs it not.
func TestPythonGuards(t *testing.T) {
	before := []string{"__init__.py", "early.py", "start.py"}
	modules, err := fs.Glob(Files(), "codemode_guest/*.py")
	if err != nil || len(modules) < 10 {
		t.Fatal(modules, err)
	}
	for _, name := range modules {
		source, err := fs.ReadFile(Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		guarded := bytes.Contains(source, []byte("\nfrom .early import builtins as __builtins__\n"))
		if want := !slices.Contains(before, base); guarded != want {
			t.Errorf("%s: guarded is %t, want %t", name, guarded, want)
		}
	}
}
