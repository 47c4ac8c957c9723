package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg"
)

// TestProjectLinks holds that no link of a project is followed, to whatever it leads.
func TestProjectLinks(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, project, victim string){
		"the file": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "file"), filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the file, within the project": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, "package.json"), `{}`)
			link(t, "../package.json", filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the file, to nothing": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "new"), filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the folder": func(t *testing.T, project, victim string) {
			link(t, victim, filepath.Join(project, ".cursor"))
		},
		"the folder, within the project": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, "sub", "file"), ``)
			link(t, "sub", filepath.Join(project, ".cursor"))
		},
		"the folder, to nothing": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "new"), filepath.Join(project, ".cursor"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			i, req, project, victim := cursorInProject(t)
			plant(t, project, victim)
			before := tree(t, filepath.Dir(project))
			r := i.Install(t.Context(), req)[0]
			var found *LinkError
			if r.Action != Refused || !errors.As(r.Err, &found) {
				t.Errorf("%+v", r)
			}
			if after := tree(t, filepath.Dir(project)); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestProjectLinksMeanwhile plants a link between the plan and the write: the folder that was opened is the one that is
// written.
func TestProjectLinksMeanwhile(t *testing.T) {
	for name, text := range map[string]string{"a file that is there": `{}`, "a new file": ""} {
		for step, at := range map[string]func(*hooks) *func(){
			"planned":  func(h *hooks) *func() { return &h.planned },
			"compared": func(h *hooks) *func() { return &h.compared },
		} {
			t.Run(name+", "+step, func(t *testing.T) {
				i, req, project, victim := cursorInProject(t)
				folder := filepath.Join(project, ".cursor")
				if err := os.Mkdir(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				if text != "" {
					write(t, filepath.Join(folder, "mcp.json"), text)
					write(t, filepath.Join(victim, "mcp.json"), text)
				}
				before := tree(t, victim)
				hook := at(&i.hooks)
				*hook = func() {
					*hook = nil
					if err := os.Rename(folder, folder+".was"); err != nil {
						t.Error(err)
					}
					link(t, victim, folder)
				}
				i.Install(t.Context(), req)
				if after := tree(t, victim); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

// TestProjectFileOfTwoNames replaces a file that has another name elsewhere (a hard link), and leaves that one as it
// is.
func TestProjectFileOfTwoNames(t *testing.T) {
	i, req, project, victim := cursorInProject(t)
	path := filepath.Join(project, ".cursor", "mcp.json")
	write(t, filepath.Join(victim, "other"), `{}`)
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(victim, "other"), path); err != nil {
		t.Fatal(err)
	}
	if r := only(t, i.Install(t.Context(), req), path); r.Action != Installed || r.Path != path {
		t.Errorf("%+v", r)
	}
	if text := read(t, filepath.Join(victim, "other")); text != `{}` || !strings.Contains(read(t, path), `"codemode"`) {
		t.Errorf("%s", text)
	}
	if r := only(t, i.Uninstall(t.Context(), req), path); r.Action != Removed || read(t, path) != `{}` {
		t.Errorf("%+v", r)
	}
}

// cursorInProject is a project beside a folder that nothing must be written to.
func cursorInProject(t *testing.T) (i *Installer, req Request, project, victim string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	i = newInstaller(root)
	project, victim = filepath.Join(root, "world", "project"), filepath.Join(root, "world", "victim")
	write(t, filepath.Join(project, ".git", "HEAD"), "")
	write(t, filepath.Join(victim, "file"), `{}`)
	i.Env.WorkDir = project
	return i, Request{Client: client(t, "cursor"), Scope: clientcfg.Project, Name: DefaultName}, project, victim
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// tree is all that is below a folder.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		case d.Type().IsRegular():
			text = read(t, path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", path, d.Type(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
