package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/plainfile"
	"codemode/internal/sandbox/python"
)

// maxSteps bounds the links and interpreters that lead to a program.
const maxSteps = 40

// program shows the installation of a program: of every file that a link on the way to it leads through, and of the
// interpreter that its first line names. What a program may change itself is not followed: it could lead anywhere.
func (p *places) program(path string) { p.follow(path, maxSteps) }

func (p *places) follow(path string, steps int) {
	for ; steps > 0 && !p.isChangeable(path); steps-- {
		p.installation(path)
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			// From where the link is, which links may lead to as well.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || steps == 0 || p.isChangeable(path) {
		return
	}
	p.installation(real)
	if next := p.interpreter(real); next != "" && next != path {
		p.follow(next, steps-1)
	}
}

// parts of an installation's folder, of node, Python, a virtual environment, conda or a JDK. Not share: in ~/.local
// that is what programs keep of their user.
var parts = []string{"bin", "lib", "lib64", "libexec", "conf", "ssl", "release", "pyvenv.cfg"}

// installation shows what belongs to a program's file.
func (p *places) installation(path string) {
	if before, _, ok := strings.Cut(path, "/node_modules/"); ok {
		p.show(before + "/node_modules")
		return
	}
	folder := filepath.Dir(path)
	prefix := filepath.Dir(folder)
	if base := filepath.Base(folder); base != "bin" || prefix == p.home || !isPrefix(prefix) {
		p.show(path)
		return
	}
	whole := plainfile.Resolve(prefix)
	for _, part := range parts {
		// A link that leads out of the installation is not followed: it could lead to a key.
		if real, err := filepath.EvalSymlinks(filepath.Join(prefix, part)); err == nil && holds(whole, real) {
			p.show(filepath.Join(prefix, part))
		}
	}
	if home := python.VenvHome(prefix); home != "" {
		p.follow(filepath.Join(home, "python3"), maxSteps/2)
	}
}

// isPrefix tells whether programs are installed in a folder with what they need beside them.
func isPrefix(dir string) bool {
	for _, mark := range []string{
		"pyvenv.cfg", "lib/node_modules", "lib/python3*", "lib/libjvm*", "lib/server/libjvm*",
	} {
		if found, _ := filepath.Glob(filepath.Join(dir, mark)); found != nil { // the patterns are sound
			return true
		}
	}
	return false
}

// interpreter is the program that a script's first line names, as the kernel and env(1) find it.
func (p *places) interpreter(script string) string {
	words := plainfile.Shebang(script)
	if len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	words = slices.DeleteFunc(
		words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") },
	)
	if len(words) == 0 {
		return ""
	}
	for _, dir := range filepath.SplitList(p.env["PATH"]) {
		path := filepath.Join(dir, words[0])
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() &&
			info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
