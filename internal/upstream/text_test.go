package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/redact"
)

func TestParseEnvelope(t *testing.T) {
	for _, c := range []struct {
		line string
		want envelope
		err  error
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"a": [1] }}`, envelope{id: 7, result: json.RawMessage(`{"a": [1] }`)}, nil},
		{`{"result":{"id":8},"jsonrpc":"2.0","id":7}`, envelope{id: 7, result: json.RawMessage(`{"id":8}`)}, nil},
		{`{"id":7,"error":{"code":1},"result":null}`, envelope{id: 7, err: json.RawMessage(`{"code":1}`), result: json.RawMessage("null")}, nil},
		{`{"id":7,"error":null,"result":{}}`, envelope{id: 7, result: json.RawMessage("{}")}, nil},
		{`{"method":"ping","id":"a"}`, envelope{method: "ping"}, nil},
		{`{"id":7,"result":{"x":NaN}}`, envelope{id: 7, result: json.RawMessage(`{"x":NaN}`)}, errInvalid},
		{`{"method":"ping","id":7,"params":NaN}`, envelope{}, errInvalid},
		{`{"result":{"x":NaN},"jsonrpc":"2.0","id":7}`, envelope{id: 7}, errInvalid},
		{`{"id":7,"result":{}} {}`, envelope{id: 7}, errInvalid},
		{`{"id":7,"result":[1,2`, envelope{id: 7}, errInvalid},
		{`{"id":6,"\u0069d":7.0,"method":null,"result" : {} }`, envelope{id: 7, result: json.RawMessage(`{}`)}, nil},
		{`{"id":7,"result":"\ud83d"}`, envelope{id: 7, result: json.RawMessage(`"\ud83d"`)}, nil},
		{`{"id":7,"result":{"isError":false,"content":[{"isError":1}],"x":"isError"}}`, envelope{
			id: 7, result: json.RawMessage(`{"isError":false,"content":[{"isError":1}],"x":"isError"}`),
		}, nil},
		{`{"id":7,"result":{"isError":false,"is\u0045rror":true}}`, envelope{id: 7}, errTwice},
		{`{"result":{"isError":null,"isError":true},"id":7}`, envelope{id: 7}, errTwice},
		{`[1]`, envelope{}, errNotObject},
		{``, envelope{}, errNotObject},
		{`{"id":7,"result":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, envelope{id: 7}, errDepth},
		{`{"result":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"id":7}`, envelope{id: 7}, errDepth},
		{`{"id":7,"result":` + strings.Repeat("[", 2000), envelope{id: 7}, errDepth},
		{`{"id":7,"params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"method":"x"}`, envelope{}, errDepth},
		{`{"id":7,"result":"` + strings.Repeat("[", 2000) + `\"["}`, envelope{id: 7, result: json.RawMessage(`"` + strings.Repeat("[", 2000) + `\"["`)}, nil},
		{"{\"id\":7,\"result\":\"\xff\"}", envelope{id: 7, result: json.RawMessage(`"` + "\ufffd" + `"`)}, nil},
	} {
		got, err := parseEnvelope([]byte(c.line))
		got.values = 0
		if !errors.Is(err, c.err) || err == nil && !reflect.DeepEqual(got, c.want) || got.id != c.want.id {
			t.Errorf("parseEnvelope(%.60s) is %.100v, %v, want %.100v, %v", c.line, got, err, c.want, c.err)
		}
	}
}

