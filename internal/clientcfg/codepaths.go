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
	"java", "dotnet", "make", "just", "task", "cmd", "direnv", "mise", "nix", "pipenv", "uvicorn", "gunicorn",
	"hypercorn", "conda", "mamba", "micromamba", "env", "nice", "nohup", "exec", "sudo", "doas", "systemd-run", "bwrap",
	"timeout", "stdbuf", "setsid", "ionice", "taskset", "chrt", "time", "flock", "numactl", "prlimit", "setpriv",
	"unshare", "xvfb-run", "caffeinate", "fastmcp", "gradle", "gradlew", "mvn", "mvnw", "pixi", "nodemon", "vite-node",
	"swift", "julia", "lua", "luajit", "rscript", "gmake", "dotenv", "dotenvx", "op", "doppler", "infisical",
}

// wrappers are those of runners that start any program, and may have words of their own before it, as timeout's 9.
var wrappers = []string{
	"nice", "exec", "sudo", "doas", "systemd-run", "bwrap", "timeout", "stdbuf", "setsid", "ionice", "taskset", "chrt",
	"time", "flock", "numactl", "prlimit", "setpriv", "unshare", "xvfb-run", "caffeinate", "conda", "mamba",
	"micromamba", "dotenv", "dotenvx", "op", "doppler", "infisical",
}

// flagsAnywhere are those of runners that have flags of their own behind what they execute, too, up to "--".
var flagsAnywhere = []string{
	"npm", "make", "gmake", "task", "gradle", "gradlew", "mvn", "mvnw", "fastmcp run", "dotnet run",
}

// subcommands are words of runners before the one that names what they execute.
var subcommands = []string{"run", "tool", "exec", "x", "dlx", "start", "script", "develop", "/c"}

// runnerFlags are flags of runners whose value is the next word, beside those in [launchers]. Of one that is missing
// here the value is taken for the program, and what stands behind it for the program's own arguments.
var runnerFlags = []string{
	"-C", "-f", "-r", "-W", "-X", "-cp", "-jar", "--cwd", "--dir", "--prefix", "--require", "--import",
	"--loader", "--makefile", "--manifest-path", "--app-dir", "--chdir", "--working-directory", "--with-editable",
	"--library-path", "--with-requirements", "--project-dir", "--build-file", "--file", "--justfile", "--taskfile",
	"--config", "--config-file", "--tsconfig", "--gemfile", "--package-path", "--filter", "--workspace", "--group",
	"--bin", "--environment", "--import-map", "--class-path", "--module-path", "--extra-experimental-features",
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
	"GOPATH", "GOBIN", "GOENV", "GOFLAGS", "DENO_DIR", "BUN_INSTALL", "NVM_DIR", "PYENV_ROOT", "CONDA_PREFIX",
	"DOTNET_ROOT", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "LUA_INIT", "JULIA_PROJECT", "JULIA_LOAD_PATH",
	"JULIA_DEPOT_PATH", "MAKEFILES", "GEM_HOME", "GIT_EXEC_PATH", "PIPENV_PIPFILE", "PERLLIB", "ERL_LIBS",
	"GUILE_LOAD_PATH", "R_LIBS_USER", "R_PROFILE", "R_ENVIRON_USER", "_JAVA_OPTIONS", "COREPACK_HOME",
	"PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_EXECUTABLE_PATH", "PUPPETEER_CACHE_DIR", "CHROME_PATH",
	"DOCKER_CONFIG", "BUILDX_CONFIG", "CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_STORAGE_CONF",
	"REGISTRY_AUTH_FILE", "KUBECONFIG", "HELM_PLUGINS", "KREW_ROOT", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
	"CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "GNUPGHOME", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_SSH",
	"GIT_TEMPLATE_DIR", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_VALUE", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND",
	"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "EDITOR", "VISUAL", "SUDO_EDITOR", "PAGER", "MANPAGER",
	"LESSOPEN", "LESSCLOSE", "BROWSER", "SHELL", "OPENSSL_MODULES", "OPENSSL_ENGINES", "ZDOTDIR", "INPUTRC",
	"XDG_CONFIG_DIRS", "CURL_HOME", "RIPGREP_CONFIG_PATH", "VIMINIT", "VIMRUNTIME", "EMACSLOADPATH",
	"RUSTC_WRAPPER", "GRADLE_USER_HOME", "GRADLE_OPTS", "MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_HOME", "PIXI_HOME",
	"PIXI_PROJECT_MANIFEST", "UV_ENV_FILE", "UV_PYTHON_INSTALL_DIR", "UV_TOOL_BIN_DIR", "POETRY_CACHE_DIR",
	"POETRY_VIRTUALENVS_PATH", "MAMBA_ROOT_PREFIX", "PNPM_HOME", "VOLTA_HOME", "FNM_DIR", "ASDF_DATA_DIR",
	"RBENV_ROOT", "NPM_CONFIG_PREFIX", "NPM_CONFIG_CACHE", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG",
	"NPM_CONFIG_SCRIPT_SHELL", "NPM_CONFIG_NODE_OPTIONS",
}

