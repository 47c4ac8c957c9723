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
		{"lua srv.lua", "LUA_PATH_5_4=DIR/?.lua;;", true},
		{"lua srv.lua", "LUA_INIT=@/DIR/x.js", true},
		{"dotnet srv.dll", "DOTNET_STARTUP_HOOKS=DIR/x.js", true},
		{"julia srv.jl", "JULIA_PROJECT=DIR", true},
		{"make serve", "MAKEFILES=a DIR/x.js", true},
		{"git srv", "GIT_EXEC_PATH=DIR", true},
		{"uvicorn --app-dir DIR srv:app", "", true},
		{"uvx --with-editable DIR srv", "", true},
		{"nix develop DIR", "", true},
		{"direnv exec DIR srv", "", true},
		{"mise -C DIR x -- srv", "", true},
		{"nix run DIR", "", true},
		{"timeout -s KILL 9 uv --directory DIR run srv.py", "", true},
		{"nice -n 5 sh -c cd_DIR", "", true},
		{"bwrap --ro-bind DIR /app python3 /app/srv.py", "", true},
		{"fastmcp run --project DIR srv.py", "", true},
		{"fastmcp run srv.py --project DIR", "", true},
		{"uvx fastmcp run srv.py:app --with x --project DIR", "", true},
		{"gradle -p DIR run", "", true},
		{"gradle run --project-dir DIR", "", true},
		{"./gradlew run -p DIR", "", true},
		{"mvn -f DIR exec:java", "", true},
		{"mvn exec:java -f DIR", "", true},
		{"nodemon --cwd DIR srv.js", "", true},
		{"env -S uv_--directory_DIR_run_srv.py", "", true},
		{"env -iSuv_--directory_DIR_run_srv.py", "", true},
		{"env --split-string=A=1_uv_--directory_DIR_run_srv.py", "", true},
		{"npm run serve --prefix DIR -- --root /data", "", true},
		{"pnpm -C DIR start", "", true},
		{"pnpm --filter srv --dir DIR start", "", true},
		{"yarn --cwd DIR start", "", true},
		{"bun --cwd DIR run srv", "", true},
		{"cargo run --bin srv --manifest-path DIR/x.js", "", true},
		{"go -C DIR run .", "", true},
		{"dotnet run -c Release --project DIR", "", true},
		{"poetry -P DIR run srv", "", true},
		{"hatch -p DIR run srv", "", true},
		{"pdm run -p DIR srv", "", true},
		{"pixi run --manifest-path DIR/x.js srv", "", true},
		{"deno run -A --config DIR/x.js srv.ts", "", true},
		{"tsx --tsconfig DIR/x.js srv.ts", "", true},
		{"perl -w -IDIR srv.pl", "", true},
		{"ruby -IDIR -C /x srv.rb", "", true},
		{"java -Xmx2g -classpath a:DIR Main", "", true},
		{"java -cp a.jar:DIR -jar srv.jar", "", true},
		{"php -c DIR srv.php", "", true},
		{"make serve -C DIR", "", true},
		{"just -f x -d DIR serve", "", true},
		{"task serve --dir DIR", "", true},
		{"conda run -n main --cwd DIR python3 srv.py", "", true},
		{"dotenv -e x -- uv --directory DIR run srv.py", "", true},
		{"op run --env-file=x -- npm --prefix DIR start", "", true},
		{"julia --project=DIR srv.jl", "", true},
		{"swift run --package-path DIR srv", "", true},
		{"uv run --group dev --directory DIR srv.py", "", true},
		{"srv", "DOCKER_CONFIG=DIR", true},
		{"srv", "KUBECONFIG=a:DIR/x.js", true},
		{"srv", "GIT_ASKPASS=DIR/x.js", true},
		{"srv", "GIT_CONFIG_VALUE_0=DIR/x.js -n", true},
		{"srv", "OPENSSL_MODULES=DIR", true},
		{"srv", "XDG_CONFIG_DIRS=/etc/xdg:DIR", true},
		{"srv", "npm_config_cache=DIR", true},
		{"timeout 9 mcp-server-filesystem DIR", "", false},
		{"npm exec -y server-filesystem DIR", "", false},
		{"npm exec server-filesystem -- --prefix DIR", "", false},
		{"npx -y server-filesystem --prefix DIR", "", false},
		{"fastmcp run srv.py -- --project DIR", "", false},
		{"uvx --from serena serena --project DIR", "", false},
		{"uv run srv.py --directory DIR", "", false},
		{"dotnet srv.dll --directory DIR", "", false},
		{"make serve ROOT=DIR", "", false},
		{"python3 -I srv.py DIR", "", false},
		{"conda run -n main python3 srv.py DIR", "", false},
		{"env -S npx_-y_server-filesystem_DIR", "", false},
		{"srv -S uv_--directory_DIR_run", "", false},
		{"nice -n 5 npx -y server-filesystem DIR", "", false},
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
		for i, w := range words { // a script's spaces
			if i > 0 && (words[i-1] == "-c" || words[i-1] == "-lc" || words[0] == "env" || words[i-1] == "-S") {
				words[i] = strings.ReplaceAll(w, "_", " ")
			}
		}
		env := map[string]string{}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			env[name] = value
		}
		found := slices.ContainsFunc(CodePaths(words[0], words[1:], env), func(path string) bool {
			return strings.TrimPrefix(path, "/") == "DIR" || strings.TrimPrefix(path, "/") == "DIR/x.js"
		})
		if found != c.code {
			t.Errorf("%s %s: found %v: %q", c.line, c.env, found, CodePaths(words[0], words[1:], env))
		}
	}
}

