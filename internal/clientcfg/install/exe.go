package install

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"codemode/internal/lazyregexp"
)

// passing are paths of executables that are gone after the next upgrade, or sooner.
var passing = []struct {
	pattern func() *regexp.Regexp
	what    string
}{
	{lazyregexp.New(`/go-build[0-9]*/`), "in the cache of go run"},
	{lazyregexp.New(`/_npx/`), "in the cache of npx"},
	{lazyregexp.New(`/Cellar/[^/]+/[^/]+/`), "in one version's folder of Homebrew"},
	{lazyregexp.New(`^/nix/store/`), "in the store of Nix"},
	{lazyregexp.New(`/\.mount_[^/]+/`), "in the mount of an AppImage"},
}

// viaNpx is what entries start in place of a path when codemode was started by npx: the package of a platform, as
// packaging/npm makes it, lies in a cache that npx may empty, and fills again.
const viaNpx = "npx"

var inNpx = lazyregexp.New(`/_npx/[^/]+/node_modules/codemode-[a-z0-9]+-[a-z0-9]+/codemode(\.exe)?$`)

// words are how an entry starts exe.
func (i *Installer) words(exe string) []string {
	switch {
	case exe != viaNpx:
		return []string{exe}
	case i.Env.OS == "windows": // where npx is a script of the shell's
		return []string{"cmd", "/c", "npx", "-y", "codemode"}
	}
	return []string{"npx", "-y", "codemode"}
}

// A PassingError is an executable that will not stay where it is.
type PassingError struct{ Path, Where string }

func (e *PassingError) Error() string {
	return fmt.Sprintf("this codemode is %q, %s, where it will not stay", e.Path, e.Where)
}

// Hint is what to do first, and how to have it all the same.
func (e *PassingError) Hint() []string {
	return []string{
		"move it to where it can stay, such as ~/.local/bin, and install from there",
		"to start it from where it is all the same: --force",
	}
}

// Executable is the path that entries start: the one by which the shell finds this codemode, which upgrades leave as it
// is, else its own, or npx where that has started it. The error says that it will not stay.
func (i *Installer) Executable() (string, error) {
	exe := i.Self.Executable
	if found := i.lookPath("codemode"); found != "" && (exe == "" || sameFile(found, exe)) {
		exe = found
	}
	if exe == "" {
		return "", fmt.Errorf("it cannot be told where this codemode is")
	}
	slashed := filepath.ToSlash(exe)
	if inNpx().MatchString(slashed) {
		return viaNpx, nil
	}
	for _, p := range passing {
		if p.pattern().MatchString(slashed) {
			return exe, &PassingError{exe, p.what}
		}
	}
	for _, dir := range i.tempDirs() {
		if rel, err := filepath.Rel(dir, exe); err == nil && filepath.IsLocal(rel) {
			return exe, &PassingError{exe, "in a folder for temporary files"}
		}
	}
	return exe, nil
}

func (i *Installer) tempDirs() (dirs []string) {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if dir := i.get(name); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 && i.Env.OS != "windows" {
		dirs = []string{"/tmp"}
	}
	return dirs
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isAbsolute knows absolute paths of Windows everywhere.
func isAbsolute(program string) bool {
	return filepath.IsAbs(program) ||
		len(program) > 2 && program[1] == ':' && strings.ContainsRune(`/\`, rune(program[2]))
}
