//go:build unix

package guest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// kept compiles a guest's tree, has it write what a start imports into one file as a sandbox's cache does, and returns
// that file.
func kept(t testing.TB, python, dir string) string {
	t.Helper()
	const keep = `import sys; sys.path.insert(0, sys.argv[1]); from codemode_guest import start; start.keep(sys.argv[1])`
	for _, args := range [][]string{
		{"-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", dir}, {"-I", "-S", "-B", "-c", keep, dir},
	} {
		if out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "__pycache__", "start.*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// TestStartFromOneFile has no file but boot.py and the one: whatever a start imports comes from there.
func TestStartFromOneFile(t *testing.T) {
	for _, python := range interpreters(t) {
		boot := unpack(t)
		dir := filepath.Dir(boot)
		file := kept(t, python, dir)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), dir) {
			t.Errorf("%s shows the folder that it was written in, %s", file, dir)
		}
		if err := os.RemoveAll(filepath.Join(dir, "codemode_guest")); err != nil {
			t.Fatal(err)
		}
		p := startPeer(t, python, boot, nil, false)
		if said := p.run(1, "print(1)", ""); said != "stdout \"1\\n\"\nok\n" {
			t.Errorf("%s: guest said %q", python, said)
		}
		p.close()
	}
}

// look writes all that tells how a module of the guest's came to be there into the file that out names.
const look = `
import contextlib, importlib, inspect, sys
def tell():
    for name, module in list(sys.modules.items()):
        if name.startswith("codemode_guest"):
            loader, members = module.__loader__, vars(module).items()
            print(name, module, type(loader), vars(loader), loader is module.__spec__.loader)
            print({key: value for key, value in members if isinstance(value, (str, list)) and key[:2] == "__"})
            print(sorted(vars(module)), type(vars(module)["__builtins__"]))
            spec = {key: value for key, value in vars(module.__spec__).items() if key != "_initializing"}  # while it is
            print(spec, module.__spec__.cached, module.__spec__.parent, module.__spec__.has_location)
            codes = [value.__code__ for value in vars(module).values() if inspect.isfunction(value)]
            print(*((code.co_filename, code.co_firstlineno, code.co_name) for code in codes), inspect.getsource(module))
    print([type(finder) for finder in sys.meta_path], sys.path)
    import codemode_guest.frames as frames
    print(importlib.reload(frames) is frames, frames.is_ours(frames.__file__))
    help(frames)
with contextlib.redirect_stdout(open(out, "w")):
    tell()
`

// address is where an object lies.
var address = regexp.MustCompile(`0x[0-9a-f]+`)

// TestStartLooksTheSame compares the guest's modules of a start with the file with those of one without.
func TestStartLooksTheSame(t *testing.T) {
	for _, python := range interpreters(t) {
		boot := unpack(t)
		file := kept(t, python, filepath.Dir(boot))
		out := filepath.Join(t.TempDir(), "out")
		var looks [2][]string
		for i := range looks {
			p := startPeer(t, python, boot, nil, false)
			if said := p.run(1, fmt.Sprintf("out = %q%s", out, look), ""); !strings.HasPrefix(said, "ok\n") {
				t.Fatalf("%s: guest said %q", python, said)
			}
			p.close()
			text, err := os.ReadFile(out)
			if err := cmp.Or(err, os.RemoveAll(file)); err != nil {
				t.Fatal(err)
			}
			looks[i] = strings.Split(address.ReplaceAllString(string(text), "0x"), "\n")
		}
		if len(looks[0]) < 1000 {
			t.Errorf("%s: %d lines are not all that there is to see", python, len(looks[0]))
		}
		for i := range min(len(looks[0]), len(looks[1])) {
			if looks[0][i] != looks[1][i] {
				t.Fatalf("%s: with one file:\n%s\nwithout:\n%s", python, looks[0][i], looks[1][i])
			}
		}
		if len(looks[0]) != len(looks[1]) {
			t.Errorf("%s: %d lines with one file, %d without", python, len(looks[0]), len(looks[1]))
		}
	}
}

// TestStartFromDamagedFile has files that are cut off, or something else: modules are imported one by one.
func TestStartFromDamagedFile(t *testing.T) {
	python, boot := interpreters(t)[0], unpack(t)
	file := kept(t, python, filepath.Dir(boot))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "a number": "i\x01\x00\x00\x00", "no marshal": "\x7fELF",
		"one part": ")\x01N",
	}
	for name, text := range damaged {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := startPeer(t, python, boot, nil, false)
		if said := p.run(1, "print(1)", ""); said != "stdout \"1\\n\"\nok\n" {
			t.Errorf("%s: guest said %q", name, said)
		}
		p.close()
	}
}
