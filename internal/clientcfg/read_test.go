package clientcfg

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"codemode/internal/config"
)

func names(servers []config.Server) (list []string) {
	for _, s := range servers {
		list = append(list, s.Name)
	}
	return list
}

// readServers reads a file of codemode's own, and returns what of it can be used.
func readServers(path string, data []byte) (servers []config.Server, problems []Problem) {
	f := file{client: &Client{ID: folderID, Key: mcpServers}, scope: User, key: mcpServers, path: path, env: &Env{}}
	f.parse(bytes.Clone(data))
	for _, e := range f.entries {
		if e.Status != Invalid {
			servers = append(servers, e.Server)
		}
	}
	return servers, f.problems
}

func TestReadServers(t *testing.T) {
	data := "\xef\xbb\xbf{\r\n" +
		"  // where the team's servers are\r\n" +
		`  "description": "team",` + "\r\n" +
		`  "mcpServers": {` + "\r\n" +
		`    "zeta": {"command": "npx", "args": ["-y", "z", 8080], "env": {"PORT": 3000, "T": "${TOKEN}"}, "cwd": "~/x", "type": "stdio"},` + "\r\n" +
		`    "alpha": {"url": "https://a.example/mcp", "headers": {"K": "v"}, "disabled": true, "description": "own",}, /* why not */` + "\r\n" +
		"  },\r\n}\r\n"
	got, problems := readServers("f.json", []byte(data))
	want := []config.Server{
		{
			Name: "zeta", Description: "team", Transport: config.Stdio, Command: "npx",
			Args: []string{"-y", "z", "8080"}, Env: map[string]string{"PORT": "3000", "T": "${TOKEN}"}, Cwd: "~/x",
			Source: "f.json",
		},
		{
			Name: "alpha", Description: "own", Transport: config.HTTP, URL: "https://a.example/mcp",
			Headers: map[string]string{"K": "v"}, Disabled: true, Source: "f.json",
		},
	}
	if !reflect.DeepEqual(got, want) || problems != nil {
		t.Errorf("got  %#v, %v\nwant %#v", got, problems, want)
	}
}

func TestProblemsCostOnlyThemselves(t *testing.T) {
	const good = `"ok": {"command": "x"}`
	for name, tt := range map[string]struct {
		data     string
		servers  string // names that remain
		problems string // joined by " | "; empty is none
	}{
		"servers key":          {`{"servers": {` + good + `}}`, "ok", ""},
		"number":               {"{\"mcpServers\": {\n  \"bad\": 3, " + good + `}}`, "ok", `line 2, column 10: server "bad" is not an object`},
		"no command":           {"{\"mcpServers\": {\n  \"bad\": {}, " + good + `}}`, "ok", `line 2, column 10: server "bad" has neither "command" nor "url"`},
		"args text":            {"{\"mcpServers\": {\"bad\": {\n \"command\": \"x\",\n \"args\": \"y\"}, " + good + `}}`, "ok", `line 3, column 10: server "bad": "args" must be a list of texts`},
		"env list":             {`{"mcpServers": {"bad": {"command": "x", "env": ["A=s3cret"]}, ` + good + `}}`, "ok", `line 1, column 48: server "bad": "env" must be a table of texts`},
		"no name":              {`{"mcpServers": {"": {"command": "x"}, ` + good + `}}`, "ok", `line 1, column 21: server "" has no name`},
		"twice":                {`{"mcpServers": {` + good + `, ` + good + `}}`, "ok", `line 1, column 41: server "ok" is there twice; the last counts`},
		"list":                 {`[1]`, "", `line 1, column 1: there is no {"mcpServers": {…}} in it`},
		"servers list":         {`{"mcpServers": []}`, "", `line 1, column 16: "mcpServers" is not an object of servers`},
		"other shape":          {"\n{\"a\": 1}", "", `line 2, column 1: it has neither "mcpServers" nor "servers"`},
		"no servers":           {`{"mcpServers": {}}`, "", ""},
		"empty":                {" \n", "", `reading servers file "f.json": it is empty`},
		"syntax":               {"{\"mcpServers\": {\n  \"a\" {}\n}}", "", `line 2, column 7: invalid character '{' after object name (expecting ':')`},
		"cut off":              {`{"mcpServers": {"a": {"command": "x"`, "", `line 1, column 37: it ends too early: a bracket or a quote is not closed`},
		"wide characters":      {`{"mcpServers": {"日本": 3}}`, "", `line 1, column 23: server "日本" is not an object`},
		"odd description":      {`{"description": 5, "mcpServers": {` + good + `}}`, "ok", ""},
		"misspelt restriction": {`{"mcpServers": {` + good + `, "a": {"command": "x", "sandbx": "native"}}}`, "ok", `server "a": "sandbx" must be left out or meant otherwise: the fields are sandbox, sandbox_image, sandbox_read, sandbox_write, sandbox_network, sandbox_memory`},
		"null where empty":     {`{"mcpServers": {"ok": {"command": "x", "args": null, "env": null, "cwd": null}}}`, "ok", ""},
	} {
		servers, problems := readServers("f.json", []byte(tt.data))
		if got := strings.Join(names(servers), " "); got != tt.servers {
			t.Errorf("%s: servers %q, want %q", name, got, tt.servers)
		}
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.Error())
		}
		got := strings.Join(texts, " | ")
		if tt.problems == "" && got != "" || !strings.HasSuffix(got, tt.problems) {
			t.Errorf("%s: problems\n got %s\nwant %s", name, got, tt.problems)
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("%s: a problem shows a secret: %s", name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["y"]}, "a": 3,}}`))
	f.Add([]byte("\xef\xbb\xbf{\"description\": \"d\", \"servers\": {\"\": {}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, problems := readServers("f.json", data)
		for _, s := range servers {
			if s.Name == "" || s.Command == "" && s.URL == "" {
				t.Errorf("a server that cannot be used: %+v", s)
			}
		}
		for _, p := range problems {
			if p.Err == nil || p.Line > 1+strings.Count(string(data), "\n") {
				t.Errorf("a problem outside the file: %v", p)
			}
		}
	})
}