// TestImportsFromCwd: what is started looks for code where it is started, or does not; and which modules it names.
func TestImportsFromCwd(t *testing.T) {
	for line, want := range map[string]string{
		"python3 -m srv":                           "python srv",
		"/usr/bin/python3.12 -um a.b":              "python a",
		"python -u -c import_a":                    "python import a",
		"python -cimport_a.b":                      "python import a b",
		"python3 -ma.b.c":                          "python a",
		"uv run python -m srv":                     "project",
		"npm start":                                "project",
		"npm exec pkg":                             "node",
		"pnpm dlx pkg":                             "node",
		"make serve":                               "project",
		"uv tool run srv":                          "",
		"python3 -W ignore -X dev -m srv":          "python srv",
		"python3 -WIgnore -m srv":                  "python srv",
		"python3 -W ignore srv.py -m":              "",
		"python3 --check-hash-based-pycs -m a":     "python a",
		"uv run --with mcp python -m srv":          "project",
		"env A=1 python3 -m srv":                   "python srv",
		"timeout 9 python3 -m pk.sub.srv":          "python pk",
		"timeout -k 5 9 nice -n 5 python3 -m pk.b": "python pk",
		"timeout 9 srv":                            "",
		"bash -lc cd_x_&&_python3_-m_srv":          "python srv",
		"timeout 9 bash -c cd_x_&&_python3_-m_srv": "python srv",
		"python3 -I -m srv":                        "",
		"python3 srv.py -m":                        "",
		"uvicorn pk.sub.srv:app --port 80":         "python pk",
		"python -m uvicorn --reload pk.srv:app":    "python pk uvicorn",
		"npx -y pkg":                               "node",
		"sh -c exec_npx_-y_pkg":                    "node",
		"node srv.js":                              "node",
		"uvx srv":                                  "",
		"srv python3 -m":                           "",
		"env -S python3_-m_pk.srv":                 "python pk",
		"conda run -n main python3 -m pk.srv":      "python pk",
		"op run --env-file=x -- npx -y pkg":        "node",
		"nodemon srv.js":                           "node",
		"./gradlew run":                            "project",
		"mvn exec:java":                            "project",
	} {
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 && (strings.HasSuffix(words[i-1], "c") || words[i-1] == "-S") || strings.HasPrefix(w, "-cimport") {
				words[i] = strings.ReplaceAll(w, "_", " ")
			}
		}
		kind, modules := ImportsFromCwd(words[0], words[1:])
		if got := strings.Join(append([]string{kind}, modules...), " "); got != want {
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
