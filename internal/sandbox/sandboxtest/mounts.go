package sandboxtest

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/hint"
	"codemode/internal/sandbox"
)

// mounts holds that a guest sees the files and folders it is given, and that it changes nothing outside of those it may
// change: whatever lies in them.
func mounts(t *testing.T, k kit) {
	if k.elsewhere() {
		refusesFolders(t, k)
		return
	}
	root := t.TempDir()
	must(t, errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755))) // for a guest without namespaces
	data, work, table := filepath.Join(root, "data"), filepath.Join(root, "work"), filepath.Join(root, "table.csv")
	for _, dir := range []string{data, work} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, os.Chmod(work, 0o777)) // a container's user is somebody else
	long := strings.Repeat("\xff\n", 127)
	for name, text := range map[string]string{
		table: "a,b\n1,2\n", filepath.Join(data, "text"): "text", filepath.Join(data, long): "",
		filepath.Join(root, "secret"): "secret", filepath.Join(data, "program"): "#!/bin/sh\n",
	} {
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	must(t, os.Chmod(filepath.Join(data, "program"), 0o755))
	must(t, os.Symlink("../secret", filepath.Join(data, "up")))
	must(t, os.Symlink(filepath.Join(root, "secret"), filepath.Join(data, "absolute")))
	special := append(makeSpecial(t, data), mountBelow(t, data)...)
	var got struct {
		Text          string
		Names, Worked []string
	}
	answer(t, k.start(t, "obey.py", command("mounts"), func(s *sandbox.Spec) {
		s.Mounts = []sandbox.Mount{
			{Host: data, Name: "data", Dir: true},
			{Host: work, Name: "work", Dir: true, Write: true},
			{Host: table, Name: "table.csv"},
		}
	}), &got)
	if k.rt.Name() == "docker" { // which cannot mount so that nothing is executed
		got.Worked = slices.DeleteFunc(got.Worked, func(s string) bool { return s == "execute" })
	}
	if len(got.Worked) > 0 {
		t.Errorf("the guest could %s", strings.Join(got.Worked, ", "))
	}
	want := append(special, "absolute", "program", "text", "up", long)
	slices.Sort(want)
	for i, name := range want {
		want[i] = hex.EncodeToString([]byte(name))
	}
	if got.Text != "a,b\n1,2\n" || !slices.Equal(got.Names, want) {
		t.Errorf("the guest read %q and saw %q, want %q", got.Text, got.Names, want)
	}
	if made, err := os.ReadFile(filepath.Join(work, "made")); err != nil || string(made) != "text" {
		t.Errorf("what the guest wrote to its folder is %q, %v", made, err)
	}
}

// elsewhere tells of a runtime whose guests are on machines that have nothing of this one's.
func (k kit) elsewhere() bool { return k.rt.Name() == "kubernetes" }

// refusesFolders: a guest that is elsewhere is refused a folder of this machine, and told what to do.
func refusesFolders(t *testing.T, k kit) {
	root := t.TempDir()
	for _, spec := range []sandbox.Spec{
		{Mounts: []sandbox.Mount{{Host: root, Name: "data", Dir: true}}},
		{Packages: sandbox.Packages{Host: root, ABI: "cpython-314"}},
	} {
		spec.Session, spec.Files, spec.Boot, spec.Policy = t.Name(), scripts(), "echo.py", k.policy
		sb, err := k.rt.Start(t.Context(), spec)
		if err == nil {
			must(t, sb.Close())
		}
		if err == nil || !strings.Contains(err.Error(), root) || len(hint.Of(err)) == 0 {
			t.Errorf("a folder of this machine: %v", err)
		}
	}
}

// mountCovered: what a folder has and is covered cannot be read there; what is not there need not be covered, and what
// has become something else is not.
func mountCovered(t *testing.T, k kit) {
	if k.policy.Isolation == sandbox.IsolationReduced {
		t.Skip("there are no mounts to cover it by")
	}
	if k.elsewhere() {
		t.Skip("there are no mounts")
	}
	root := t.TempDir()
	must(t, errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)))
	must(t, os.MkdirAll(filepath.Join(root, "sub", "built, it"), 0o755))
	for _, name := range []string{".env", "text", "sub/key", "sub/built, it/in"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("secret"), 0o644))
	}
	start := func() (got struct{ Read []string }) {
		answer(t, k.start(t, "obey.py", command("covered"), func(s *sandbox.Spec) {
			s.Mounts = []sandbox.Mount{{Host: root, Name: "data", Dir: true, Covered: []sandbox.Cover{
				{Path: ".env"}, {Path: "sub/key"}, {Path: "sub/built, it", Dir: true}, {Path: "none/at/all"},
			}}}
		}), &got)
		return got
	}
	if got := start(); !slices.Equal(got.Read, []string{"text"}) {
		t.Errorf("the guest read %q", got.Read)
	}
	if text, err := os.ReadFile(filepath.Join(root, ".env")); err != nil || string(text) != "secret" {
		t.Errorf("the user's file is %q, %v", text, err)
	}
	must(t, os.Remove(filepath.Join(root, ".env")))
	must(t, os.RemoveAll(filepath.Join(root, "sub")))
	must(t, os.Symlink(".", filepath.Join(root, "sub")))
	if got := start(); !slices.Equal(got.Read, []string{"text"}) {
		t.Errorf("without what was to be covered, the guest read %q", got.Read)
	}
	if _, err := os.Lstat(filepath.Join(root, ".env")); err == nil {
		t.Error("a file was made to be covered")
	}
}

// mountGone: what is to be mounted may be gone by then.
func mountGone(t *testing.T, k kit) {
	gone := filepath.Join(t.TempDir(), "gone")
	sb, err := k.rt.Start(t.Context(), sandbox.Spec{
		Session: t.Name(), Files: scripts(), Boot: "echo.py", Policy: k.policy,
		Mounts: []sandbox.Mount{{Host: gone, Name: "gone", Dir: true}},
	})
	if err == nil {
		sb.Close()
	}
	var bad *sandbox.MountError
	if !errors.As(err, &bad) || bad.Path != gone || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a guest with a folder that is gone: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
