package clientcfg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoServerIsMissing is case 91: every place of every client is really read, in the client's own form. An entry
// that is none is listed, too, with what is wrong with it.
func TestNoServerIsMissing(t *testing.T) {
	for _, c := range Clients() {
		for _, place := range c.Files {
			if !place.On("linux") || strings.HasPrefix(place.Path, "/") {
				continue
			}
			t.Run(c.ID+"/"+strings.NewReplacer("/", "|", "*", "one").Replace(place.Path), func(t *testing.T) {
				home, work := t.TempDir(), t.TempDir()
				env := Env{OS: "linux", Home: home, WorkDir: work}
				env.Lookup = func(name string) (string, bool) {
					if strings.HasPrefix(place.Path, "${"+name+"}") { // the place is there only with the variable
						return filepath.Join(home, "moved"), true
					}
					return "", false
				}
				path := env.Expand(place.Path)
				if place.Scope == Project {
					path = filepath.Join(work, filepath.FromSlash(place.Path))
				}
				path = strings.ReplaceAll(path, "*", "one")
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, path, fileOf(c, place))
				found := Discover(Options{Env: env, Sources: []string{c.ID}})
				var good, bad int
				for _, e := range found.Entries {
					switch {
					case e.Server.Name == "planted" && (e.Status == Ready || e.Status == NeedsApproval):
						good++
					case e.Server.Name == "broken" && e.Status == Invalid && e.Reason != "":
						bad++
					default:
						t.Errorf("an entry that is not in the file: %+v", e)
					}
				}
				if good != 1 || bad != 1 {
					t.Errorf("%d entries and %d problems of one each; problems: %v", good, bad, found.Problems)
				}
			})
		}
	}
}

// entries are a server in each shape.
var entries = map[Shape]string{
	Plain:    `{"command": "x"}`,
	Explicit: `{"type": "stdio", "command": "x"}`,
	Argv:     `{"type": "local", "command": ["x"]}`,
	Codex:    `{"command": "x"}`,
	Goose:    `{"type": "stdio", "cmd": "x", "enabled": true}`,
	Context:  `{"source": "custom", "command": "x"}`,
	Continue: `{"command": "x"}`,
}

// fileOf is a file of a client with a server in it, and an entry that is none. JSON is YAML, too.
func fileOf(c Client, place File) string {
	key, entry := c.Key, entries[c.Entry]
	if place.Key != nil {
		key = place.Key
	}
	switch {
	case filepath.Ext(place.Path) == ".toml" && c.List:
		return "[[" + strings.Join(key, ".") + "]]\nname = \"planted\"\ncommand = \"x\"\n[[" + strings.Join(
			key, ".",
		) + "]]\nname = \"broken\"\n"
	case filepath.Ext(place.Path) == ".toml":
		return "[" + strings.Join(key, ".") + "]\nbroken = {}\nplanted = {command = \"x\"}\n"
	}
	text := `{"planted": ` + entry + `, "broken": {}}`
	if c.List && filepath.Ext(place.Path) != ".json" {
		text = `[{"name": "planted", ` + entry[1:] + `, {"name": "broken"}]`
	}
	for i := range key {
		text = `{"` + key[len(key)-1-i] + `": ` + text + `}`
	}
	return text
}
