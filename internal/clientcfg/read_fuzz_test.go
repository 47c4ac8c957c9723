package clientcfg

import (
	"regexp"
	"strings"
	"testing"

	"codemode/internal/clientcfg/jsonc"
)

// lineBreak is what ends a line in one format or another: YAML 1.1 has the last three (yaml.org/spec/1.1/#b-char,
// 2026-11).
var lineBreak = regexp.MustCompile("[\n\r\u0085\u2028\u2029]")

// FuzzEveryFormat holds that no file, of any format, yields a server that cannot be used, a problem outside
// the file, or an end of the program.
func FuzzEveryFormat(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers": {"a": {"command": ["x"], "transport": {"type": "sse", "url": "https://x"}}}, "projects": {"/w": null}}`,
		"[mcp_servers.a]\ncommand = \"x\"\n[[b]]\nc = [[1], {d = 2}]\n[[b]]\n[b.e]\n",
		"extensions: &a\n  x: {cmd: y, envs: {A: null}}\n  y: *a\n  <<: *a\nmcpServers: [{name: a}, 3]\n",
		"\xff\xfe{\x00}\x00", "{\"a\": \"\\\"", "/* ", strings.Repeat("[", 2000), "a = []\n[[a]]\n", "a = [{}]\n[a.b]\n", "\u0085\u2028[1]",
	} {
		for format := range 3 {
			f.Add([]byte(text), format, 0)
		}
	}
	clients := Clients()
	f.Fuzz(func(t *testing.T, data []byte, format, client int) {
		ext := []string{".json", ".toml", ".yaml"}[uint(format)%3]
		c := clients[uint(client)%uint(len(clients))]
		r := file{client: &c, scope: User, key: c.Key, path: "/f" + ext, env: &Env{OS: "linux", WorkDir: "/w"}}
		r.parse(data)
		for _, e := range r.entries {
			if e.Status != Invalid &&
				(e.Server.Name == "" || e.Server.Command == "" && e.Server.URL == "" || e.Server.Transport == "") {
				t.Errorf("%s: a server that cannot be used: %+v", c.ID, e)
			}
			identity(e, Env{})
			Masked(e.Server)
		}
		text, _, _, _ := decodeText(data)
		lines := 2 + len(lineBreak.FindAll(text, -1))
		for _, p := range r.problems {
			if p.Err == nil || p.Line > lines {
				t.Errorf("%s: a problem outside the file: %v", c.ID, p)
			}
		}
	})
}

// FuzzLarge holds that passing over the most of a file changes nothing about what is kept.
func FuzzLarge(f *testing.F) {
	f.Add(`{"a": [1, {"b": "}"}], /* { */ "keep": {"c": "\\\""}, "d": -1.5e3 // x` + "\n}")
	f.Add(`{"keep": 1, "a": "` + `\` + `", "b": {"keep": [`)
	f.Fuzz(func(t *testing.T, text string) {
		plain, _ := jsonc.Plain([]byte(text))
		r := jsonReader{text: []byte(text), keep: func(path []string) verdict {
			if path[0] == "keep" {
				return keepIt
			}
			return drop
		}}
		whole, err := r.read(plain, false)
		rest, errRest := r.read(plain, true)
		want, okWant := whole.get("keep")
		got, okGot := rest.get("keep")
		if (err == nil) != (errRest == nil) || okWant != okGot || describe(want) != describe(got) {
			t.Errorf("%q: %v, %v; then %v, %v", text, describe(want), err, describe(got), errRest)
		}
	})
}

// describe writes a node and where everything in it is.
func describe(n node) string {
	var b strings.Builder
	var walk func(n node)
	walk = func(n node) {
		text, _ := n.text()
		b.WriteString(strings.Join([]string{"(", text, string(rune('0' + n.line)), string(rune('0' + n.column))}, " "))
		switch v := n.value.(type) {
		case *object:
			for _, m := range v.members {
				b.WriteString(m.name)
				walk(m.value)
			}
		case *list:
			for _, item := range v.items {
				walk(item)
			}
		}
		b.WriteString(")")
	}
	walk(n)
	return b.String()
}
