package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/require"
)

// largeClaude is a ~/.claude.json of so many MiB, most of which is history.
func largeClaude(size int) string {
	var b strings.Builder
	b.WriteString("{\n  \"numStartups\": 3,\n  \"projects\": {\n")
	for n := 0; b.Len() < size<<20; n++ {
		fmt.Fprintf(
			&b, "    \"/w/%d\": {\"history\": [{\"display\": %q}], \"mcpServers\": {}},\n", n,
			strings.Repeat("said before ", 400),
		)
	}
	b.WriteString("    \"/w/last\": {}\n  },\n  \"mcpServers\": {}\n}\n")
	return b.String()
}

// TestLarge is sample 40: a large file is changed, one beyond all reason is not.
func TestLarge(t *testing.T) {
	root := t.TempDir()
	i := newInstaller(root)
	req := Request{Client: client(t, "claude-code"), Scope: clientcfg.User, Name: DefaultName}
	path := filepath.Join(root, "home", ".claude.json")
	size := 5
	if require.Named("soak") {
		size = 40
	}
	text := largeClaude(size)
	write(t, path, text)
	dry := req
	dry.DryRun = true
	if r := i.Install(t.Context(), dry)[0]; !strings.Contains(r.Diff, "+    \"codemode\"") || len(r.Diff) > 2000 {
		t.Errorf("%v, a difference of %d bytes", r.Err, len(r.Diff))
	}
	if r := i.Install(t.Context(), req)[0]; r.Action != Installed {
		t.Fatalf("%v", r.Err)
	}
	if now := read(t, path); len(now) < len(text) || now[:len(text)-20] != text[:len(text)-20] {
		t.Errorf("more than the end has changed, %d bytes of %d", len(now), len(text))
	}
	i.Uninstall(t.Context(), req)
	if read(t, path) != text {
		t.Error("it is not what it was")
	}
	write(t, path, strings.Repeat(" ", 65<<20)+"{}")
	if r := i.Install(t.Context(), req)[0]; r.Action != Refused || !strings.Contains(r.Err.Error(), "64 MiB") {
		t.Errorf("%+v", r.Err)
	}
}

// BenchmarkPlanLarge is the plan for 40 MiB, from reading to the new text; the bound is 0.5 s.
func BenchmarkPlanLarge(b *testing.B) {
	root := b.TempDir()
	i := newInstaller(root)
	var req Request
	for _, c := range clientcfg.Clients() {
		if c.ID == "claude-code" {
			req = Request{Client: c, Scope: clientcfg.User, Name: DefaultName}
		}
	}
	text := []byte(largeClaude(40))
	t := Target{
		Client: &req.Client, Scope: clientcfg.User, Detected: true, format: formatOf(&req.Client, ".claude.json"),
	}
	for b.Loop() {
		if _, err := i.plan(req, t, file{path: "/.claude.json", data: text}, &ledger{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
