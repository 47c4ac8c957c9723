package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codemode/internal/hint"
)

// made is the entry of a server, as JSON, where some programs are there.
func made(t *testing.T, server string, r Request, programs ...string) (Entry, string, error) {
	t.Helper()
	s, err := parse([]byte(`{"server": ` + strings.Replace(server, "{", `{"name": "io.a/one", "version": "1.0.0", `, 1) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Local == "" {
		r.Local = "one"
	}
	r.Has = func(program string) bool { return slices.Contains(programs, program) }
	e, err := s.Entry(r)
	text, _ := json.Marshal(e.Fields)
	return e, string(text), err
}

// home is npm's, in pieces for a rule of this repository.
const home = "https://registry.npmjs" + ".org"

func TestEntry(t *testing.T) {
	npm := `{"registryType": "npm", "registryBaseUrl": "` + home + `", "identifier": "@a/one", "version": "1.0.0-rc.1", "transport": {"type": "stdio"}%s}`
	oci := `{"registryType": "oci", "identifier": "docker.io/a/one:1.0"%s}`
	remote := `{"remotes": [{"type": "streamable-http", "url": %s}]}`
	pkg := func(p, more string) string { return `{"packages": [` + fmt.Sprintf(p, more) + `]}` }
	for _, tt := range []struct {
		name, server string
		request      Request
		want         string
	}{
		{"npm", pkg(npm, ""), Request{}, `{"args":["-y","@a/one@1.0.0-rc.1"],"command":"npx"}`},
		{"pypi", `{"packages": [{"registryType": "pypi", "identifier": "one", "version": "1.0.post1"}]}`, Request{}, `{"args":["one==1.0.post1"],"command":"uvx"}`},
		{"oci", pkg(oci, ""), Request{}, `{"args":["run","-i","--rm","docker.io/a/one:1.0"],"command":"docker"}`},
		{"oci of old", `{"packages": [{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "a/one", "version": "1.0"}]}`, Request{}, `{"args":["run","-i","--rm","ghcr.io/a/one:1.0"],"command":"docker"}`},
		{
			"arguments", pkg(npm, `, "runtimeArguments": [{"type": "positional", "value": "--yes"}, {"type": "named", "name": "--quiet", "isRequired": true, "format": "boolean"}],
			"packageArguments": [{"type": "positional", "value": "serve"}, {"type": "named", "name": "--port", "default": 80}, {"type": "named", "name": "-d", "value": "x y"},
			{"type": "named", "name": "--loud", "value": "false", "format": "boolean"}, {"type": "named", "name": "--left-out"}]`),
			Request{},
			`{"args":["--quiet","-y","@a/one@1.0.0-rc.1","serve","--port=80","-d","x y"],"command":"npx"}`,
		},
		{
			"inputs", pkg(npm, `, "packageArguments": [{"type": "positional", "valueHint": "dir", "isRequired": true, "isRepeated": true}, {"type": "positional", "value": "{a}-{b}-{c}",
			"variables": {"a": {"isRequired": true}, "b": {"default": "two"}}}]`),
			Request{Inputs: map[string][]string{"dir": {"/x", "${HOME}"}, "a": {"one"}}},
			`{"args":["-y","@a/one@1.0.0-rc.1","/x","${HOME}","one-two-{c}"],"command":"npx"}`,
		},
		{
			"a secret argument", pkg(npm, `, "packageArguments": [{"type": "named", "name": "--api-key", "isRequired": true, "isSecret": true}]`),
			Request{},
			`{"args":["-y","@a/one@1.0.0-rc.1","--api-key=${ONE_API_KEY}"],"command":"npx"}`,
		},
		{
			"variables", pkg(npm, `, "environmentVariables": [{"name": "KEY", "isRequired": true, "isSecret": true}, {"name": "OPT"}, {"name": "DEF", "default": "x"}, {"name": "FIX", "value": "a{b}", "variables": {"b": {"isRequired": true}}}, {"name": "MINE", "isRequired": true}]`),
			Request{Env: []string{"MINE"}},
			`{"args":["-y","@a/one@1.0.0-rc.1"],"command":"npx","env":{"DEF":"x","FIX":"a${ONE_B}","KEY":"${KEY}"}}`,
		},
		{
			"variables of a container", pkg(oci, `, "environmentVariables": [{"name": "KEY", "isRequired": true}, {"name": "DOCKER_HOST", "value": "tcp://evil"}, {"name": "MINE"}]`),
			Request{Env: []string{"MINE"}},
			`{"args":["run","-i","--rm","-e","DOCKER_HOST=tcp://evil","-e","KEY","-e","MINE","docker.io/a/one:1.0"],"command":"docker","env":{"KEY":"${KEY}"}}`,
		},
		{
			"remote", fmt.Sprintf(remote, `"https://a.example/mcp", "headers": [{"name": "X-Key", "isRequired": true}, {"name": "X-Opt", "isSecret": true}, {"name": "X-Fix", "value": "v"}, {"name": "X-Mine"}]`),
			Request{Header: []string{"x-mine"}},
			`{"headers":{"X-Fix":"v","X-Key":"${ONE_X_KEY}"},"type":"http","url":"https://a.example/mcp"}`,
		},
		{
			"a URL's parts", fmt.Sprintf(remote, `"https://{t}.a.example/{u}?k={k}", "variables": {"t": {"isRequired": true, "choices": ["eu", "us"]}, "k": {"isRequired": true, "isSecret": true}}`),
			Request{Inputs: map[string][]string{"t": {"eu"}, "u": {"mcp"}}},
			`{"type":"http","url":"https://eu.a.example/mcp?k=${ONE_K}"}`,
		},
		{"streamable HTTP first", `{"remotes": [{"type": "sse", "url": "https://a.example/sse"}, {"type": "streamable-http", "url": "https://a.example/mcp"}]}`, Request{}, `{"type":"http","url":"https://a.example/mcp"}`},
		{"a chosen kind", `{"packages": [` + fmt.Sprintf(npm, "") + `], "remotes": [{"type": "sse", "url": "https://a.example/sse"}]}`, Request{From: Remote}, `{"type":"sse","url":"https://a.example/sse"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := made(t, tt.server, tt.request, "npx", "uvx", "docker", "podman")
			if err != nil || got != tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, tt.want)
			}
		})
	}
}

// TestEntryHere holds that what can run here is taken, then what is reached, and that a lack is told.
func TestEntryHere(t *testing.T) {
	const (
		packages = `"packages": [{"registryType": "nuget", "identifier": "x", "version": "1.0.0"}, {"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "sse"}},
			{"registryType": "npm", "identifier": "one", "version": "1.0.0"}, {"registryType": "oci", "identifier": "a/one:1"}]`
		remotes = `, "remotes": [{"type": "sse", "url": "https://a.example/"}]`
	)
	for _, tt := range []struct {
		server   string
		from     string
		programs []string
		want     string
	}{
		{`{` + packages + remotes + `}`, "", []string{"npx", "docker"}, `"command":"npx"`},
		{`{` + packages + remotes + `}`, "", []string{"podman"}, `"command":"podman"`},
		{`{` + packages + remotes + `}`, "", nil, `"type":"sse"`},
		{`{` + packages + `}`, "", nil, `server "io.a/one" needs npx or docker, which is not in PATH; nothing was written`},
		{`{` + packages + `}`, "oci", nil, `"command":"docker"`},
		{`{` + packages + `}`, "pypi", nil, `is not offered as "pypi", but as "nuget", "npm", "oci"; nothing was written`},
		{`{"packages": [{"registryType": "mcpb"}]}`, "", nil, `is offered as "mcpb", which codemode can neither start nor reach`},
		{`{"title": "x"}`, "", nil, `is offered as nothing`},
	} {
		_, got, err := made(t, tt.server, Request{From: tt.from}, tt.programs...)
		if text := fmt.Sprint(got, err); !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: %s, want %s", tt.from, tt.programs, text, tt.want)
		}
	}
}

// TestHostile holds that no text of a publisher's is taken for more than it says.
func TestHostile(t *testing.T) {
	npm := func(id, version, more string) string {
		return fmt.Sprintf(`{"packages": [{"registryType": "npm", "identifier": %q, "version": %q%s}]}`, id, version, more)
	}
	oci := func(id string) string {
		return fmt.Sprintf(`{"packages": [{"registryType": "oci", "identifier": %q}]}`, id)
	}
	remote := func(url, more string) string {
		return fmt.Sprintf(`{"remotes": [{"type": "sse", "url": %q%s}]}`, url, more)
	}
	argument := func(in string) string { return npm("one", "1.0.0", `, "packageArguments": [`+in+`]`) }
	for _, server := range []string{
		npm("-c", "1.0.0", ""), npm("--call=x", "1.0.0", ""), npm("git+https://evil.example/x", "1.0.0", ""), npm("a/b", "1.0.0", ""),
		npm("../x", "1.0.0", ""), npm("./x", "1.0.0", ""), npm("one two", "1.0.0", ""), npm("one\n", "1.0.0", ""), npm("", "1.0.0", ""),
		npm("one", "", ""), npm("one", "latest", ""), npm("one", "^1.0.0", ""), npm("one", "1.0.0-x.tgz", ""),
		npm("one", "1.0.0 x", ""), npm("one", "https://x", ""),
		npm("one", "1.0.0", `, "registryBaseUrl": "https://evil.example"`), npm("one", "1.0.0", `, "registryBaseUrl": "https://evilnpmjs.org"`),
		`{"packages": [{"registryType": "pypi", "identifier": "--index-url=https://evil.example", "version": "1.0"}]}`,
		`{"packages": [{"registryType": "pypi", "identifier": "one", "version": "1.0 --with evil"}]}`,
		oci("--privileged"), oci("-v/:/host"), oci("a/one"), oci("a/one:1 x"), oci("a/one:1\u202e"), oci("a/one@sha256:12"),
		remote("http://a.example/", ""), remote("file:///etc/passwd", ""), remote("javascript:alert(1)", ""), remote("//a.example", ""), remote("", ""),
		remote("https://127.0.0.1/", ""), remote("https://[::1]/", ""), remote("https://localhost/", ""), remote("https://169.254.169.254/latest", ""),
		remote("https://2130706433/", ""), remote("https://10.1/", ""), remote("https://0x7f.1/", ""), remote("https://a.0x1/", ""),
		oci("ostree:x"), oci("docker-daemon:x"), oci("containers-storage:x"),
		remote("https://me:pw@a.example/", ""), remote("https://a.example/${HOME}", ""),
		remote("https://{k}.evil.example/", `, "variables": {"k": {"isRequired": true, "isSecret": true}}`),
		remote("https://a.example/", `, "headers": [{"name": "X", "value": "${AWS_SECRET_ACCESS_KEY}"}]`),
		remote("https://a.example/", `, "headers": [{"name": "X", "value": "{a}{b}", "variables": {"a": {"default": "$"}, "b": {"default": "{HOME}"}}}]`),
		remote("https://a.example/", `, "headers": [{"name": "X\r\nY", "value": "v"}]`),
		remote("https://a.example/", `, "headers": [{"name": "X", "value": "v\r\nY: z"}]`),
		argument(`{"type": "positional", "value": "a\u001b[2J"}`), argument(`{"type": "positional", "default": "${HOME:-x}"}`),
		argument(`{"type": "named", "name": "-", "value": "x"}`),
		argument(`{"type": "named", "name": "--a\u202eb", "value": "x"}`),
		argument(`{"type": "positional", "value": "` + strings.Repeat("x", maxText+1) + `"}`),
		argument(strings.Repeat(`{"type": "positional", "value": "x"}, `, maxInputs) + `{"type": "positional", "value": "x"}`),
		argument(`{"type": "positional", "valueHint": "a\u0007", "isRequired": true}`),
		npm("one", "1.0.0", `, "environmentVariables": [{"name": "A=B", "value": "x"}]`),
		npm("one", "1.0.0", `, "environmentVariables": [{"name": "A", "value": "$"}]`),
	} {
		_, got, err := made(t, server, Request{}, "npx", "uvx", "docker")
		var refused *EntryError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %s, %v", server, got, err)
		}
	}
}

// TestOtherCode holds that the publisher of an entry chooses nothing that would have another package than the one that is
// named, or other code than its own, started.
func TestOtherCode(t *testing.T) {
	const (
		npm  = `{"packages": [{"registryType": "npm", "identifier": "one", "version": "1.0.0", `
		pypi = `{"packages": [{"registryType": "pypi", "identifier": "one", "version": "1.0", `
		oci  = `{"packages": [{"registryType": "oci", "identifier": "ghcr.io/a/one:1.0", `
	)
	named := func(name, value string) string {
		return fmt.Sprintf(`{"type": "named", "name": %q, "value": %q}`, name, value)
	}
	word := func(value string) string { return fmt.Sprintf(`{"type": "positional", "value": %q}`, value) }
	arguments := func(kind string, list ...string) string {
		return kind + `"runtimeArguments": [` + strings.Join(list, ", ") + `]}]}`
	}
	variable := func(kind, name, value string) string {
		return kind + fmt.Sprintf(`"environmentVariables": [{"name": %q, "value": %q, "variables": {"s": {"isRequired": true, "isSecret": true}}}]}]}`, name, value)
	}
	refused := map[string]string{
		arguments(npm, named("--registry", "http://evil.example")):                            `npx the argument "--registry=http://evil.example"`,
		arguments(npm, named("--package", "evil-pkg")):                                        `"--package=evil-pkg"`,
		arguments(npm, named("-p", "evil-pkg")):                                               `"-p"`,
		arguments(npm, word("-y"), word("evil-pkg")):                                          `"evil-pkg"`,
		arguments(npm, word("--")):                                                            `"--"`,
		arguments(npm, named("--loglevel", "silent --call x")):                                `"--loglevel=silent --call x"`,
		arguments(npm, `{"type": "named", "name": "--userconfig", "default": "/tmp/x"}`):      `"--userconfig=/tmp/x"`,
		arguments(pypi, named("--index-url", "http://evil.example"), named("--with", "evil")): `uvx the argument "--index-url=http://evil.example"`,
		arguments(pypi, named("--from", "evil")):                                              `"--from=evil"`,
		arguments(pypi, named("--python", "./evil")):                                          `"--python=./evil"`,
		arguments(pypi, word("--python"), word("evil")):                                       `"--python"`,
		arguments(pypi, word("--python")):                                                     `"--python"`,
		arguments(oci, word("evil/image:1")):                                                  `docker the argument "evil/image:1"`,
		arguments(oci, named("-P", "evil/image:1")):                                           `"evil/image:1"`,
		arguments(oci, word("-v")):                                                            `"-v"`,
		arguments(oci, word("--"), word("evil/image:1")):                                      `"--"`,
		arguments(oci, word("--unknown")):                                                     `"--unknown"`,
		arguments(oci, named("--rootfs", "true")):                                             `"--rootfs=true"`,
		arguments(oci, `{"type": "named", "name": "-e", "value": "DOCKER_HOST=tcp://evil.example/{s}", "variables": {"s": {"isRequired": true, "isSecret": true}}}`): `the variable "DOCKER_HOST"`,
		variable(oci, "DOCKER_HOST", "tcp://evil.example/{s}"): `the variable "DOCKER_HOST"`,
		variable(oci, "LD_PRELOAD", "/x/{s}"):                  `the variable "LD_PRELOAD"`,
	}
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH PATH Path HOME XDG_CONFIG_HOME
		npm_config_registry NPM_CONFIG_USERCONFIG PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONWARNINGS UV_INDEX_URL UV_DEFAULT_INDEX PIP_INDEX_URL
		HTTPS_PROXY http_proxy SSL_CERT_FILE NODE_EXTRA_CA_CERTS BASH_ENV GIT_SSH_COMMAND SHELLOPTS PS4 ENV PROMPT_COMMAND CC RUSTC_WRAPPER
		CARGO_HOME LUA_INIT LUA_PATH R_PROFILE_USER PHPRC PHP_INI_SCAN_DIR GEM_HOME BUNDLE_GEMFILE JULIA_LOAD_PATH MAVEN_OPTS GRADLE_OPTS
		CORECLR_PROFILER BROWSER MANPAGER LESSOPEN GOFLAGS GOPROXY YARN_REGISTRY YARN_RC_FILENAME DOCKER_HOST CONTAINER_HOST DOCKER_CONFIG
		KUBECONFIG AWS_CONFIG_FILE AWS_ENDPOINT_URL GRPC_DEFAULT_SSL_ROOTS_FILE_PATH FTP_PROXY GTK_MODULES GIO_EXTRA_MODULES QT_PLUGIN_PATH
		GDK_PIXBUF_MODULE_FILE RUSTUP_TOOLCHAIN SOME_TOOL_OPTS`) {
		refused[variable(npm, name, "x")] = fmt.Sprintf(`the variable %q`, name)
		refused[pypi+fmt.Sprintf(`"environmentVariables": [{"name": %q, "default": "x"}]}]}`, name)] = fmt.Sprintf(`the variable %q`, name)
	}
	for server, want := range refused {
		_, got, err := made(t, server, Request{}, "npx", "uvx", "docker")
		var e *EntryError
		if !errors.As(err, &e) || !strings.Contains(e.What, want) || len(hint.Of(err)) != 1 {
			t.Errorf("%s\n got %s, %v, %q\nwant %s", server, got, err, hint.Of(err), want)
		}
	}
	engine := arguments(oci, word("-v"), word("/a:/b"), named("-v", "/c:/d"), word("-e=A=b"), word("--init"))
	for server, want := range map[string]string{
		arguments(npm, word("-y"), named("--loglevel", "silent"), word("--quiet")):    `["--loglevel=silent","--quiet","-y","one@1.0.0"]`,
		arguments(pypi, named("--python", "3.12"), named("-p", ">=3.11"), word("-q")): `["--python=3.12","-p","\u003e=3.11","-q","one==1.0"]`,
		engine:                                     `["run","-i","--rm","-v","/a:/b","-v","/c:/d","-e=A=b","--init","ghcr.io/a/one:1.0"]`,
		variable(npm, "NODE_ENV", "production"):    `"env":{"NODE_ENV":"production"}`,
		variable(pypi, "PYTHONUNBUFFERED", "1"):    `"env":{"PYTHONUNBUFFERED":"1"}`,
		variable(npm, "API_BASE_URL", "https://x"): `"API_BASE_URL":"https://x"`,
		variable(npm, "MEMORY_FILE_PATH", "/x"):    `"MEMORY_FILE_PATH":"/x"`,
		variable(oci, "PATH", "/usr/bin"):          `"-e","PATH=/usr/bin"`, // in the container
		npm + `"environmentVariables": [{"name": "HTTPS_PROXY", "isRequired": true}]}]}`: `"HTTPS_PROXY":"${HTTPS_PROXY}"`,
	} {
		if _, got, err := made(t, server, Request{}, "npx", "uvx", "docker"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s\n got %s, %v\nwant %s", server, got, err, want)
		}
	}
	_, got, err := made(t, variable(npm, "NODE_OPTIONS", "--require=./evil"), Request{Env: []string{"NODE_OPTIONS"}}, "npx")
	if err != nil || strings.Contains(got, "evil") {
		t.Errorf("a variable of the user's own: %s, %v", got, err)
	}
}

// TestNeeds holds that the user learns what to set, what to say, and what may be said.
func TestNeeds(t *testing.T) {
	const server = `{"packages": [{"registryType": "npm", "identifier": "one", "version": "1.0.0",
		"environmentVariables": [{"name": "KEY", "isRequired": true, "description": "a  key\n"}, {"name": "OPT", "choices": ["a", "b"]}],
		"packageArguments": [{"type": "positional", "valueHint": "target dir", "isRequired": true, "format": "filepath"},
			{"type": "named", "name": "--mode", "choices": ["fast", "slow"]}]}]}`
	_, _, err := made(t, server, Request{}, "npx")
	if err == nil || err.Error() != `server "io.a/one" needs to be told "target dir"; nothing was written` {
		t.Error(err)
	}
	if got := strings.Join(hint.Of(err), "\n"); got != "target dir: (filepath)\ncodemode servers add io.a/one --set 'target dir=VALUE'" {
		t.Errorf("hints %q", got)
	}
	inputs := map[string][]string{"target dir": {"/x"}}
	e, _, err := made(t, server, Request{Inputs: inputs}, "npx")
	if err != nil || fmt.Sprint(e.Needs, e.Optional) != "[{KEY -e a key}] [{OPT -e (one of a, b)} {mode --set (one of fast, slow)}]" {
		t.Errorf("%v %v, %v", e.Needs, e.Optional, err)
	}
	inputs["mode"] = []string{"slwo"}
	_, _, err = made(t, server, Request{Inputs: inputs}, "npx")
	if err == nil || !strings.Contains(err.Error(), `takes one of fast, slow as its input "mode"`) {
		t.Error(err)
	}
	delete(inputs, "mode")
	inputs["mdoe"] = []string{"fast"}
	_, _, err = made(t, server, Request{Inputs: inputs}, "npx")
	if err == nil || !strings.Contains(err.Error(), `has no input "mdoe"`) || !slices.Equal(hint.Of(err), []string{`did you mean "mode"?`}) {
		t.Errorf("%v, %q", err, hint.Of(err))
	}
}
