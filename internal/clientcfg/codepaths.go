package clientcfg

import (
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
)

// runners are the interpreters and launchers that execute code in a folder that they are given. Shells are apart.
var runners = []string{
	"uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "python", "python3", "pypy3", "npx", "npm", "pnpm", "pnpx",
	"yarn", "bun", "bunx", "deno", "node", "nodejs", "tsx", "ts-node", "go", "cargo", "ruby", "bundle", "perl", "php",
	"java", "dotnet", "make", "just", "task", "env", "nice", "nohup", "exec", "sudo", "cmd",
	"direnv", "mise", "nix", "pipenv", "uvicorn", "gunicorn", "hypercorn", "conda", "mamba", "micromamba",
	"systemd-run", "bwrap",
}

// subcommands are words of runners before the one that names what they execute.
var subcommands = []string{"run", "tool", "exec", "x", "dlx", "start", "script", "develop", "/c"}

// runnerFlags are flags of runners whose value is the next word, beside those in [launchers]. Of one that is missing
// here the value is taken for the program, and what stands behind it for the program's own arguments.
var runnerFlags = []string{
	"-C", "-f", "-r", "-W", "-X", "-cp", "-jar", "--cwd", "--dir", "--prefix", "--require", "--import", "--loader",
	"--makefile", "--manifest-path", "--app-dir", "--chdir", "--working-directory", "--with-editable", "--library-path",
	"--with-requirements",
}

// codePaths are variables that say where a program finds code, or keeps what it executes.
var codePaths = []string{
	"PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONSTARTUP", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV",
	"NODE_PATH", "NODE_OPTIONS", "NODE_COMPILE_CACHE", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "GEM_PATH",
	"BUNDLE_GEMFILE", "CLASSPATH", "JAVA_TOOL_OPTIONS", "JAVA_HOME", "LUA_PATH", "LUA_CPATH", "R_LIBS",
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV",
	"UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIR", "UV_FIND_LINKS", "UV_PYTHON", "UV_CACHE_DIR",
	"UV_CONFIG_FILE", "UV_TOOL_DIR", "HATCH_PROJECT", "PIPX_HOME", "PIP_CONFIG_FILE", "JDK_JAVA_OPTIONS", "PHPRC",
	"PHP_INI_SCAN_DIR", "R_PROFILE_USER", "GCONV_PATH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "OPENSSL_CONF",
	"TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CARGO_HOME", "RUSTUP_HOME",
	"GOPATH", "GOBIN", "DENO_DIR", "BUN_INSTALL", "NVM_DIR", "PYENV_ROOT", "CONDA_PREFIX", "DOTNET_ROOT",
	"COREPACK_HOME", "PLAYWRIGHT_BROWSERS_PATH",
	"PUPPETEER_EXECUTABLE_PATH", "PUPPETEER_CACHE_DIR", "CHROME_PATH",
}

// CodePaths are the words of an entry that may name a file or folder whose code its server executes: of a runner and
// its flags up to the program that it executes, behind which are that one's own; of a shell's script; and of
// variables. Most are no paths.
func CodePaths(command string, args []string, env map[string]string) (list []string) {
	list = codeWords(append([]string{command}, args...))
	for name, value := range env {
		if slices.Contains(codePaths, name) {
			files, code := PathsWithin(value)
			list = append(list, slices.Concat(pathsIn(value), files, code)...)
		}
	}
	return list
}

// Where a program looks for code in the folder that it is started in, before it looks elsewhere.
const (
	PythonModules = "python"  // in folders whose names can be modules'
	NodeModules   = "node"    // in node_modules
	WholeFolder   = "project" // anywhere
)

// ImportsFromCwd tells where a command's program looks for code in the folder that it is started in: python with -m or
// -c, what starts Node's packages, and what starts a project's own code; "" is nowhere.
func ImportsFromCwd(command string, args []string) string {
	words := append([]string{command}, args...)
	if slices.Contains(shells, runnerName(command)) {
		for _, words := range commandsOf(scriptOf(args)) {
			if kind := importsFromCwd(words); kind != "" {
				return kind
			}
		}
		return ""
	}
	return importsFromCwd(words)
}

// Programs that start a project's code, by what its files say; and the words with which some of them start a package
// that they fetch.
var (
	projectRunners = []string{
		"npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "hatch", "rye", "pipenv", "deno", "go", "cargo", "bundle",
		"dotnet", "make", "just", "task", "direnv", "mise", "nix",
	}
	fetches = []string{"exec", "x", "dlx", "tool"}
)

func importsFromCwd(words []string) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch name := runnerName(w); {
		case slices.Contains([]string{"npx", "pnpx", "bunx", "node", "nodejs", "tsx", "ts-node"}, name):
			return NodeModules
		case slices.Contains(projectRunners, name):
			switch {
			case i+1 == len(words) || !slices.Contains(fetches, words[i+1]):
				return WholeFolder
			case name == "uv":
				return ""
			}
			return NodeModules
		case slices.Contains([]string{"python", "python3", "pypy3"}, name):
			return pythonImports(words[i+1:])
		case strings.HasPrefix(w, "-"):
			if takesValue(w) {
				i++
			}
		case !slices.Contains(runners, name) && !slices.Contains(subcommands, w) && !strings.Contains(w, "="):
			return ""
		}
	}
	return ""
}

