package mount

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codemode/internal/hint"
	"codemode/internal/plainfile"
)

// credentials are what of a home opens other doors.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".netrc", ".git-credentials", ".npmrc",
	".pypirc", ".vault-token", ".config/gcloud", ".config/gh", ".config/git/credentials", ".config/op",
	".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", "snap/firefox",
	"Library/Keychains", "Library/Cookies", ".claude", ".codex", ".cargo/credentials.toml",
	".cargo/credentials", ".oci", ".config/rclone", ".config/glab-cli", ".config/containers", ".terraform.d",
	".m2/settings.xml", ".m2/settings-security.xml", ".cache/huggingface/token", ".huggingface", ".kaggle",
	".fly", ".config/sops", ".local/share/kwalletd", ".config/github-copilot", ".config/microsoft-edge",
	".config/BraveSoftware", ".config/vivaldi", ".config/opera", ".thunderbird", ".bitcoin", ".ethereum",
	".electrum", ".config/Signal", ".config/Slack", ".config/discord", ".config/Bitwarden",
	".config/keepassxc", ".local/share/atuin", ".config/vercel", ".local/share/com.vercel.cli",
	".config/netlify", ".wrangler", ".config/.wrangler", ".snowflake", ".pulumi", ".config/doctl",
	".config/heroku", ".config/stripe", ".config/hub", ".config/pypoetry", ".gem/credentials",
	".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet", ".boto", ".s3cfg",
	".config/rsconnect", ".local/share/gnupg", ".config/ngrok", ".local/share/opencode",
}

// started are what of a home other programs start, which nobody may change, beside all whose name begins with a dot.
var started = []string{
	"bin", "go/bin", "go/pkg", "node_modules", "miniconda3", "anaconda3", "miniforge3", "Library/LaunchAgents",
	"Library/Application Support", "Library/Caches", "Library/Preferences", "AppData",
}

// systems are what nobody is shown, nor a folder that holds one of them.
var systems = []string{"/dev", "/proc", "/sys", "/boot", "/etc", "/private/etc", `C:\Windows`}

// unwritable are what nobody may change.
var unwritable = []string{
	"/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/sbin", "/Library", "/System", "/Applications",
	"/var/spool", "/var/lib/apt", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/snapd",
	"/var/lib/flatpak", "/var/lib/systemd",
	"/var/lib/docker", "/var/lib/containers", "/var/lib/containerd", "/var/lib/kubelet",
	"/var/cache/apt", "/var/cache/dnf", `C:\Program Files`, `C:\ProgramData`,
}

// shared are folders in which each program has something of its own, which alone may be changed: npx keeps what it
// executes in /tmp (Node 22.1 and later, node:module, read November 2026).
var shared = []string{"/opt", "/srv", "/var", "/var/lib", "/var/cache", "/snap", "/tmp", "/var/tmp", "/private/tmp"}

// Shared tells whether a folder is one of those in which each program has something of its own.
func Shared(dir string) bool { return slices.Contains(shared, dir) }

// runtimes are where programs keep sockets and secrets while they run, but for removable disks.
const (
	runtimes  = "/run"
	removable = "/run/media"
)

// judge says why a path, whose links have been followed, is shown to nobody: for itself, or for what is mounted in it,
// which may be a home, or anything else that has a name elsewhere.
func (r Rules) judge(real string, write bool) error {
	for _, at := range append([]string{real}, mountedBelow(real)...) {
		if err := r.judgeAt(at, write); err != nil {
			return err
		}
	}
	return kernelBelow(real)
}

// judgeAt is judge for one place.
func (r Rules) judgeAt(real string, write bool) error {
	seen := files{}
	if real == filepath.Dir(real) {
		return hint.New("it is a whole file system", narrower)
	}
	refused := systems
	if write {
		refused = slices.Concat(systems, unwritable)
	}
	for _, dir := range refused {
		if seen.related(real, dir) {
			return hint.New(fmt.Sprintf("what is in %s is the system's", dir), narrower)
		}
	}
	for _, dir := range shared {
		if write && seen.above(real, dir) {
			return hint.New(fmt.Sprintf("what is in %s is of many programs", dir), narrower)
		}
	}
	if seen.related(real, runtimes) && !(seen.holds(removable, real) && !seen.same(removable, real)) {
		return hint.New(fmt.Sprintf("in %s are sockets and secrets of programs that run", runtimes), narrower)
	}
	for _, home := range r.Homes {
		if err := seen.inHome(real, home, write); err != nil {
			return err
		}
	}
	for _, at := range r.Credentials {
		if seen.related(real, at) || seen.isOneOf(real, at, credentialDepth) {
			return hint.New(fmt.Sprintf("%q holds credentials", at), narrower)
		}
	}
	for _, kept := range r.Kept {
		if kept != "" && seen.related(real, kept) {
			why := fmt.Sprintf("codemode or an AI client keeps in %q what decides about servers", kept)
			return hint.New(why, narrower)
		}
	}
	if s, starts := StartedFrom(real, r.Starts); write && starts {
		return hint.New(cmp.Or(s.Why, s.By+" is started from it"), cmp.Or(s.Do, narrower))
	}
	return nil
}

// MayWrite says why files that somebody else has made may not be written to a folder, whose links have been followed;
// nil is that they may.
func (r Rules) MayWrite(real string) error { return r.judge(real, true) }

// StartedFrom says what is started from a folder, if anything is, so that nobody may change it.
func StartedFrom(folder string, starts []Start) (Start, bool) {
	seen := files{}
	for _, s := range starts {
		if seen.starts(folder, s) {
			return s, true
		}
	}
	return Start{}, false
}

