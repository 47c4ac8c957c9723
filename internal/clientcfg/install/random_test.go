package install

import (
	"os"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice/splicetest"
)

// TestRandomDocuments installs into documents that nobody would write, twice, and takes codemode out again: not a byte
// differs then.
func TestRandomDocuments(t *testing.T) {
	for family, id := range map[string]string{
		"JSON": "cursor", "JSONC": "gemini", "TOML": "codex", "TOMLArray": "vibe", "YAML": "goose",
	} {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			i := newInstaller(t.TempDir())
			req := Request{Client: client(t, id), Scope: clientcfg.User, Name: DefaultName, Force: true}
			targets, err := i.Targets(req)
			if err != nil {
				t.Fatal(err)
			}
			path := targets[0].Path
			for seed := range uint64(splicetest.Count(25, 250)) {
				was := splicetest.Families[family](seed).Text
				write(t, path, was)
				if r := only(t, i.Install(t.Context(), req), path); r.Action != Installed {
					t.Fatalf("seed %d: %s: %v\n%s", seed, r.Action, r.Err, was)
				}
				installed, info := read(t, path), modified(t, path)
				if r := only(
					t, i.Install(t.Context(), req), path,
				); r.Action != Unchanged || read(t, path) != installed ||
					modified(t, path) != info {
					t.Fatalf("seed %d: the second time: %s: %v\n%s", seed, r.Action, r.Err, was)
				}
				if r := only(t, i.Uninstall(t.Context(), req), path); r.Action != Removed || read(t, path) != was {
					t.Fatalf("seed %d: uninstalled: %s: %v\n%q\nis\n%q", seed, r.Action, r.Err, was, read(t, path))
				}
			}
		})
	}
}

func modified(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().UnixNano()
}