// pythonImports is importsFromCwd for the words behind python.
func pythonImports(words []string) string {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-W", w == "-X":
			i++ // their values
		case strings.HasPrefix(w, "-W"), strings.HasPrefix(w, "-X"):
		case !strings.HasPrefix(w, "-"), strings.ContainsAny(w, "IP"): // a file; isolated, or with a safe path
			return ""
		case strings.HasSuffix(w, "m"), strings.HasSuffix(w, "c"): // -m, -um
			return PythonModules
		}
	}
	return ""
}

func codeWords(words []string) (list []string) {
	switch name := runnerName(words[0]); {
	case slices.Contains(shells, name):
		return shellWords(words)
	case !slices.Contains(runners, name):
		return words[:1]
	}
	list = words[:1:1]
	for i := 1; i < len(words); i++ {
		w := words[i]
		flag, value, assigned := strings.Cut(w, "=")
		switch {
		case assigned && !strings.Contains(flag, "/"): // --flag=VALUE, NAME=VALUE
			list = append(list, pathsIn(value)...)
		case strings.HasPrefix(w, "-") && takesValue(w) && i+1 < len(words):
			i++
			list = append(list, pathsIn(words[i])...)
		case strings.HasPrefix(w, "-C"):
			list = append(list, w[2:])
		case strings.HasPrefix(w, "-"), slices.Contains(subcommands, w):
		case slices.Contains(runners, runnerName(w)), slices.Contains(shells, runnerName(w)):
			return append(list, codeWords(words[i:])...)
		default:
			return append(list, w)
		}
	}
	return list
}

// runnerName is a program's name without a version, as of python3.12.
func runnerName(program string) string {
	name := base(program)
	if begin, version, ok := strings.Cut(name, "."); ok && strings.Trim(version, "0123456789.") == "" {
		name = strings.TrimRight(begin, "0123456789")
	}
	return name
}

func takesValue(flag string) bool {
	for _, flags := range [][]string{runnerFlags, uvFlags, launchers["uv run"], npmFlags, launchers["env"]} {
		if takesNext(flag, flags) {
			return true
		}
	}
	return false
}

// shellWords are of a shell's script: its commands' words, what they assign before, and where they change to.
func shellWords(words []string) (list []string) {
	list = slices.Clone(words[:min(2, len(words))]) // the second may be a script's file
	for _, command := range commandsOf(scriptOf(words[1:])) {
		for len(command) > 1 && strings.Contains(command[0], "=") {
			_, value, _ := strings.Cut(command[0], "=")
			list, command = append(list, pathsIn(value)...), command[1:]
		}
		if slices.Contains([]string{"cd", "pushd", ".", "source", "export"}, command[0]) {
			for _, w := range command[1:] {
				list = append(list, pathsIn(w)...)
			}
		}
		list = append(list, codeWords(command)...)
	}
	return list
}

// withinText finds absolute paths in a text, with what is before them.
var withinText = lazyregexp.New(`(^-?[A-Za-z+]+(?:/a)?:|^-[A-Za-z]|["'=<>|;&({\[\s@])(/[^\s"'` + "`" + `;|&<>(),:]+)`)

// PathsWithin are the absolute paths that an argument has in it without being one. Those that stand in quotes or right
// behind a flag of one letter may be folders of code, such as perl's -IDIR; of the others folders may be data.
func PathsWithin(arg string) (files, code []string) {
	code = quotedWords(arg)
	for _, m := range withinText().FindAllStringSubmatch(arg, -1) {
		if before := m[1]; before == `"` || before == "'" || len(before) > 1 {
			code = append(code, m[2])
		} else {
			files = append(files, m[2])
		}
	}
	return files, code
}

// quotedWords are a text's words as a shell has them, as far as something in them is quoted: a path there may
// have any character.
func quotedWords(text string) (list []string) {
	var word strings.Builder
	var quote rune
	quoted, escaped := false, false
	end := func() {
		if quoted {
			list = append(list, word.String())
		}
		word.Reset()
		quoted = false
	}
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, quoted = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, quoted = r, true
		case strings.ContainsRune(" \t\n;&|()<>=", r):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return list
}

// scriptEnds are how the names of programs' files end that an interpreter reads.
var scriptEnds = []string{
	".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".lua", ".jar", ".pyz", ".exs",
}

// IsScript says whether a path that leads nowhere can be that of a program, by its name.
func IsScript(path string) bool {
	return slices.Contains(scriptEnds, strings.ToLower(filepath.Ext(path)))
}

// pathsIn are the paths that a value may be, or have in it: PATH has several, an option its own.
func pathsIn(value string) []string {
	ends := func(r rune) bool { return strings.ContainsRune(":;, =", r) }
	return slices.Concat(strings.FieldsFunc(value, ends), quotedWords(value), []string{value})
}
