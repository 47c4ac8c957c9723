package registry

import (
	"fmt"
	"regexp"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
)

// allowed are the options of a program that a publisher may choose. What is not among them is refused, and so is a word
// that is no option: it could be another package, or make the package the value of the option before it.
type allowed struct {
	alone  func() *regexp.Regexp // options of one word
	valued func() *regexp.Regexp // those that take the next word
	value  func() *regexp.Regexp // what that word may be
}

const (
	pythonVersion = `(==|>=|~=)?[0-9]+(\.[0-9]+){0,2}`
	// engineShort are the letters of a container engine's options that take a value.
	engineShort = `-[acehlmpuvw]`
	engineLong  = `add-host|annotation|cap-add|cap-drop|cpus|cpuset-cpus|device|dns|entrypoint|env|env-file|expose|` +
		`gpus|group-add|hostname|ipc|label|log-driver|log-opt|memory|memory-swap|mount|name|net|network|` +
		`network-alias|pid|pids-limit|platform|publish|restart|security-opt|shm-size|stop-signal|stop-timeout|sysctl|` +
		`tmpfs|ulimit|user|userns|uts|volume|volumes-from|workdir`
)

var (
	nothing  = lazyregexp.New(`^\b$`)
	anything = lazyregexp.New(``)

	allowedOf = map[string]allowed{
		"npm": {
			lazyregexp.New(
				`^(-q|--quiet|-s|--silent|--loglevel=[a-z]+|--prefer-offline|--no-(audit|fund|update-notifier))$`,
			),
			nothing, nothing,
		},
		"pypi": {
			lazyregexp.New(
				`^(-q|--quiet|-v|--verbose|--no-progress|--isolated|--no-cache|--refresh|--python=` + pythonVersion + `)$`,
			),
			lazyregexp.New(`^(-p|--python)$`),
			lazyregexp.New(`^` + pythonVersion + `$`),
		},
		// What they do to the container is not judged: the user is told that its publisher chose them.
		"oci": {
			lazyregexp.New(
				`^(-[Pq]|` + engineShort + `.+|--(init|no-healthcheck|privileged|publish-all|quiet|read-only)|--[a-z][a-z-]*=.*)$`,
			),
			lazyregexp.New(`^(` + engineShort + `|--(` + engineLong + `))$`),
			anything,
		},
	}
	// otherImage are a container engine's options by which the name of an image means another, or what is at its place.
	otherImage = lazyregexp.New(`^--(rootfs|tls-verify|signature-policy|disable-content-trust)(=|$)`)
)

// chosen refuses words of the publisher's that could choose other code than the package.
func (m *builder) chosen(program string, words []string) {
	may := allowedOf[m.of.Type]
	for i := 0; i < len(words); i++ {
		next := i + 1
		switch word := words[i]; {
		case may.alone().MatchString(word) && !otherImage().MatchString(word):
		case may.valued().MatchString(word) && next < len(words) && may.value().MatchString(words[next]):
			i = next
		default:
			const then = "to start it so all the same, write it yourself: codemode servers add %s -- %s ARGUMENTS"
			m.refuse(fmt.Sprintf(then, hint.Word(m.request.Local), program),
				"gives %s the argument %q, by which its publisher could choose other code than the package %q",
				program, clipped(word), clipped(m.of.Identifier))
			return
		}
	}
}

var (
	// deciding are variables by which loaders, shells, interpreters, compilers, package managers and clouds' clients
	// choose what runs, where they have it from, and whom they trust: those that are known, and all with names as such
	// variables have. Any list of them has gaps.
	deciding = lazyregexp.New(`(?i)^(LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|LIBPATH|SHLIB_PATH|HOSTALIASES|` +
		`LOCALDOMAIN|RES_OPTIONS|PATH|PATHEXT|HOME|HOMEDRIVE|HOMEPATH|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|` +
		`XDG_.*|SHELL|SHELLOPTS|COMSPEC|SYSTEMROOT|WINDIR|ENV|BASH.*|PS[0-4]|ZDOTDIR|IFS|CDPATH|PREFIX|(TMP|TEMP)(DIR)?|` +
		`NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|ICU_DATA|REPL_.*|V8_COVERAGE|COMPILE_CACHE|` +
		`USE_ENV_PROXY|CHANNEL_.*)|ELECTRON_RUN_AS_NODE|NPM_(CONFIG_.*|EXECPATH|NODE_EXECPATH)|COREPACK_.*|YARN_.*|` +
		`PYTHON|PYTHON[A-Z].*|UV_.*|PIP_.*|VIRTUAL_ENV|CONDA_.*|NETRC|(ASDF|FNM|MISE|NVM|PYENV|RBENV|VOLTA)_.*|` +
		`SSL_CERT_.*|SSLKEYLOGFILE|OPENSSL_.*|GRPC_DEFAULT_.*|RUBY.*|GEM_.*|BUNDLE_.*|PERL.*|PHP.*|LUA_.*|R_.*|JULIA_.*|` +
		`JAVA_.*|JDK_.*|_JAVA_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|(DOTNET|COMPLUS|CORECLR|COR)_.*|ERL_.*|OCAML.*|` +
		`GO(FLAGS|PROXY|ENV|ROOT|PATH|TOOLCHAIN|SUMDB|PRIVATE|NOSUMDB|NOPROXY|INSECURE|CACHEPROG|AUTH)|(CARGO|RUST.*)_.*|` +
		`CC|CXX|CPP|LD|AR|AS|MAKE|GIT_.*|SSH_.*|RSYNC_.*|LESS.*|CURL_.*|WGETRC|DISPLAY|DBUS_.*|GTK_.*|GIO_.*|QT_.*|GDK_.*|` +
		`(DOCKER|CONTAINER|PODMAN|KUBERNETES)_(HOST|CONFIG|CONTEXT|CERT_PATH)|KUBECONFIG|AWS_(CONFIG|SHARED|ENDPOINT|CA)_.*|` +
		`AWS_ENDPOINT_URL.*|.*_(OPTS|FLAGS|PROXY|PRELOAD|WRAPPER|COMMAND|CMD|RC|RCFILE|RC_FILENAME|CA_BUNDLE|MODULES|` +
		`MODULE_FILE|PLUGINS|PLUGIN_PATH|LOAD_PATH|STARTUP|STARTUP_HOOKS|PROFILER|REGISTRY|TOOLCHAIN|ASKPASS)|` +
		`(MAN|.*_)?(EDITOR|VISUAL|PAGER|BROWSER))$`)
	// settled are those of them that only say how an interpreter behaves, which many publishers set.
	settled = lazyregexp.New(`^PYTHON(UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE)$`)
	// ofEngine are variables by which a container engine, not what runs in the container, is another.
	ofEngine = lazyregexp.New(`(?i)^(DOCKER_.*|CONTAINER_(HOST|SSHKEY|CONNECTION)|(CONTAINERS|PODMAN|STORAGE)_.*|` +
		`REGISTRY_AUTH_FILE)$`)
)

// set gives what is started a variable. The publisher has no say in those that decide what runs; the user's own value
// is handed on as it is.
func (m *builder) set(name, text string) {
	decides := deciding().MatchString(name) && !settled().MatchString(name) ||
		m.of.Type == "oci" && ofEngine().MatchString(name)
	if decides && text != "${"+name+"}" {
		m.refuse("to give it a value of your own: -e "+name+"=VALUE",
			"sets the variable %q, by which its publisher could choose other code than the package %q",
			name, clipped(m.of.Identifier))
		return
	}
	m.env[name] = text
}
