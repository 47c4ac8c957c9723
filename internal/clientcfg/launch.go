package clientcfg

import (
	"slices"
	"strings"
)

// launchers start another program. Each lists those of its flags that take a value, as the tools'
// manuals had them in 2026-07.
var launchers = map[string][]string{
	"uvx":         uvFlags,
	"uv tool run": uvFlags,
	"uv run":      {"--with", "--python", "-p", "--directory", "--project", "--package", "--extra", "--env-file"},
	"npx":         npmFlags,
	"npm exec":    npmFlags,
	"bunx":        npmFlags,
	"bun x":       npmFlags,
	"pnpm dlx":    npmFlags,
	"yarn dlx":    npmFlags,
	"pipx run":    {"--spec", "--python", "--index-url"},
	"docker run":  imageFlags,
	"podman run":  imageFlags,
	"nerdctl run": imageFlags,
	"wsl":         {"-d", "--distribution", "-u", "--user", "--cd"},
	"cmd":         nil,
	"env":         {"-u", "--unset", "-C", "--chdir"},
	"nice":        {"-n"},
	"nohup":       nil,
	"exec":        {"-a"},
	"sudo":        {"-u", "-g"},
}

var (
	uvFlags    = []string{"--from", "--with", "--python", "-p", "--index-url", "--default-index", "--directory"}
	npmFlags   = []string{"-p", "--package"}
	imageFlags = []string{
		"-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--net",
		"-w", "--workdir", "-u", "--user", "-m", "--memory", "--cpus", "--entrypoint", "--platform", "--pull", "-h",
		"--hostname", "-l", "--label", "--add-host", "--device", "--cap-add", "--cap-drop", "--security-opt", "--tmpfs",
		"--ulimit", "--shm-size", "--restart", "--gpus", "--pids-limit",
	}
)

var shells = []string{"sh", "bash", "dash", "zsh", "ash", "ksh"}

// launcher returns the name under which a command is a launcher, and the words behind it.
func launcher(words []string) (name string, rest []string, ok bool) {
	for n := 1; n <= min(3, len(words)); n++ {
		name = strings.Join(append([]string{base(words[0])}, words[1:n]...), " ")
		if _, ok := launchers[name]; ok {
			return name, words[n:], true
		}
	}
	return "", nil, false
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
		case slices.Contains(withValue, w) && len(words) > 1:
			words = words[2:]
		case strings.HasPrefix(w, "-"), assigned && !strings.ContainsAny(name, "/@"), isCmdFlag(w):
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

// isCmdFlag knows /c, /d, /s and their like.
func isCmdFlag(w string) bool { return len(w) == 2 && w[0] == '/' }

// shellCommands returns the commands of a shell's -c argument, as words.
func shellCommands(words []string) (commands [][]string) {
	for i, w := range words {
		if !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--") || !strings.HasSuffix(w, "c") || i+1 == len(words) {
			continue
		}
		unquoted := strings.NewReplacer(`"`, "", `'`, "").Replace(words[i+1])
		ends := func(r rune) bool { return strings.ContainsRune(";&|\n()", r) }
		for command := range strings.FieldsFuncSeq(unquoted, ends) {
			commands = append(commands, skipFlags(strings.Fields(command), nil))
		}
		return commands
	}
	return nil
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