// CodeVariables are the variables of codePaths, in either case, but for those of whose folders not all is code.
func CodeVariables() (list []string) {
	for _, name := range codePaths {
		if !slices.Contains([]string{"PATH", "TMPDIR", "TMP", "TEMP", "GOPATH"}, name) {
			list = append(list, name, strings.ToLower(name))
		}
	}
	return list
}

// CodePaths are the words of an entry that may name a file or folder whose code its server executes: of a runner and
// its flags up to the program that it executes, behind which are that one's own; of a shell's script; and of
// variables. Most are no paths.
func CodePaths(command string, args []string, env map[string]string) (list []string) {
	list = codeWords(append([]string{command}, args...))
	for name, value := range env {
		if slices.Contains(codePaths, strings.TrimRight(strings.ToUpper(name), "_0123456789")) { // LUA_PATH_5_4
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
// -c, servers of Python's applications, what starts Node's packages, and what starts a project's own code; "" is
// nowhere. modules are those of Python's that its words name, without the modules in them.
func ImportsFromCwd(command string, args []string) (kind string, modules []string) {
	return importsFromCwd(append([]string{command}, args...))
}

// Programs that start a project's code, by what its files say; and the words with which some of them start a package
// that they fetch.
var (
	projectRunners = []string{
		"npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "hatch", "rye", "pipenv", "deno", "go", "cargo", "bundle",
		"dotnet", "make", "gmake", "just", "task", "direnv", "mise", "nix", "gradle", "gradlew", "mvn", "mvnw", "pixi",
		"swift",
	}
	fetches     = []string{"exec", "x", "dlx", "tool"}
	nodeRunners = []string{"npx", "pnpx", "bunx", "node", "nodejs", "tsx", "ts-node", "nodemon", "vite-node"}
)

// applicationServers import the Python application that they are given, as in "uvicorn pk.srv:app".
var applicationServers = []string{
	"uvicorn", "gunicorn", "hypercorn", "daphne", "granian", "waitress-serve", "flask", "fastapi", "celery",
}

func importsFromCwd(words []string) (kind string, modules []string) {
	wrapped := false
	words = splitString(words)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch name := runnerName(w); {
		case slices.Contains(shells, name):
			for _, command := range commandsOf(scriptOf(words[i+1:])) {
				if kind, modules = importsFromCwd(command); kind != "" {
					break
				}
			}
			return kind, modules
		case slices.Contains(nodeRunners, name):
			return NodeModules, nil
		case slices.Contains(projectRunners, name):
			switch {
			case i+1 == len(words) || !slices.Contains(fetches, words[i+1]):
				return WholeFolder, nil
			case name == "uv":
				return "", nil
			}
			return NodeModules, nil
		case slices.Contains([]string{"python", "python3", "pypy", "pypy3", "py"}, name):
			return pythonImports(words[i+1:])
		case slices.Contains(applicationServers, name):
			return PythonModules, applications(words[i+1:])
		case strings.HasPrefix(w, "-"):
			if takesValue(w) {
				i++
			}
		case slices.Contains(wrappers, name):
			wrapped = true
		case wrapped, slices.Contains(runners, name), slices.Contains(subcommands, w), strings.Contains(w, "="):
		default:
			return "", nil
		}
	}
	return "", nil
}

// pythonImports is importsFromCwd for the words behind python.
func pythonImports(words []string) (kind string, modules []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") { // a file
			return "", nil
		}
		if strings.HasPrefix(w, "--") {
			continue
		}
	letters:
		for j, letter := range w[1:] {
			value, behind := w[j+2:], words[i+1:]
			if value == "" && len(behind) > 0 {
				value, behind = behind[0], behind[1:]
			}
			switch letter {
			case 'I', 'P': // isolated; with a safe path
				return "", nil
			case 'm':
				module, _, _ := strings.Cut(value, ".")
				return PythonModules, append(applications(behind), module)
			case 'c':
				return PythonModules, identifier().FindAllString(value, -1)
			case 'W', 'X': // their values
				i = len(words) - len(behind) - 1
				break letters
			}
		}
	}
	return "", nil
}

