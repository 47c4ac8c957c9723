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

// TestCoversAstray: what covers a name in a folder is nowhere else, while another session's code has the folder above
// that name be a link: neither in another mount, of which the host would keep what the engine makes to mount on, nor
// over what the image has.
func TestCoversAstray(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		for _, target := range []string{"/workspace/other", "../../other", "/usr/lib/python3", "/workspace", "/tmp"} {
			dir := t.TempDir()
			data, other := filepath.Join(dir, "data"), filepath.Join(dir, "other")
			for _, name := range []string{filepath.Join(data, "sub", "folder"), filepath.Join(other, "folder")} {
				if err := errors.Join(os.MkdirAll(name, 0o755), os.Chmod(filepath.Dir(name), 0o777)); err != nil {
					t.Fatal(err)
				}
			}
			planted := filepath.Join(data, "sub", "planted")
			if err := errors.Join(os.Chmod(data, 0o777), os.WriteFile(planted, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			r := behind(t, first, `case " $* " in *" run "*) mv "`+data+`/sub" "`+data+`/was" && ln -s `+target+` "`+data+`/sub" ;;
esac
exec "$real" "$@"`)
			sb, err := r.Start(t.Context(), sandbox.Spec{
				Session: t.Name(), Tenant: "tests", Files: script(channelCode + "import time\ntime.sleep(20)\n"), Boot: "boot.py",
				Policy: sandbox.DefaultPolicy(),
				Mounts: []sandbox.Mount{
					{Host: data, Name: "data", Dir: true, Write: true, Covered: []sandbox.Cover{
						{Path: "sub/planted"}, {Path: "sub/folder", Dir: true},
					}},
					{Host: other, Name: "other", Dir: true},
				},
			})
			if err == nil {
				sb.Close()
			}
			if !errors.Is(err, sandbox.ErrReplaced) && !errors.As(err, new(*sandbox.UnavailableError)) {
				t.Errorf("with a link to %s: %v", target, err)
			}
			if _, moved := os.Lstat(filepath.Join(data, "was")); moved != nil {
				t.Fatalf("no link was made: %v", moved)
			}
			if left, err := os.ReadDir(other); len(left) != 1 || err != nil {
				t.Errorf("with a link to %s the engine has made %q in another mount, %v", target, left, err)
			}
			t.Logf("%s: %v", target, err)
		}
	})
}