// inHome says why a part of a home is shown to nobody.
func (f files) inHome(real, home string, write bool) error {
	if f.above(real, home) {
		return hint.New("your home is in it, with keys and settings of other programs", narrower)
	}
	for _, name := range credentials {
		name = filepath.FromSlash(name)
		at := filepath.Join(home, name)
		if f.related(real, at) || f.leads(real, at, home) || f.isOneOf(real, at, credentialDepth) {
			return hint.New(filepath.Join("~", name)+" holds credentials", narrower)
		}
	}
	if !write {
		return nil
	}
	for _, name := range started {
		name = filepath.FromSlash(name)
		if at := filepath.Join(home, name); f.related(real, at) || f.leads(real, at, home) {
			return hint.New(fmt.Sprintf("in %s programs keep what they start", filepath.Join("~", name)), narrower)
		}
	}
	if at := cmp.Or(f.hidden(real, home), f.dotted(real, home)); at != "" {
		return hint.New(fmt.Sprintf("in %s programs keep what they start", filepath.Join("~", at)), narrower)
	}
	return nil
}

// hidden is the file or folder of a home, there or yet to be made, whose name begins with a dot and that holds path; ""
// is none.
func (f files) hidden(path, home string) string {
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		if name := filepath.Base(path); strings.HasPrefix(name, ".") && f.same(up, home) {
			return name
		}
	}
	return ""
}

// How far dotted looks for links. Of more it sees those that lie less deep.
const (
	dottedDepth = 5
	dottedFiles = 10_000
)

// dotted is the first file or folder of a home whose name begins with a dot, or link in one, that is or leads to what
// is in dir; "" is none. They are programs' own. Tools that keep a home's files in one folder make such links.
func (f files) dotted(dir, home string) string {
	level, left := []string{""}, dottedFiles
	for depth := range dottedDepth {
		var next []string
		for _, folder := range level {
			for _, e := range entriesOf(filepath.Join(home, folder)) {
				at, isLink := filepath.Join(folder, e.Name()), e.Type()&fs.ModeSymlink != 0
				switch left--; {
				case depth == 0 && !strings.HasPrefix(at, "."), left < 0:
				case isLink && f.leadsTo(dir, filepath.Join(home, at), home),
					depth == 0 && !isLink && f.related(dir, filepath.Join(home, at)):
					return at
				case e.IsDir():
					next = append(next, at)
				}
			}
		}
		level = next
	}
	return ""
}

const narrower = "name a folder that holds what code needs and nothing else"

// files remembers what paths lead to: two paths may be one folder, by a mount, or where a file system takes upper case
// and lower case for the same.
type files map[string]fs.FileInfo

func (f files) stat(path string) fs.FileInfo {
	fi, known := f[path]
	if !known {
		fi, _ = os.Stat(path)
		f[path] = fi
	}
	return fi
}

func (f files) same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := f.stat(a), f.stat(b)
	return x != nil && y != nil && os.SameFile(x, y)
}

// holds tells whether path is dir, or below it.
func (f files) holds(dir, path string) bool {
	for {
		if f.same(dir, path) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// credentialDepth is how deep files are looked for in a folder of credentials.
const credentialDepth = 3

// isOneOf tells whether a file is one of those in a folder, by another name: it is mounted, or a hard link.
func (f files) isOneOf(file, dir string, depth int) bool {
	if fi := f.stat(file); fi == nil || !fi.Mode().IsRegular() || depth == 0 {
		return false
	}
	return slices.ContainsFunc(entriesOf(dir), func(e fs.DirEntry) bool {
		at := filepath.Join(dir, e.Name())
		return e.Type().IsRegular() && f.same(file, at) || e.IsDir() && f.isOneOf(file, at, depth-1)
	})
}

// above tells whether dir holds path, a link on the way that it leads, or what it leads to, be it there or not.
func (f files) above(dir, path string) bool {
	return filepath.IsAbs(path) && // else another system's
		slices.ContainsFunc(plainfile.Trail(path), func(at string) bool { return f.holds(dir, at) })
}

// maxEntries bounds how many files of a folder are looked at.
const maxEntries = 2000

func entriesOf(folder string) []fs.DirEntry {
	d, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxEntries)
	return entries
}

// leads tells whether a link directly in a folder leads into dir, or to a folder around it but not around home, as
// tools that keep a home's files in one folder make them.
func (f files) leads(dir, folder, home string) bool {
	if fi := f.stat(folder); fi == nil || !fi.IsDir() {
		return false
	}
	return slices.ContainsFunc(entriesOf(folder), func(e fs.DirEntry) bool {
		return e.Type()&fs.ModeSymlink != 0 && f.leadsTo(dir, filepath.Join(folder, e.Name()), home)
	})
}

func (f files) leadsTo(dir, link, home string) bool {
	target := plainfile.Resolve(link)
	return f.above(dir, link) || f.holds(target, dir) && !f.holds(target, home)
}

// starts tells whether who may change what is in a folder decides what is started from a path.
func (f files) starts(folder string, s Start) bool {
	return f.above(folder, s.Path) || s.Within && f.related(folder, s.Path) || s.Modules && f.imports(folder, s)
}

// imports tells whether a folder is a module that Python can import from a start's folder, or lies in one.
func (f files) imports(folder string, s Start) bool {
	for at := folder; at != filepath.Dir(at); at = filepath.Dir(at) {
		if f.same(filepath.Dir(at), s.Path) {
			return isModule(filepath.Base(at)) && (at == folder || !s.Home || isPackage(at))
		}
	}
	return false
}

// isModule tells whether Python can import a folder of that name.
func isModule(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return true
}

// related tells whether a path, or what it leads to by links, holds dir, or dir is above it.
func (f files) related(dir, path string) bool {
	return f.above(dir, path) ||
		filepath.IsAbs(path) && (f.holds(path, dir) || f.holds(plainfile.Resolve(path), dir))
}