var (
	identifier  = lazyregexp.New(`[\pL_][\pL\pN_]*`)
	application = lazyregexp.New(`^([\pL_][\pL\pN_]*)[\pL\pN_.]*:`)
)

// applications are the modules of such words as pk.srv:app.
func applications(words []string) (modules []string) {
	for _, w := range words {
		if m := application().FindStringSubmatch(w); m != nil {
			modules = append(modules, m[1])
		}
	}
	return modules
}

func codeWords(words []string) (list []string) {
	name := runnerName(words[0])
	switch {
	case slices.Contains(shells, name):
		return shellWords(words)
	case !slices.Contains(runners, name):
		return words[:1]
	}
	words = splitString(words)
	list = words[:1:1]
	started := false // what is executed has been named
	for i := 1; i < len(words); i++ {
		w := words[i]
		flag, value, assigned := strings.Cut(w, "=")
		switch {
		case started && w == "--":
			return list
		case started && !strings.HasPrefix(w, "-"):
		case assigned && !strings.Contains(flag, "/"): // --flag=VALUE, NAME=VALUE
			list = append(list, pathsIn(value)...)
		case strings.HasPrefix(w, "-") && takesValue(w) && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			i++
			list = append(list, pathsIn(words[i])...)
		case len(w) > 2 && w[0] == '-' && w[1] != '-': // -CDIR, -Ilib
			list = append(list, w[2:])
		case strings.HasPrefix(w, "-"), slices.Contains(subcommands, w):
		case isRunner(w):
			return append(list, codeWords(words[i:])...)
		case !slices.Contains(wrappers, name), !slices.ContainsFunc(words[i:], isRunner):
			list, started = append(list, pathsIn(w)...), true
			if !slices.Contains(flagsAnywhere, name) && !slices.Contains(flagsAnywhere, name+" "+words[1]) {
				return list
			}
		case len(list) == 1: // of bwrap, what it binds first
			list = append(list, w)
		}
	}
	return list
}

var splitFlag = lazyregexp.New(`^(?:-[iv0]*S|--split-string=?)(.*)`)

// splitString has the words in the one that env is given to split.
func splitString(words []string) []string {
	env := slices.IndexFunc(words, func(w string) bool { return runnerName(w) == "env" })
	for i := env + 1; env >= 0 && i < len(words); i++ {
		if m := splitFlag().FindStringSubmatch(words[i]); m != nil {
			text, rest := m[1], words[i+1:]
			if text == "" && len(rest) > 0 {
				text, rest = rest[0], rest[1:]
			}
			return slices.Concat(words[:i], strings.Fields(unquoted.Replace(text)), rest)
		}
	}
	return words
}

func isRunner(word string) bool {
	return slices.Contains(runners, runnerName(word)) || slices.Contains(shells, runnerName(word))
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

// pathsIn are the paths that a value may be, or have in it: PATH has several, an option its own, and of Lua's patterns
// the folder is one.
func pathsIn(value string) []string {
	ends := func(r rune) bool { return strings.ContainsRune(":;, =", r) }
	list := slices.Concat(strings.FieldsFunc(value, ends), quotedWords(value), []string{value})
	for _, path := range list {
		if folder, _, ok := strings.Cut(path, "/?"); ok {
			list = append(list, folder)
		}
	}
	return list
}
