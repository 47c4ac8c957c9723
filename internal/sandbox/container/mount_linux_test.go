package container

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codemode/internal/sandbox"
)

// TestReplacedMount: where the path of a mount leads elsewhere by the time the engine takes it, as another session's code
// may have it that can change a folder above, there is no guest.
func TestReplacedMount(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		dir := t.TempDir()
		for _, name := range []string{"clone/data", "private"} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, by := range []string{"a link", "another folder"} {
			instead := map[string]string{"a link": "ln -s ../private data", "another folder": "mkdir data"}[by]
			r := behind(t, first, `case " $* " in *" run "*)
	cd "`+dir+`/clone" && mv data was && `+instead+` && cd / ;;
esac
exec "$real" "$@"`)
			spec := sandbox.Spec{
				Session: t.Name(), Tenant: "tests", Files: script(channelCode + "import time\ntime.sleep(20)\n"), Boot: "boot.py",
				Policy: sandbox.DefaultPolicy(),
				Mounts: []sandbox.Mount{{Host: filepath.Join(dir, "clone", "data"), Name: "data", Dir: true, Write: true}},
			}
			sb, err := r.Start(t.Context(), spec)
			if err == nil {
				sb.Close()
			}
			if _, moved := os.Lstat(filepath.Join(dir, "clone", "was")); moved != nil {
				t.Fatalf("the path was not changed: %v", moved)
			}
			var refused *sandbox.MountError
			if !errors.As(err, &refused) || !errors.Is(err, sandbox.ErrReplaced) || refused.Path != spec.Mounts[0].Host {
				t.Errorf("with %s in its place: %v", by, err)
			}
			if err := errors.Join(
				os.Remove(filepath.Join(dir, "clone", "data")),
				os.Rename(filepath.Join(dir, "clone", "was"), filepath.Join(dir, "clone", "data")),
			); err != nil {
				t.Fatal(err)
			}
		}
	})
}
