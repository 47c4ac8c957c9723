package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFileRestrictions(t *testing.T) {
	file := writeFile(t, `
[mcp]
sandbox = ["*@cursor", "named", "off"]

[servers.plain]
command = "x"

[servers.own]
command = "x"
sandbox = "native"
sandbox_read = ["~/docs", "near"]
sandbox_write = ["${DATA}"]
sandbox_network = true
sandbox_memory = "1g"

[servers.off]
command = "x"
sandbox = "off"

[servers.pod]
command = "x"
sandbox = "kubernetes"
sandbox_image = "i"
sandbox_network = true
`)
	c, err := Load(Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	own := &Restrictions{
		Read: []string{"~/docs", filepath.Join(filepath.Dir(file), "near")}, Write: []string{"${DATA}"}, Network: true,
		Memory: 1 << 30,
	}
	strict := &Restrictions{}
	named := func(name string) Server { return Server{Name: name, Command: "x"} }
	foreign := Server{Name: "own", Command: "x", Project: "/p", Sandbox: &Restrictions{Network: true}}
	declines := Server{Name: "named", Command: "x", Project: "/p", NoSandbox: true}
	widens := Server{Name: "named", Command: "x", Project: "/p", Sandbox: &Restrictions{Write: []string{"/p"}}}
	for what, tt := range map[string]struct {
		server Server
		want   *Restrictions
	}{
		"none":                             {c.Servers.Own["plain"], nil},
		"its own":                          {c.Servers.Own["own"], own},
		"in a pod":                         {c.Servers.Own["pod"], &Restrictions{Image: "i", Network: true}},
		"declined by its user":             {c.Servers.Own["off"], nil},
		"by name":                          {named("named"), strict},
		"by client":                        {named("any@cursor"), strict},
		"the second of a name":             {named("named@zed"), strict},
		"without a command":                {Server{Name: "named", URL: "https://x"}, nil},
		"a project's own":                  {foreign, foreign.Sandbox},
		"a project cannot decline":         {declines, strict},
		"a project cannot have more of it": {widens, strict},
	} {
		if got := c.Servers.RestrictionsOf(tt.server); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", what, got, tt.want)
		}
	}
}

func TestFileRestrictionsProblems(t *testing.T) {
	const pod = "sandbox = 'kubernetes'\nsandbox_image = 'i'\n"
	for text, want := range map[string]string{
		`sandbox = "docker"`:                                  `line 3, column 1: server "a": "sandbox" must be native, kubernetes or off`,
		`sandbox = true`:                                      `line 3, column 1: server "a": "sandbox" must be text`,
		`sandbox_network = true`:                              `line 1, column 10: server "a": "sandbox" must be "native", since it says what the server may use in one`,
		"sandbox = 'off'\nsandbox_read = ['/x']":              `line 3, column 1: server "a": "sandbox" must be "native"`,
		"sandbox = 'native'\nsandbox_memory = '1k'":           `line 4, column 1: server "a": "sandbox_memory" must be`,
		"sandbox = 'native'\nsandbox_write = '/x'":            `line 4, column 1: server "a": "sandbox_write" must be a list of texts`,
		"url = 'https://x'\nsandbox = 'native'\n#":            `line 4, column 1: server "a": "sandbox" must be left out: it is for servers with a "command"`,
		"sandbox_image = 'i'":                                 `"sandbox" must be "kubernetes", since it names an image`,
		"sandbox = 'kubernetes'":                              `"sandbox_image" must be the image that its pod has`,
		pod + "sandbox_read = ['/x']":                         `"sandbox_read" must be left out, as sandbox_write: a pod has no files`,
		pod + "cwd = '/x'":                                    `"cwd" must be left out: its pod starts it`,
		pod:                                                   `"sandbox_network" must be true: its pod has the cluster's network`,
		pod + "sandbox_network = true\nsandbox_memory = '1k'": `"sandbox_memory" must be`,
		"url = 'https://x'\nsandbox = 'kubernetes'\n#":        `"sandbox" must be left out: it is for servers with a "command"`,
		"sandbox = 'native'\nsandbox_netwrk = true\ncwd=''":   `line 4, column 1: unknown key "servers.a.sandbox_netwrk"`,
	} {
		head := "[servers.a]\ncommand = 'x'\n"
		if strings.HasPrefix(text, "url") {
			head = "\n[servers.a]\n"
		}
		_, err := Load(Source{File: writeFile(t, head+text+"\n")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestProjectRestrictions holds that a project's file takes no server into a sandbox, where what it writes would be
// gone with it, and takes none out of one.
func TestProjectRestrictions(t *testing.T) {
	dir := writeProject(t, "[mcp]\nsandbox = ['b']\n")
	c, err := Load(Source{File: writeFile(t, "[mcp]\nsandbox = ['a']\n"), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if got := c.Servers.RestrictionsOf(Server{Name: name, Command: "x"}) != nil; got != want {
			t.Errorf("server %q is in a sandbox: %t, want %t", name, got, want)
		}
	}
}
