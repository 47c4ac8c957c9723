package clientcfg

import (
	"slices"
	"strings"
	"sync"
)

// launchers start another program. Each lists those of its flags that take a value, as the tools'
// manuals had them in 2026-07.
var launchers = map[string][]string{
	"uvx":         uvFlags,
	"uv tool run": uvFlags,
	"uv run":      {"--with", "--python", "-p", "--directory", "--project", "--package", "--extra", "--env-file"},
	"npx":         npmFlags,
	"npm exec":    npmFlags,
	"npm x":       npmFlags,
	"pnpx":        npmFlags,
	"bunx":        npmFlags,
	"bun x":       npmFlags,
	"pnpm dlx":    npmFlags,
	"yarn dlx":    npmFlags,
	"pipx run":    {"--spec", "--python", "--index-url"},
	"docker run":  imageFlags,
	"podman run":  imageFlags,
	"nerdctl run": imageFlags,

	"docker container run":  imageFlags,
	"podman container run":  imageFlags,
	"nerdctl container run": imageFlags,

	"wsl":   {"-d", "--distribution", "-u", "--user", "--cd"},
	"cmd":   nil,
	"env":   {"-u", "--unset", "-C", "--chdir"},
	"nice":  {"-n"},
	"nohup": nil,
	"exec":  {"-a"},
	"sudo":  {"-u", "-g"},
}

var (
	uvFlags  = []string{"--from", "--with", "--python", "-p", "--index-url", "--default-index", "--directory"}
	npmFlags = []string{
		"-p", "--package", "--loglevel", "--registry", "--cache", "--prefix", "--userconfig", "-w", "--workspace",
	}
	imageFlags = []string{
		"-a", "--attach", "--add-host", "--annotation", "--blkio-weight", "--blkio-weight-device", "--cap-add",
		"--cap-drop", "--cgroup-parent", "--cgroupns", "--cidfile", "-c", "--cpu-shares", "--cpu-period",
		"--cpu-quota", "--cpus", "--cpuset-cpus", "--cpuset-mems", "--detach-keys", "--device",
		"--device-cgroup-rule", "--dns", "--dns-option", "--dns-search", "--domainname", "-e", "--env",
		"--env-file", "--entrypoint", "--expose", "--gpus", "--group-add", "--health-cmd", "--health-interval",
		"--health-retries", "--health-start-period", "--health-timeout", "-h", "--hostname", "--ip", "--ip6",
		"--ipc", "--isolation", "-l", "--label", "--label-file", "--link", "--log-driver", "--log-opt",
		"--mac-address", "-m", "--memory", "--memory-reservation", "--memory-swap", "--mount", "--name",
		"--net", "--network", "--network-alias", "--oom-score-adj", "-p", "--publish", "--pid", "--pids-limit",
		"--platform", "--pull", "--restart", "--runtime", "--secret", "--security-opt", "--shm-size",
		"--stop-signal", "--stop-timeout", "--storage-opt", "--sysctl", "--tmpfs", "--ulimit", "-u", "--user",
		"--userns", "--uts", "-v", "--volume", "--volume-driver", "--volumes-from", "-w", "--workdir",
	}
)

// launches has the words that launchers begin with: of "uv tool run" also "uv tool" and "uv".
var launches = sync.OnceValue(func() map[string]bool {
	begun := map[string]bool{}
	for name := range launchers {
		for i, r := range name + " " {
			if r == ' ' {
				begun[name[:i]] = true
			}
		}
	}
	return begun
})

var shells = []string{"sh", "bash", "dash", "zsh", "ash", "ksh"}

// launcher returns the name under which a command is a launcher, and the words behind it.
func launcher(words []string) (name string, rest []string, ok bool) {
	if len(words) == 0 {
		return "", nil, false
	}
	if name = base(words[0]); !launches()[name] {
		return "", nil, false
	}
	option := false // which may have a value: options may stand between the words, as in "npm --silent exec"
	for n := 1; ; n++ {
		if _, ok := launchers[name]; ok {
			return name, words[n:], true
		}
		if n == len(words) {
			return "", nil, false
		}
		switch w := words[n]; {
		case launches()[name+" "+w]:
			name, option = name+" "+w, false
		case strings.HasPrefix(w, "-"):
			option = true
		case !option:
			return "", nil, false
		default:
			option = false
		}
	}
}

// programs follows launchers and shells to the programs an entry really starts.
func programs(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	if slices.Contains(shells, base(words[0])) {
		var all []string
		for _, command := range shellCommands(words[1:]) {
			all = append(all, programs(command)...)
		}
		return all
	}
	name, rest, ok := launcher(words)
	if !ok {
		return words[:1]
	}
	return programs(skipFlags(rest, launchers[name]))
}

// skipFlags drops a launcher's own flags, those of Windows' cmd included, and the NAME=VALUE words of env and
// shells.
func skipFlags(words, withValue []string) []string {
	for len(words) > 0 {
		w := words[0]
		name, _, assigned := strings.Cut(w, "=")
		switch {
		case len(words) > 1 && takesNext(w, withValue):
			words = words[2:]
		case strings.HasPrefix(w, "-"), assigned && !strings.ContainsAny(name, "/@"), isCmdFlag(w):
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

// takesNext says whether a flag's value is the next word. One word may be several flags of a letter each, as -it, of
// which the first with a value has the rest of the word for it.
func takesNext(w string, withValue []string) bool {
	if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") {
		for i, letter := range w[1:] {
			if slices.Contains(withValue, "-"+string(letter)) {
				return i+2 == len(w)
			}
		}
	}
	return slices.Contains(withValue, w)
}

// isCmdFlag knows /c, /d, /s and their like.
func isCmdFlag(w string) bool { return len(w) == 2 && w[0] == '/' }

// shellCommands returns the commands of a shell's -c argument, as words.
func shellCommands(words []string) (commands [][]string) {
	for _, command := range commandsOf(scriptOf(words)) {
		commands = append(commands, skipFlags(command, nil))
	}
	return commands
}

// scriptOf is a shell's -c argument.
func scriptOf(words []string) string {
	for i, w := range words {
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "c") && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

var unquoted = strings.NewReplacer(`"`, "", `'`, "")

// commandsOf are the commands of a shell's script, as words.
func commandsOf(script string) (commands [][]string) {
	ends := func(r rune) bool { return strings.ContainsRune(";&|\n()", r) }
	for command := range strings.FieldsFuncSeq(unquoted.Replace(script), ends) {
		if words := strings.Fields(command); len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

// unwrap removes what only stands before a command: cmd /c, env NAME=VALUE, wsl --. Assignments are returned.
func unwrap(words []string) (command, assigned []string) {
	for len(words) > 1 {
		rest := words[1:]
		switch base(words[0]) {
		case "cmd":
			for len(rest) > 0 && isCmdFlag(rest[0]) {
				rest = rest[1:]
			}
		case "env":
			for len(rest) > 0 && strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "-") {
				assigned, rest = append(assigned, rest[0]), rest[1:]
			}
		case "wsl":
			i := slices.Index(rest, "--")
			rest = rest[i+1:]
			if i < 0 {
				return words, assigned
			}
		default:
			return words, assigned
		}
		if len(rest) == len(words)-1 && strings.HasPrefix(rest[0], "-") {
			return words, assigned // flags that change what it does
		}
		words = rest
	}
	return words, assigned
}
