package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/require"
)

func TestExecutable(t *testing.T) {
	root := t.TempDir()
	real := filepath.Join(root, "lib", "1.2", "codemode")
	link := filepath.Join(root, "bin", "codemode")
	other := filepath.Join(root, "other", "codemode")
	for _, name := range []string{real, other} {
		write(t, name, name)
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "bin", "x"), "")
	if err := os.Symlink(real, link); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for _, tt := range []struct{ path, self, want string }{
		{filepath.Join(root, "bin"), real, link},   // an upgrade changes what the link leads to
		{filepath.Join(root, "other"), real, real}, // another codemode
		{"", real, real},
		{filepath.Join(root, "bin"), "", link},
	} {
		set := map[string]string{"PATH": tt.path, "TMPDIR": "/nowhere"}
		i := &Installer{
			Self: clientcfg.Self{Executable: tt.self},
			Env:  clientcfg.Env{OS: "linux", Lookup: func(n string) (string, bool) { v, ok := set[n]; return v, ok }},
		}
		if got, err := i.Executable(); got != tt.want || err != nil {
			t.Errorf("with PATH %q: %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	if _, err := (&Installer{}).Executable(); err == nil {
		t.Error("nothing is known, and it has a path")
	}
}

func TestExecutableThatWillNotStay(t *testing.T) {
	for path, stays := range map[string]bool{
		"/usr/local/bin/codemode": true, "/opt/homebrew/bin/codemode": true, "/home/a/go/bin/codemode": true,
		"/tmp/x/codemode": false, "/var/cache/go-build123/b001/exe/codemode": false, "/home/a/.npm/_npx/1f/codemode": false,
		"/home/a/.npm/_npx/1f/node_modules/codemode-linux-x64/codemode":  true, // npx gets it again
		"/home/a/.npm/_npx/1f/node_modules/@other/codemode/bin/codemode": false,
		"/opt/homebrew/Cellar/codemode/1.2/bin/codemode":                 false, "/nix/store/abc-codemode/bin/codemode": false, "/x/.mount_codemoAB/codemode": false,
	} {
		i := &Installer{Self: clientcfg.Self{Executable: path}, Env: clientcfg.Env{OS: "linux"}}
		_, err := i.Executable()
		var passing *PassingError
		if stays != (err == nil) || err != nil && !errors.As(err, &passing) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestEntryOfNpx(t *testing.T) {
	for system, want := range map[string]string{
		"linux": "npx -y codemode serve", "windows": "cmd /c npx -y codemode serve",
	} {
		i := &Installer{Env: clientcfg.Env{OS: system}}
		i.Self.Executable = "/home/a/_npx/1f/node_modules/codemode-win32-x64/codemode.exe"
		i.Exe, _ = i.Executable()
		cmd := i.command(Request{}, Target{})
		if got := strings.Join(append([]string{cmd.program}, cmd.args...), " "); got != want {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
		if !clientcfg.StartsCodemode(serverOf(cmd), i.Env, clientcfg.Self{}) {
			t.Errorf("%s: %q is not known as codemode", system, want)
		}
	}
}
