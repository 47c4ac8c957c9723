package clientcfg

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
)

// TestStartsSame knows one server by all its spellings, and tells others from it. Words are separated by |, and a
// folder to start in stands before >.
func TestStartsSame(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"a/srv.py", "b/srv.py", "a/sub/x.js", "bin/py", "b/word"} {
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(home, "a/srv.py"), filepath.Join(home, "hard.py")); err != nil {
		t.Skip(err)
	}
	env := Env{OS: "linux", Home: home, Lookup: func(name string) (string, bool) {
		value := map[string]string{"PATH": filepath.Join(home, "bin"), "A": filepath.Join(home, "a")}[name]
		return value, value != ""
	}}
	entry := func(line string) (s config.Server) {
		line = strings.ReplaceAll(line, "HOME", home)
		if strings.HasPrefix(line, "http") {
			return config.Server{URL: line, Dialect: config.DialectOwn}
		}
		cwd, line, there := strings.Cut(line, ">")
		words := strings.Split(cmp.Or(line, cwd), "|")
		if there {
			s.Cwd = cwd
		}
		s.Command, s.Args, s.Dialect = words[0], words[1:], config.DialectOwn
		return s
	}
	for _, tt := range []struct {
		there           string
		same, different []string
	}{
		{
			"HOME/a>py|srv.py",
			[]string{
				"py|HOME/a/srv.py", "HOME>py|a/srv.py", "HOME/a>HOME/bin/py|./srv.py", "~/a>py|srv.py", "${A}>py|srv.py",
				"py|~/a/srv.py", "py|${A}/srv.py", "py|HOME/b/../a/srv.py", "py|HOME/hard.py", "py|a/srv.py",
				"env|X=1|py|HOME/a/srv.py",
			},
			[]string{"HOME/b>py|srv.py", "py|HOME/b/srv.py", "HOME/a>py|srv.py|x", "HOME/a>other|srv.py"},
		},
		{"py|HOME/a/srv.py", []string{"HOME/a>py|srv.py", "HOME>py|a/srv.py"}, []string{"HOME/b>py|srv.py"}},
		{"HOME/a>py|sub", []string{"py|HOME/a/sub", "py|HOME/a/sub/"}, []string{"py|HOME/a/sub/x.js"}},
		{"py|word|--root=/x/y", []string{
			"HOME/b>py|word|--root=/x/y", "py|word|--root|/x/y/", "py|word|--root=/x/./y",
		}, []string{"py|word|--root=/x/z"}},
		{
			"npx|-y|@mcp/mem@1.0|--root|/x",
			[]string{
				"npx|@mcp/mem|--root|/x", "npx|--yes|@mcp/mem@latest|--root=/x/", "npm|exec|-y|--|@mcp/mem|--root|/x",
				"npm|x|@mcp/mem|--|--root|/x", "npm|--silent|exec|@mcp/mem|--root|/x", "pnpm|dlx|@mcp/mem|--root|/x",
				"npm|--loglevel|error|x|@mcp/mem|--|--root|/x", "pnpx|@mcp/mem|--root|/x", "yarn|dlx|@mcp/mem|--root|/x",
				"bunx|@mcp/mem|--root|/x", "bun|x|@mcp/mem|--root|/x", "npx|-p|@mcp/mem|mem|--root|/x",
				"npx|--package=@mcp/mem|mem|--root|/x", "npx|--registry=https://r.example|@mcp/mem|--root|/x",
				"npx|-y|--loglevel|silent|@mcp/mem|--root|/x", "npx|--registry|https://r.example|@mcp/mem@2|--root|/x",
				"npx|-y|--cache|/tmp/x|@mcp/mem|--root=/x", "npx|--new-option|value|@mcp/mem|--root|/x",
				"deno|run|-A|npm:@mcp/mem|--root|/x", "corepack|pnpm|dlx|@mcp/mem|--root|/x",
				"mise|x|--|npx|@mcp/mem|--root|/x", "sh|-c|npx -y @mcp/mem --root /x",
				"npx|a@npm:@mcp/mem@1|--root|/x", "npx|npm:@mcp/mem|--root|/x", "HOME>npx|@mcp/mem|--root|/x",
			},
			[]string{
				"npx|@mcp/mem", "npx|@mcp/mem2|--root|/x", "npx|-p|@mcp/mem|other|--root|/x", "uvx|mem|--root|/x",
				"npx|--new-option|@mcp/mem|other|--root|/x", "npx|x|@mcp/mem",
			},
		},
		{
			"uvx|my-pkg|--db|/x",
			[]string{
				"uvx|My_Pkg|--db|/x", "uvx|my.--pkg==1|--db|/x", "uvx|my-pkg@latest|--db|/x", "uvx|my-pkg<2|--db|/x",
				"uvx|my-pkg[cli]~=1.0|--db|/x", "uvx|--python|3.12|my-pkg|--db|/x", "uvx|--with|x|MY-PKG|--db|/x",
				"uv|run|--with|my-pkg|my-pkg|--db|/x", "uvx|--cache-dir|/c|my-pkg|--db|/x", "pixi|exec|my_pkg|--db|/x",
				"uv|tool|run|my-pkg|--db|/x", "uv|--quiet|tool|run|my-pkg|--db|/x", "pipx|run|my-pkg|--db|/x",
				"uvx|--from|my-pkg|my_pkg|--db|/x", "uvx|--from|my-pkg @ git+https://x.example/y|my-pkg|--db|/x",
			},
			[]string{"npx|--new-option|value|my-pkg|--db|/x", "uvx|my-pkg2|--db|/x", "uvx|my-pkg", "uvx|git+https://x.example/my-pkg|--db|/x"},
		},
		{
			"docker|run|-i|--rm|-e|TOKEN|ghcr.io/o/x:1|serve",
			[]string{
				"docker|run|ghcr.io/o/x|serve", "podman|run|-i|ghcr.io/o/x:2|serve", "nerdctl|run|ghcr.io/o/x|serve",
				"docker|run|ghcr.io/o/x@sha256:00|serve", "docker|run|ghcr.io/o/x:1@sha256:00|serve",
				"docker|container|run|ghcr.io/o/x|serve", "docker|--host|x|run|ghcr.io/o/x|serve",
				"docker|--context=x|run|ghcr.io/o/x|serve", "docker|run|-iv|/a:/b|ghcr.io/o/x|serve",
				"docker|run|-eAv|ghcr.io/o/x|serve", "docker|run|--network|host|ghcr.io/o/x|serve",
				"docker|run|--new-option|value|ghcr.io/o/x|serve", "HOME>docker|run|ghcr.io/o/x|serve", "podman|run|docker://ghcr.io/o/x|serve",
			},
			[]string{"docker|run|ghcr.io/o/x", "docker|run|ghcr.io/o/y|serve", "docker|run|ghcr.io:1/o/x|serve"},
		},
		{
			"docker|run|mcp/x",
			[]string{"docker|run|docker.io/mcp/x:2", "podman|run|index.docker.io/mcp/x", "docker|run|registry-1.docker.io/mcp/x"},
			[]string{"docker|run|mcp/y", "docker|run|quay.io/mcp/x"},
		},
		{"deno|run|-A|npm:mem", []string{"deno|run|--allow-net|npm:mem@2", "npx|-y|--loglevel|x|mem"}, []string{"deno|run|npm:mem2"}},
		{"npx|-y|--new-option|value|mem|x", []string{"npx|mem|x", "bunx|mem|x"}, []string{"npx|mem|y"}},
		{"podman|run|node", []string{"docker|run|docker.io/library/node:22"}, []string{"docker|run|me/node"}},
		{
			"http://localhost:1/mcp",
			[]string{"http://127.0.0.1:1/mcp/", "http://[::1]:1/mcp", "npx|mcp-remote@1|http://127.0.0.1:1/mcp"},
			[]string{"http://localhost:1/mcp?x=1", "https://localhost:1/mcp", "npx|mcp-remote|http://localhost:2/mcp"},
		},
	} {
		for want, lines := range map[bool][]string{true: append(tt.same, tt.there), false: tt.different} {
			for _, line := range lines {
				a, b := entry(tt.there), entry(line)
				if StartsSame(a, b, env) != want || StartsSame(b, a, env) != want {
					t.Errorf("%q and %q start the same: %v, want %v", tt.there, line, !want, want)
				}
			}
		}
	}
}
