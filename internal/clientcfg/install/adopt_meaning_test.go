package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg"
)

// TestApprovalTakenBack: a project's entry stays whose approval is taken back while its user is asked.
func TestApprovalTakenBack(t *testing.T) {
	root := t.TempDir()
	i := newInstaller(root)
	i.Env.WorkDir = filepath.Join(root, "p")
	path := filepath.Join(i.Env.WorkDir, ".mcp.json")
	write(t, filepath.Join(i.Env.WorkDir, ".git", "HEAD"), "")
	const text = `{"mcpServers": {"x": {"command": "true"}}}`
	write(t, path, text)
	approved := true
	i.Adopt = &Adopter{
		Dir: filepath.Join(i.Env.Home, "MCPs"), Own: func() []clientcfg.Entry { return nil },
		Approved: func(clientcfg.Entry) bool { return approved },
		Choose:   func(clientcfg.Entry) bool { approved = false; return true },
	}
	results := i.Install(t.Context(), Request{
		Client: client(t, "claude-code"), Scope: clientcfg.Project, Name: DefaultName, Force: true,
	})
	if len(results) != 1 || len(results[0].Moved) > 0 || len(results[0].Stayed) != 1 || exists(i.Adopt.Dir) {
		t.Errorf("%+v", results)
	}
}

// TestAdoptedAgain: an entry that is there anew, and is another than that of its name which was adopted, stays and is
// what uninstall leaves.
func TestAdoptedAgain(t *testing.T) {
	entry := func(args string) string {
		return `{"mcpServers": {"a": {"command": "a", "args": [` + args + `]}}}`
	}
	i, req, path := cursorAt(t, t.TempDir(), entry(`"old"`))
	dir := filepath.Join(i.Env.Home, "MCPs")
	i.Adopt = &Adopter{Dir: dir, Own: func() []clientcfg.Entry { return ownIn(i.Env, dir) }}
	if r := only(t, i.Install(t.Context(), req), path); len(r.Moved) != 1 {
		t.Fatalf("%+v", r)
	}
	for stays, args := range []string{`"old"`, `"new"`} {
		again := `"mcpServers": {"a": {"command": "a", "args": [` + args + `]}, `
		write(t, path, strings.Replace(read(t, path), `"mcpServers": {`, again, 1))
		if r := only(t, i.Install(t.Context(), req), path); len(r.Stayed) != stays || r.Err != nil {
			t.Errorf("%s: %+v", args, r)
		}
		if stays == 0 && strings.Contains(read(t, path), "old") {
			t.Errorf("it is still there: %s", read(t, path))
		}
	}
	i.Uninstall(t.Context(), req)
	if got := read(t, path); !strings.Contains(got, "new") || strings.Contains(got, "old") {
		t.Errorf("its client has %s", got)
	}
}

// TestFileIsAnother: servers do not go back to a file that their client does not read any more.
func TestFileIsAnother(t *testing.T) {
	const old = `{"mcpServers": {"a": {"command": "a"}}}`
	i, req, path := cursorAt(t, t.TempDir(), old)
	behind, dir := filepath.Join(i.Env.Home, "dot.json"), filepath.Join(i.Env.Home, "MCPs")
	relink := func() {
		if err := errors.Join(os.Rename(path, behind), os.Symlink(behind, path)); err != nil {
			t.Skip(err)
		}
	}
	relink()
	i.Adopt = &Adopter{Dir: dir, Own: func() []clientcfg.Entry { return ownIn(i.Env, dir) }}
	if r := only(t, i.Install(t.Context(), req), path); len(r.Moved) != 1 {
		t.Fatalf("%+v", r)
	}
	now := read(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, now) // as by a client that saves by renaming
	i.Uninstall(t.Context(), req)
	if got := read(t, path) + read(t, behind); strings.Contains(got, `"a"`) || strings.Contains(got, "codemode") {
		t.Errorf("the two files have %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("codemode has %q", left)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(behind, path)); err != nil {
		t.Fatal(err)
	}
	i.Uninstall(t.Context(), req)
	if got := read(t, path); !strings.Contains(got, `"a"`) || exists(dir) {
		t.Errorf("it has %s", got)
	}
}

// TestRuleWhileAsked: a rule that its user writes while they are asked holds.
func TestRuleWhileAsked(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), `{"mcpServers": {"a": {"command": "a"}}}`)
	rule := ""
	i.Adopt = &Adopter{
		Dir: filepath.Join(i.Env.Home, "MCPs"), Own: func() []clientcfg.Entry { return nil },
		Loosens: func(Change) string { return rule },
		Choose:  func(clientcfg.Entry) bool { rule = "policy.deny"; return true },
	}
	r := only(t, i.Install(t.Context(), req), path)
	if len(r.Moved) > 0 || len(r.Stayed) != 1 || r.Stayed[0].Reason != rule || exists(i.Adopt.Dir) {
		t.Errorf("%+v", r)
	}
}

// TestRuleWhileAnotherIsAsked: what is so of a server by then holds that had been agreed to before, and nothing moves.
func TestRuleWhileAnotherIsAsked(t *testing.T) {
	const old = `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`
	i, req, path := cursorAt(t, t.TempDir(), old)
	rule := ""
	i.Adopt = &Adopter{
		Dir: filepath.Join(i.Env.Home, "MCPs"), Own: func() []clientcfg.Entry { return nil },
		Loosens: func(Change) string { return rule },
		Choose: func(e clientcfg.Entry) bool {
			if e.Written == "b" {
				rule = "policy.deny"
			}
			return true
		},
	}
	r := only(t, i.Install(t.Context(), req), path)
	if r.Done() || !strings.Contains(r.Err.Error(), "changed meanwhile, so none was moved: policy.deny") ||
		read(t, path) != old || exists(i.Adopt.Dir) {
		t.Errorf("%+v, %s", r, read(t, path))
	}
}

// TestGivenBackAfterReset: uninstall gives back what was adopted also where its client's file has lost codemode's
// entry, and got another since.
func TestGivenBackAfterReset(t *testing.T) {
	for _, adopts := range []bool{false, true} {
		i, req, path := cursorAt(t, t.TempDir(), `{"mcpServers": {"a": {
			"command": "a", "env": {"API_TOKEN": "tok-0123456789"}}}}`)
		dir, kept := filepath.Join(i.Env.Home, "MCPs"), map[string]string{}
		i.Vault = vaultOf(kept)
		i.Adopt = &Adopter{Dir: dir, Own: func() []clientcfg.Entry { return ownIn(i.Env, dir) }}
		if r := only(t, i.Install(t.Context(), req), path); len(r.Moved) != 1 || len(kept) != 1 {
			t.Fatalf("%+v, %q", r, kept)
		}
		write(t, path, `{"mcpServers": {"z": {"command": "z"}}}`)
		if !adopts {
			i.Adopt = nil
		}
		for range 2 {
			i.Install(t.Context(), req)
		}
		i.Uninstall(t.Context(), req)
		got := read(t, path)
		if !strings.Contains(got, "tok-0123456789") || !strings.Contains(got, `"z"`) || strings.Contains(got, "codemode") ||
			exists(dir) || len(kept) > 0 {
			t.Errorf("adopting anew %v: %q is kept, and its client has %s", adopts, kept, got)
		}
	}
}
