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
func (p *places) program(path string) {
	p.steps = maxSteps
	p.follow(path)
}

func (p *places) follow(path string) {
	if p.leadsOut(path, path) {
		return
	}
	for ; p.steps > 0 && !p.isChangeable(path); p.steps-- {
		target, isLink := linkedFrom(path)
		if isLink && p.leadsOut(path, target) {
			return
		}
		p.installation(path)
		if !isLink {
			break
		}
		path = target
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || p.steps <= 0 || p.isChangeable(path) {
		return
	}
	p.installation(real)
	if next := p.interpreter(real); next != "" && next != path && !p.leadsOut(real, next) {
		p.steps--
		p.follow(next)
	}
}

// linkedFrom is where a link leads, by one step.
func linkedFrom(path string) (target string, isLink bool) {
	target, err := os.Readlink(path)
	if err != nil || filepath.IsAbs(target) {
		return target, err == nil
	}
	// From where the link is, which links may lead to as well.
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, target), err == nil
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
	if home := python.VenvHome(prefix); home != "" && !p.leadsOut(path, filepath.Join(home, "python3")) {
		p.steps--
		p.follow(filepath.Join(home, "python3"))
	}
}

// leadsOut tells whether a file of a stranger's project leads out of it, by one step, to what is neither the system's
// nor an interpreter's installation: to another project's environment, say, which would be shown. What it leads to may
// be the stranger's, too.
func (p *places) leadsOut(from, to string) bool {
	folder := plainfile.Resolve(filepath.Dir(to))
	prefix := filepath.Dir(folder)
	p.followed = p.followed || p.isStrangers(from)
	if !p.followed || holds(p.project, folder) ||
		slices.ContainsFunc(programSystem, func(dir string) bool { return holds(dir, folder) }) {
		return false
	}
	program, err := os.Stat(to)
	if err != nil || !program.Mode().IsRegular() || program.Mode()&0o111 == 0 {
		return true
	}
	_, err = os.Lstat(filepath.Join(prefix, "pyvenv.cfg"))
	mixed := func(home string) bool { return prefix == filepath.Join(home, ".local") } // with programs' data
	return !slices.Contains(interpreters, strings.TrimRight(filepath.Base(to), ".0123456789")) || err == nil ||
		slices.ContainsFunc(p.homes, mixed) || mixed(p.home) || strings.Contains(folder, "/node_modules/")
}

// isStrangers tells whether a path is the project's, by its name or by what that leads to.
func (p *places) isStrangers(path string) bool {
	dir := filepath.Dir(path)
	return p.project != "" && (holds(p.named, dir) || holds(p.project, dir) || holds(p.project, plainfile.Resolve(dir)))
}

// interpreters are the programs that a project's files may be started by, wherever they are installed.
var interpreters = []string{"python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "lua", "java"}

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
