package mount

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// started are what of a home other programs start, which nobody may change.
var started = []struct{ name, by string }{
	{".bashrc", "your shell"},
	{".bash_profile", "your shell"},
	{".bash_login", "your shell"},
	{".bash_logout", "your shell"},
	{".bash_aliases", "your shell"},
	{".profile", "your shell"},
	{".zshrc", "your shell"},
	{".zshenv", "your shell"},
	{".zprofile", "your shell"},
	{".zlogin", "your shell"},
	{".tmux.conf", "tmux"},
	{".gitconfig", "git"},
	{".vimrc", "your editor"},
	{".emacs", "your editor"},
	{".xprofile", "your desktop"},
	{".xinitrc", "your desktop"},
	{".xsessionrc", "your desktop"},
	{".pythonrc", "Python"},
	{".gdbinit", "gdb"},
	{".bashrc.d", "your shell"},
	{".config/fish", "your shell"},
	{".config/zsh", "your shell"},
	{".oh-my-zsh", "your shell"},
	{".zsh", "your shell"},
	{".config/powershell", "your shell"},
	{".config/mise", "your shell"},
	{".ipython", "Python"},
	{".jupyter", "Python"},
	{".git-templates", "git"},
	{".config/plasma-workspace", "your desktop"},
	{".kde", "your desktop"},
	{".config/i3", "your desktop"},
	{".config/sway", "your desktop"},
	{".config/hypr", "your desktop"},
	{".local/share/nvim", "your editor"},
	{".local/bin", "your shell"},
	{"bin", "your shell"},
	{".cargo/bin", "your shell"},
	{".local/lib", "Python"},
	{".nvm", "your shell"},
	{".pyenv", "your shell"},
	{".rbenv", "your shell"},
	{".asdf", "your shell"},
	{".sdkman", "your shell"},
	{".volta", "your shell"},
	{".deno", "your shell"},
	{".bun", "your shell"},
	{".rustup", "your shell"},
	{"go/bin", "your shell"},
	{"go/pkg", "go"},
	{".local/pipx", "your shell"},
	{".local/share/pipx", "your shell"},
	{".local/share/mise", "your shell"},
	{".local/share/fnm", "your shell"},
	{".local/share/pnpm", "your shell"},
	{".config/direnv", "your shell"},
	{".local/share/direnv", "your shell"},
	{".local/share/uv", "uv"},
	{".cache/uv", "uv"},
	{".config/uv", "uv"},
	{".cache/pip", "pip"},
	{".config/pip", "pip"},
	{".npm", "npx"},
	{".yarn", "yarn"},
	{".cargo/registry", "cargo"},
	{".gradle", "gradle"},
	{".m2", "maven"},
	{".cache/pre-commit", "git"},
	{".tmux", "tmux"},
	{".config/tmux", "tmux"},
	{".config/git", "git"},
	{".config/systemd", "systemd"},
	{".config/systemd/user", "systemd"},
	{".config/environment.d", "systemd"},
	{".local/share/systemd", "systemd"},
	{".config/autostart", "your desktop"},
	{".local/share/applications", "your desktop"},
	{"Library/LaunchAgents", "your desktop"},
	{"AppData/Roaming/Microsoft/Windows/Start Menu", "your desktop"},
	{".vscode", "your editor"},
	{".vscode-server", "your editor"},
	{".vim", "your editor"},
	{".config/nvim", "your editor"},
	{".config/helix", "your editor"},
	{".config/zed", "your editor"},
	{".config/Code", "your editor"},
	{".cursor-server", "your editor"},
	{".emacs.d", "your editor"},
	{".config/emacs", "your editor"},
	{".xmonad", "your desktop"},
	{".config/xmonad", "your desktop"},
	{".config/kitty", "your terminal"},
	{".config/wezterm", "your terminal"},
	{".config/alacritty", "your terminal"},
	{"miniconda3", "your shell"},
	{"anaconda3", "your shell"},
	{"miniforge3", "your shell"},
	{".local/share/containers", "podman"},
	{".gemini", "an AI client"},
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

// shared are folders in which each program of the system has one of its own, which alone may be changed.
var shared = []string{"/opt", "/srv", "/var", "/var/lib", "/var/cache", "/snap"}

// runtimes are where programs keep sockets and secrets while they run, but for removable disks.
const (
	runtimes  = "/run"
	removable = "/run/media"
)

// judge says why a path, whose links have been followed, is shown to nobody.
func (r Rules) judge(real string, write bool) error {
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
	for _, kept := range r.Kept {
		if kept != "" && seen.related(real, kept) {
			why := fmt.Sprintf("codemode or an AI client keeps in %q what decides about servers", kept)
			return hint.New(why, narrower)
		}
	}
	if by := StartedFrom(real, r.Starts); write && by != "" {
		return hint.New(by+" is started from it", narrower)
	}
	return kernelBelow(real)
}

// StartedFrom says what is started from a folder, so that nobody may change it; "" is nothing.
func StartedFrom(folder string, starts []Start) string {
	seen := files{}
	for _, s := range starts {
		if seen.starts(folder, s) {
			return s.By
		}
	}
	return ""
}

// inHome says why a part of a home is shown to nobody.
func (f files) inHome(real, home string, write bool) error {
	if f.above(real, home) {
		return hint.New("your home is in it, with keys and settings of other programs", narrower)
	}
	for _, name := range credentials {
		name = filepath.FromSlash(name)
		if at := filepath.Join(home, name); f.related(real, at) || f.leads(real, at) {
			return hint.New(filepath.Join("~", name)+" holds credentials", narrower)
		}
	}
	for _, s := range started {
		name := filepath.FromSlash(s.name)
		if at := filepath.Join(home, name); write && (f.related(real, at) || f.leads(real, at)) {
			return hint.New(fmt.Sprintf("%s starts what is in %s", s.by, filepath.Join("~", name)), narrower)
		}
	}
	return nil
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

// above tells whether dir holds path, a link on the way that it leads, or what it leads to, be it there or not.
func (f files) above(dir, path string) bool {
	return filepath.IsAbs(path) && // else another system's
		slices.ContainsFunc(plainfile.Trail(path), func(at string) bool { return f.holds(dir, at) })
}

// maxLinks bounds how many files of a folder are looked at.
const maxLinks = 2000

// leads tells whether a link directly in a folder leads to what dir holds, as tools that keep a home's files in one
// folder make them.
func (f files) leads(dir, folder string) bool {
	if fi := f.stat(folder); fi == nil || !fi.IsDir() {
		return false
	}
	d, err := os.Open(folder)
	if err != nil {
		return false
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxLinks)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Type()&fs.ModeSymlink != 0 && f.above(dir, filepath.Join(folder, e.Name()))
	})
}

// starts tells whether who may change what is in a folder decides what is started from a path.
func (f files) starts(folder string, s Start) bool {
	return f.above(folder, s.Path) || s.Within && f.related(folder, s.Path) ||
		s.Modules && isModule(filepath.Base(folder)) && f.same(filepath.Dir(folder), s.Path)
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
