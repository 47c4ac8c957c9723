package clientcfg

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codemode/internal/config"
)

// Names of the program that codemode replaces: as a package, a module, a script and a repository. They
// are long enough to mean it wherever they stand. "codemode" is not, a folder may be called so; it
// counts as an entry's name, as a program, and before "serve".
const (
	self           = "codemode"
	original       = "mcp-server-code-execution-mode"
	originalModule = "mcp_server_code_execution_mode"
)

// selfReference says why an entry would start codemode again, or nothing.
func selfReference(s config.Server) string {
	if s.Name == self || isOriginal(s.Name) {
		return fmt.Sprintf("it is called %q", s.Name)
	}
	words := append([]string{s.Command}, s.Args...)
	for i, word := range words {
		if isOriginal(word) {
			return fmt.Sprintf("it starts %s", original)
		}
		if isSelf(word) && i+1 < len(words) && words[i+1] == "serve" {
			return "it starts codemode serve"
		}
	}
	if slices.ContainsFunc(programs(words), isSelf) {
		return "it starts codemode"
	}
	return ""
}

func isOriginal(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, original) || strings.Contains(s, originalModule)
}

func isSelf(s string) bool { return base(s) == self }

// base is a program's name without folder, extension and package version: "codemode@latest".
func base(s string) string {
	s = path.Base(strings.ReplaceAll(strings.ToLower(s), `\`, "/"))
	s = strings.TrimSuffix(s, ".exe")
	if at := strings.IndexByte(s, '@'); at > 0 {
		s = s[:at]
	}
	return s
}

// launchers start another program. Each lists those of its flags that take a value, as the tools'
// manuals had them in 2026-07.
var launchers = map[string][]string{
	"uvx":      {"--from", "--with", "--python", "-p", "--index-url", "--default-index", "--directory"},
	"uv run":   {"--with", "--python", "-p", "--directory", "--project", "--package", "--extra", "--env-file"},
	"npx":      {"-p", "--package"},
	"bunx":     {"-p", "--package"},
	"pipx run": {"--spec", "--python", "--index-url"},
	"env":      {"-u", "--unset", "-C", "--chdir"},
	"nice":     {"-n"},
	"nohup":    nil,
	"exec":     {"-a"},
	"sudo":     {"-u", "-g"},
}

var shells = []string{"sh", "bash", "dash", "zsh", "ash", "ksh"}

// programs follows launchers and shells to the programs an entry really starts.
func programs(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	name, rest := base(words[0]), words[1:]
	if slices.Contains(shells, name) {
		var all []string
		for _, command := range shellCommands(rest) {
			all = append(all, programs(command)...)
		}
		return all
	}
	flags, ok := launchers[name]
	if !ok && len(rest) > 0 {
		if flags, ok = launchers[name+" "+rest[0]]; ok {
			rest = rest[1:]
		}
	}
	if !ok {
		return words[:1]
	}
	return programs(skipFlags(rest, flags))
}

// skipFlags drops a launcher's own flags, and the NAME=VALUE words of env and shells.
func skipFlags(words, withValue []string) []string {
	for len(words) > 0 {
		w := words[0]
		name, _, assigned := strings.Cut(w, "=")
		switch {
		case slices.Contains(withValue, w) && len(words) > 1:
			words = words[2:]
		case strings.HasPrefix(w, "-"), assigned && !strings.ContainsAny(name, "/@"):
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

// shellCommands returns the commands of a shell's -c argument, as words.
func shellCommands(words []string) (commands [][]string) {
	for i, w := range words {
		if !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--") || !strings.HasSuffix(w, "c") || i+1 == len(words) {
			continue
		}
		unquoted := strings.NewReplacer(`"`, "", `'`, "").Replace(words[i+1])
		for command := range strings.FieldsFuncSeq(unquoted, func(r rune) bool { return strings.ContainsRune(";&|\n()", r) }) {
			commands = append(commands, skipFlags(strings.Fields(command), nil))
		}
		return commands
	}
	return nil
}
