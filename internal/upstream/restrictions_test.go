package upstream

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/require"
)

// TestRestrictedEntry holds what an entry may not lead a server's sandbox to: a file of variables that the server writes
// itself, and for a project's entry a folder outside of the project.
func TestRestrictedEntry(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"w", "p/src", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"w/.env": dir + "/other/.env", "p/out": dir + "/other", "l": dir + "/w", "by": "w/.env",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			require.Lacking(t, "symlinks", "%v", err)
		}
	}
	s := &server{
		pool:   &Pool{opts: Options{Lookup: func(string) (string, bool) { return "", false }}},
		config: config.Server{Project: dir + "/p"},
	}
	for file, refused := range map[string]bool{
		"w/.env": true, "l/x": true, "w/not/there": true, "by": true, "other/.env": false, "w.env": false,
	} {
		err := s.unchangeable(filepath.Join(dir, file), []string{dir + "/w"})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "sandbox_write lets it change") {
			t.Errorf("file of variables %s: %v", file, err)
		}
	}
	for folder, refused := range map[string]bool{"p": false, "p/src": false, "p/out": true, "other": true, ".": true} {
		err := s.insideProject(filepath.Join(dir, folder))
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "outside of the project") {
			t.Errorf("folder %s: %v", folder, err)
		}
	}
}

// TestVariablesByLink: a server in a sandbox gets no file of variables through a link that a path of its sandbox would
// not be followed through, and any other does.
func TestVariablesByLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Mkdir(at("private"), 0o700), os.Mkdir(at("w"), 0o700), os.WriteFile(at("private/.env"), []byte("A=1"), 0o600),
		os.Symlink(at("private/.env"), at("w/file")), os.Symlink(at("private"), at("w/folder")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for _, tt := range []struct{ path, trusted, refused string }{
		{"w/file", "", "is a link"},
		{"w/folder/.env", "", "is a link"},
		{"private/.env", "", ""},
		{"w/folder/.env", at("w/folder"), ""},
		{"w/file", at("w"), "is a link"},
	} {
		c := config.Server{EnvFile: at(tt.path)}
		lookup := func(string) (string, bool) { return "", false }
		for _, sandboxed := range []bool{false, true} {
			refused := sandboxed && tt.refused != ""
			if c.Sandbox = nil; sandboxed {
				c.Sandbox = &config.Restrictions{}
			}
			env, err := ownEnvironment(c, lookup, []string{tt.trusted}, nil)
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), tt.refused) || !refused && env["A"] != "1" {
				t.Errorf("%+v, in a sandbox %v: %v, %v", tt, sandboxed, env, err)
			}
		}
	}
	c := config.Server{EnvFile: "private/.env", Sandbox: &config.Restrictions{}}
	if env, err := ownEnvironment(c, func(string) (string, bool) { return "", false }, nil, nil); err == nil {
		t.Errorf("of a path that is not absolute: %v", env)
	}
}

// TestFolderLeadsOut holds that a server that came with a project starts in no folder outside of it that its entry does
// not name.
func TestFolderLeadsOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links are for who may make them")
	}
	project, elsewhere := t.TempDir(), t.TempDir()
	err := errors.Join(
		os.Mkdir(filepath.Join(project, "sub"), 0o700),
		os.Symlink("sub", filepath.Join(project, "within")), os.Symlink(elsewhere, filepath.Join(project, "out")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for dir, starts := range map[string]bool{
		filepath.Join(project, "sub"): true, filepath.Join(project, "within"): true, elsewhere: true,
		filepath.Join(project, "out"): false, filepath.Join(project, "out") + "/.": false,
	} {
		s := fake("stub")
		s.Project, s.Cwd = project, dir
		_, err := newPool(t, nil, s).Tools(t.Context(), "stub")
		if (err == nil) != starts || err != nil && !strings.Contains(err.Error(), "leads out of the project") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
