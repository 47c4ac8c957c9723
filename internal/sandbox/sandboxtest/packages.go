package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codemode/internal/sandbox"
)

// packages holds that a guest imports what was added for its ABI and cannot change it, and that none starts with what
// was added for another.
func packages(t *testing.T, k kit) {
	if k.elsewhere() {
		refusesFolders(t, k)
		return
	}
	root := t.TempDir()
	must(t, errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)))
	must(t, os.WriteFile(filepath.Join(root, "kit.py"), []byte("answer = 42\n"), 0o644))
	spec := sandbox.Spec{
		Session: t.Name(), Files: scripts(), Boot: "obey.py", Policy: k.policy,
		Packages: sandbox.Packages{Host: root, ABI: "cpython-20"},
	}
	sb, err := k.rt.Start(t.Context(), spec)
	var refused *sandbox.PackagesError
	if !errors.As(err, &refused) || refused.Want != "cpython-20" || len(refused.Hint()) == 0 {
		if err == nil {
			must(t, sb.Close())
		}
		t.Fatalf("packages of another ABI: %v", err)
	}
	added := sandbox.Packages{Host: root, ABI: refused.Has}
	probe := k.start(t, "obey.py", command("environment"), func(s *sandbox.Spec) { s.Packages = added })
	if len(probe.SitePackages()) == 0 {
		t.Fatal("the guest is told of no packages")
	}
	imports(t, k, probe.SitePackages()[0], added)
	among := sandbox.Packages{Layers: filepath.Dir(root)}
	probe = k.start(t, "obey.py", command("environment"), func(s *sandbox.Spec) { s.Packages = among })
	if sees := probe.Layers(); sees != "" { // what is in it, whenever it came
		imports(t, k, filepath.Join(sees, filepath.Base(root)), among)
	}
	if text, err := os.ReadFile(filepath.Join(root, "kit.py")); err != nil || string(text) != "answer = 42\n" {
		t.Errorf("the package is %q, %v", text, err)
	}
}

// imports holds that a guest with packages imports what is at a path of its, and cannot change it.
func imports(t *testing.T, k kit, sees string, added sandbox.Packages) {
	t.Helper()
	var got struct {
		Answer int
		Worked []string
	}
	answer(t, k.start(t, "obey.py", command("packages", sees), func(s *sandbox.Spec) { s.Packages = added }), &got)
	if got.Answer != 42 {
		t.Errorf("the guest imported %d", got.Answer)
	}
	if k.policy.Isolation != sandbox.IsolationReduced && len(got.Worked) > 0 {
		t.Errorf("the guest could %q", got.Worked)
	}
}
