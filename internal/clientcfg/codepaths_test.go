package clientcfg

import (
	"slices"
	"strings"
	"testing"
)

// TestCodePaths finds the folder whose code a server executes, and takes none for it that is its data.
func TestCodePaths(t *testing.T) {
	for _, c := range []struct {
		line string
		env  string
		code bool
	}{
		{"uv --directory DIR run srv.py", "", true},
		{"uv --directory=DIR run srv.py", "", true},
		{"uv run --directory DIR srv.py", "", true},
		{"uv --python 3.12 run --project DIR srv.py --root /data", "", true},
		{"uvx --from DIR srv", "", true},
		{"uvx --from=DIR srv", "", true},
		{"npm --prefix DIR start", "", true},
		{"npm --prefix=DIR run serve", "", true},
		{"npx -y DIR", "", true},
		{"go run -C DIR .", "", true},
		{"go run DIR", "", true},
		{"python3 DIR", "", true},
		{"python3.12 -u DIR", "", true},
		{"node DIR", "", true},
		{"node --import DIR/x.js srv.js", "", true},
		{"make -C DIR serve", "", true},
		{"make -CDIR serve", "", true},
		{"env -C DIR node srv.js", "", true},
		{"env A=1 PYTHONPATH=DIR python3 -m srv", "", true},
		{"sh -c cd_DIR_&&_node_srv.js", "", true},
		{"bash -lc PYTHONPATH=DIR_python3_-m_srv", "", true},
		{"sh -c exec_uv_--directory_DIR_run_srv", "", true},
		{"node srv.js", "NODE_OPTIONS=--require=DIR/x.js", true},
		{"python3 -m srv", "PYTHONPATH=/lib:DIR", true},
		{"srv", "PATH=DIR:/bin", true},
		{"node srv.js", "NODE_COMPILE_CACHE=DIR", true},
		{"uvicorn --app-dir DIR srv:app", "", true},
		{"uvx --with-editable DIR srv", "", true},
		{"nix develop DIR", "", true},
		{"direnv exec DIR srv", "", true},
		{"mise -C DIR x -- srv", "", true},
		{"nix run DIR", "", true},
		{"npx -y @modelcontextprotocol/server-filesystem DIR", "", false},
		{"uvx mcp-server-git --repository DIR", "", false},
		{"python3 -m mcp_server_git --repository DIR", "", false},
		{"uv run --with mcp srv.py DIR", "", false},
		{"sh -c npx_-y_server-filesystem_DIR", "", false},
		{"mcp-server-filesystem DIR", "", false},
		{"docker run -v DIR:/data image", "", false},
		{"srv", "DATA=DIR", false},
		{"sh", "", false},
		{"sh -c", "", false},
		{"sh -c sh", "", false},
		{"sh -c A=1", "", false},
		{"uv --directory", "", false},
		{"env", "", false},
	} {
		words := strings.Fields(c.line)
		if len(words) == 3 && slices.Contains(shells, words[0]) { // a script's spaces
			words[2] = strings.ReplaceAll(words[2], "_", " ")
		}
		env := map[string]string{}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			env[name] = value
		}
		found := slices.ContainsFunc(CodePaths(words[0], words[1:], env), func(path string) bool {
			return path == "DIR" || path == "DIR/x.js"
		})
		if found != c.code {
			t.Errorf("%s %s: found %v: %q", c.line, c.env, found, CodePaths(words[0], words[1:], env))
		}
	}
}

// TestImportsFromCwd: what is started looks for code where it is started, or does not.
func TestImportsFromCwd(t *testing.T) {
	for line, want := range map[string]string{
		"python3 -m srv":                  PythonModules,
		"/usr/bin/python3.12 -um a.b":     PythonModules,
		"python -u -c import_a":           PythonModules,
		"uv run python -m srv":            WholeFolder,
		"npm start":                       WholeFolder,
		"npm exec pkg":                    NodeModules,
		"pnpm dlx pkg":                    NodeModules,
		"make serve":                      WholeFolder,
		"uv tool run srv":                 "",
		"python3 -W ignore -X dev -m srv": PythonModules,
		"python3 -WIgnore -m srv":         PythonModules,
		"uv run --with mcp python -m srv": WholeFolder,
		"env A=1 python3 -m srv":          PythonModules,
		"bash -lc cd_x_&&_python3_-m_srv": PythonModules,
		"python3 -I -m srv":               "",
		"python3 srv.py -m":               "",
		"npx -y pkg":                      NodeModules,
		"sh -c exec_npx_-y_pkg":           NodeModules,
		"node srv.js":                     NodeModules,
		"uvx srv":                         "",
		"srv python3 -m":                  "",
	} {
		words := strings.Fields(line)
		if len(words) == 3 && slices.Contains(shells, words[0]) {
			words[2] = strings.ReplaceAll(words[2], "_", " ")
		}
		if got := ImportsFromCwd(words[0], words[1:]); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestQuotedWords: what is quoted is one word, whatever is in it.
func TestQuotedWords(t *testing.T) {
	for text, want := range map[string][]string{
		`cd '/a b' && ./run`:              {"/a b"},
		`cd /a\ b;x "/c(d" e`:             {"/a b", "/c(d"},
		`exec "/a \"b\""'/c d' >"/e"`:     {`/a "b"/c d`, "/e"},
		`--require "/a b/i.js" --x="/c,"`: {"/a b/i.js", "/c,"},
		`cd '/a\ b'`:                      {`/a\ b`},
		`nothing of it /a`:                nil,
		`'/begun`:                         {"/begun"},
	} {
		if got := quotedWords(text); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", text, got, want)
		}
	}
}