// Whatever a server sends, it costs at most its own message.
func FuzzParseEnvelope(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	f.Add(`{"id":1e400,"error":"x"}`)
	f.Add(`{"a\"":"\\`)
	f.Fuzz(func(t *testing.T, line string) {
		env, err := parseEnvelope([]byte(line))
		if err == nil && env.result != nil && !json.Valid(env.result) {
			t.Errorf("%q has the result %q", line, env.result)
		}
		if env.err != nil {
			_ = wireError(env.err).Error()
		}
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	in := "one\n\n  two \r\n" + long + "\nlast\nwithout end"
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(in), "in halves": iotest.HalfReader(strings.NewReader(in)),
	} {
		lines := newLineReader(r, 1<<20)
		for _, want := range []string{"one", "", "two", long, "last"} {
			if got, err := lines.next(); string(got) != want || err != nil {
				t.Errorf("%s: the line is %.20q, %v, want %.20q", name, got, err, want)
			}
		}
		if got, err := lines.next(); got != nil || err != io.EOF {
			t.Errorf("%s: the end is %q, %v", name, got, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	x := strings.Repeat("x", 150<<10)
	for _, c := range []struct {
		line string
		id   int64
	}{
		{`{"jsonrpc":"2.0","id":12,"result":"` + x + `"}`, 12},
		{`{"result":{"x":"` + x + `"},"jsonrpc":"2.0","id":12}`, 12},
		{`{"result":{"x":"` + x + `"},"jsonrpc":"2.0"}`, 0},
		{x, 0},
	} {
		lines := newLineReader(strings.NewReader(c.line+"\nnext\n"), 100<<10)
		_, err := lines.next()
		var long *longLineError
		if !errors.As(err, &long) || long.id != c.id {
			t.Errorf("%.30s: the error is %+v, want id %d", c.line, err, c.id)
		}
		if got, err := lines.next(); string(got) != "next" || err != nil {
			t.Errorf("%.30s: the next line is %q, %v", c.line, got, err)
		}
	}
}

// TestRedactorOfAll holds that no secret shows what another, of whichever server, has no part in.
func TestRedactorOfAll(t *testing.T) {
	server := func(name, value string) config.Server {
		return config.Server{Name: name, Command: "none", Env: map[string]string{"V": value}}
	}
	lookup := user(nil)
	p := NewPool(Options{Lookup: lookup, Expand: expandWith(lookup), Servers: []config.Server{
		server("db", "postgres-Tr0ub4dor"),
		server("web", "postgres"),
		server("ci", "the-post"),
		server("x", "ub4dor-and-on"),
	}})
	for range 20 { // the order of a map
		mask := p.Redactor().Text
		for in, want := range map[string]string{
			"a postgres-Tr0ub4dor b": "a *** b", "the-postgres-Tr0ub4dor-and-on!": "***!", "postgres, postgres": "***, ***", "post": "post",
		} {
			if got := mask(in); got != want {
				t.Fatalf("%q became %q, want %q", in, got, want)
			}
		}
	}
}

// user is an environment for tests.
func user(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestHome(t *testing.T) {
	lookup := user(map[string]string{"HOME": "/home/u", "USERPROFILE": "/home/u"})
	for in, want := range map[string]string{"~": "/home/u", "~/x": "/home/u/x", "~x": "~x", "/~": "/~"} {
		if got, err := home(in, lookup); got != want || err != nil {
			t.Errorf("%s became %q (%v), want %q", in, got, err, want)
		}
	}
	if _, err := home("~/x", user(nil)); err == nil {
		t.Error("without a home directory there is no error")
	}
}

func TestEnvFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(
		file, []byte("\ufeff# ours\nA=1\n\nexport B = two words \nC='q=\"'\nD=\r\n"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	secrets := &redact.Secrets{}
	env, err := ownEnvironment(
		config.Server{EnvFile: file, Env: map[string]string{"A": "own"}, EnvUnset: []string{"HOME"}},
		user(map[string]string{"HOME": "/h", "PATH": "/bin"}), nil, secrets,
	)
	want := map[string]string{"PATH": "/bin", "A": "own", "B": "two words", "C": `q="`, "D": ""}
	if err != nil || !maps.Equal(env, want) {
		t.Errorf("it is %v (%v), want %v", env, err, want)
	}
	if err := os.WriteFile(file, []byte("A=1\nsecret-without-name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readEnvFile(config.Server{}, file, nil); err == nil || !strings.Contains(err.Error(), "line 2") ||
		strings.Contains(err.Error(), "secret-without") {
		t.Errorf("the error is %v", err)
	}
	for _, bad := range []string{filepath.Dir(file), file + "-none"} {
		if _, err := readEnvFile(config.Server{}, bad, nil); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestEnvFileApproved holds that a project's server starts with the bytes that were hashed for its approval, or not at
// all.
func TestEnvFileApproved(t *testing.T) {
	project := t.TempDir()
	file := filepath.Join(project, ".env")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte("FOO=good\n"))
	s := config.Server{Name: "build", Project: project, EnvFile: file, EnvHash: hex.EncodeToString(sum[:])}
	read := func(s config.Server) (map[string]string, error) {
		return ownEnvironment(s, user(nil), nil, &redact.Secrets{})
	}
	refused := func(what string, s config.Server) {
		t.Helper()
		env, err := read(s)
		if err == nil {
			t.Errorf("%s: started with %v", what, env)
		}
	}
	write(file, "FOO=good\n")
	if env, err := read(s); err != nil || env["FOO"] != "good" {
		t.Errorf("as approved: %v, %v", env, err)
	}
	none := s
	none.EnvHash = "none"
	refused("a file where none was", none)
	write(file, "FOO=evil\n")
	_, err := read(s)
	if err == nil || !strings.Contains(err.Error(), "changed since it was approved; nothing was started") ||
		!slices.Contains(
			hint.Of(err), "look at it, then: codemode servers approve build",
		) || strings.Contains(err.Error(), "evil") {
		t.Errorf("the same size and time: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // links are for who may make them
	}
	outside := filepath.Join(t.TempDir(), "outside")
	write(outside, "FOO=good\n")
	if err := errors.Join(os.Remove(file), os.Symlink(outside, file)); err != nil {
		t.Fatal(err)
	}
	refused("a link out of the project", s)
}

func TestSpec(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are Unix ones")
	}
	home := t.TempDir()
	program := filepath.Join(home, "bin", "server")
	for _, dir := range []string{"bin", "work", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{program, filepath.Join(home, "work", "local")} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{
		"HOME": home, "PATH": "/nowhere:" + filepath.Join(home, "bin"),
		"LANG": "C", "AWS_SECRET_ACCESS_KEY": "not-for-servers", "CODEMODE_X": "own",
		"TOKEN": "expanded-secret", "LC_ALL": "() { :; }",
		"HTTPS_PROXY": "http://proxy",
	}
	for _, c := range []struct {
		name    string
		server  config.Server
		depth   string
		path    string
		dir     string
		args    []string
		env     map[string]string // besides PATH, HOME, LANG, HTTPS_PROXY and CODEMODE_DEPTH
		wantErr string
	}{
		{name: "from PATH", server: config.Server{Command: "server"}, path: program, dir: home},
		{name: "home", server: config.Server{Command: "~/bin/server", Cwd: "~/work"}, path: program, dir: home + "/work"},
		{name: "relative to cwd", server: config.Server{Command: "./local", Cwd: "${HOME}/work"}, path: home + "/work/local", dir: home + "/work"},
		{
			name: "expanded", path: program, dir: home,
			args: []string{"--key=expanded-secret", "~", "$TOKEN"}, env: map[string]string{"KEY": "expanded-secret!"},
			server: config.Server{
				Command: "${X:-server}", Args: []string{"--key=${TOKEN}", "~", "$TOKEN"},
				Env: map[string]string{"KEY": "${env:TOKEN}!"},
			},
		},
		{name: "its own PATH", server: config.Server{Command: "local", Env: map[string]string{"PATH": home + "/work"}}, path: home + "/work/local", dir: home},
		{name: "no dot in PATH", server: config.Server{Command: "local", Cwd: home + "/work", Env: map[string]string{"PATH": ".::bin"}}, wantErr: `"local" was not found in PATH`},
		{name: "deep", depth: "2", server: config.Server{Command: "server"}, path: program, dir: home},
		{name: "too deep", depth: "3", server: config.Server{Command: "server"}, wantErr: "CODEMODE_DEPTH=3"},
		{name: "NUL", server: config.Server{Command: "server", Env: map[string]string{"A": "b\x00c"}}, wantErr: `"A" has a NUL`},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := maps.Clone(vars)
			if c.depth != "" {
				own[depthVariable] = c.depth
			}
			p := NewPool(Options{Servers: []config.Server{c.server}, Lookup: user(own), Expand: expandWith(user(own))})
			secrets := &redact.Secrets{}
			spec, err := p.servers[""].spec(secrets)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("the error is %v, want %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if spec.Path != c.path || spec.Dir != c.dir || !slices.Equal(spec.Args, c.args) {
				t.Errorf("it starts %q %q in %q", spec.Path, spec.Args, spec.Dir)
			}
			want := map[string]string{
				"HOME": home, "LANG": "C", "PATH": vars["PATH"], "HTTPS_PROXY": "http://proxy",
				depthVariable: "1",
			}
			if c.depth == "2" {
				want[depthVariable] = "3"
			}
			maps.Copy(want, c.server.Env)
			maps.Copy(want, c.env)
			got := map[string]string{}
			for _, kv := range spec.Env {
				k, v, _ := strings.Cut(kv, "=")
				got[k] = v
			}
			if !maps.Equal(got, want) {
				t.Errorf("its environment is %q, want %q", got, want)
			}
			if masked := secrets.Redactor().
				Text("expanded-secret " + home); c.name == "expanded" &&
				masked != "*** "+home {
				t.Errorf("masked, it is %q", masked)
			}
		})
	}
}

func TestEnvironmentOfServer(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not-for-servers")
	t.Setenv("CODEMODE_ANYTHING", "own")
	dir := t.TempDir()
	s := fake("stub")
	s.Env = map[string]string{"MINE": "${NOT_SET:-fallback}"}
	s.Cwd = dir
	f := newPool(t, nil, s)
	env := strings.Split(f.text("stub", "env", `{}`), "\n")
	for _, kv := range []string{"MINE=fallback", "CODEMODE_DEPTH=1", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
	for _, kv := range env {
		if strings.HasPrefix(kv, "AWS_") || strings.HasPrefix(kv, "CODEMODE_ANYTHING") {
			t.Errorf("it has %s", kv)
		}
	}
	if got := f.text("stub", "cwd", `{}`); got != dir {
		t.Errorf("it runs in %q, want %q", got, dir)
	}
}

// TestProgramsMissing holds that what is known of one server's program is not taken for what another's is: the same
// word is another file in another PATH, and in another folder.
func TestProgramsMissing(t *testing.T) {
	dir := t.TempDir()
	name := "server"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	here := map[string]string{"PATH": dir}
	p := NewPrograms(user(map[string]string{"HOME": dir, "USERPROFILE": dir, "PATH": t.TempDir()}))
	for range 2 {
		for _, tt := range []struct {
			entry config.Server
			there bool
		}{
			{config.Server{Command: "server"}, false},
			{config.Server{Command: "server", Env: here}, true},
			{config.Server{Command: "./server"}, true},
			{config.Server{Command: "./server", Cwd: t.TempDir()}, false},
			{config.Server{Command: "~/server"}, true},
			{config.Server{Command: "another", Env: here}, false},
		} {
			if err := p.Missing(tt.entry); (err == nil) != tt.there {
				t.Errorf("%q with %v in %q: %v", tt.entry.Command, tt.entry.Env, tt.entry.Cwd, err)
			}
		}
	}
}
