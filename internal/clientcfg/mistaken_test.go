package clientcfg

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/config"
	"codemode/internal/require"
)

// TestMistakenEntry: an entry with a mistake is a name of what it starts, or perhaps is, and never a project's.
func TestMistakenEntry(t *testing.T) {
	everyone := []string{"own", "plain", "with-env", "by-url"}
	command := []string{"plain", "with-env"}
	for entry, want := range map[string]struct {
		also    string
		perhaps []string
	}{
		`{"command": "x", "args": ["a"], "type": 5}`:                            {also: "plain"},
		`{"command": "x", "args": ["a"], "env": {"K": "v"}, "disabled": "yes"}`: {also: "with-env"},
		`{"command": "x", "args": ["a"], "env": "oops"}`:                        {perhaps: command},
		`{"command": "env", "args": ["B=c", "x", "a"], "cwd": 5}`:               {perhaps: command},
		`{"command": "x", "args": ["a"], "type": 5, "sandbox": "native"}`:       {perhaps: command},
		`{"command": "z", "args": ["a"], "env": "oops"}`:                        {},
		`{"url": "https://h/", "headers": 5}`:                                   {perhaps: []string{"by-url"}},
		`{"url": "https://h", "type": 5}`:                                       {also: "by-url"},
		`{"url": "https://h", "headersHelper": "x"}`:                            {perhaps: []string{"by-url"}},
		`{"url": " https://h"}`:                                                 {perhaps: everyone},
		`{"url": "https://h\n"}`:                                                {perhaps: everyone},
		`{"url": "https:\\\\h"}`:                                                {perhaps: everyone},
		`{"url": "https:/h"}`:                                                   {perhaps: everyone},
		`{"url": "https://h?a=\\b"}`:                                            {},
		`{"url": "wss://h"}`:                                                    {},
		`{"tcp": "h:1"}`:                                                        {},
		`{"command": "x", "args": "a"}`:                                         {perhaps: everyone},
		`null`:                                                                  {perhaps: everyone},
		`[]`:                                                                    {perhaps: everyone},
		`{"args": ["a"]}`:                                                       {perhaps: everyone},
	} {
		home, project, opts := aliased(t)
		look := func(file string) (also string, perhaps []string) {
			write(t, file, `{"mcpServers": {"alias": `+entry+`}}`)
			defer os.Remove(file)
			for _, e := range Discover(opts).Entries {
				if slices.Contains(e.Server.Also, "alias") {
					also += e.Written
				}
				if len(e.Perhaps) > 0 {
					perhaps = append(perhaps, e.Written)
				}
			}
			return also, perhaps
		}
		also, perhaps := look(filepath.Join(home, ".cursor", "mcp.json"))
		if also != want.also || !slices.Equal(perhaps, want.perhaps) {
			t.Errorf("%s is %q, and perhaps %q", entry, also, perhaps)
		}
		for _, name := range []string{".mcp.json", ".cursor/mcp.json"} {
			if also, perhaps := look(filepath.Join(project, name)); also != "" || perhaps != nil {
				t.Errorf("%s in a project's %s is %q, and perhaps %q", entry, name, also, perhaps)
			}
		}
		if _, perhaps := look(filepath.Join(home, "MCPs", "alias.json")); slices.Contains(perhaps, "own") {
			t.Errorf("%s in a file of codemode's own is perhaps %q", entry, perhaps)
		}
	}
}

// aliased has servers in a file of codemode's own and in one of Claude Code's, of which another file may have aliases.
func aliased(t *testing.T) (home, project string, opts Options) {
	home, project = t.TempDir(), t.TempDir()
	for _, dir := range []string{home + "/.cursor", home + "/MCPs", project + "/.git", project + "/.cursor"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, "MCPs", "own.json"), `{"mcpServers": {"own": {"command": "mine"}}}`)
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {
		"plain": {"command": "x", "args": ["a"]}, "with-env": {"command": "x", "args": ["a"], "env": {"K": "v"}},
		"by-url": {"type": "http", "url": "https://h"}
	}}`)
	return home, project, Options{
		Env:     Env{OS: "linux", Home: home, WorkDir: project},
		Servers: config.Servers{Dir: filepath.Join(home, "MCPs")},
	}
}

// TestTableOfAWrongType: a file whose servers are no table, or that is not in UTF-8, is as one that cannot be read,
// unless it is a project's.
func TestTableOfAWrongType(t *testing.T) {
	for text, want := range map[string]bool{
		`{"mcpServers": []}`: true, `{"mcpServers": "x"}`: true, `[]`: true, `"x"`: true,
		"{\"mcpServers\": {\"a\": {\"command\": \"\xe9\"}}}": true,
		`{"mcpServers": null}`:                               false, `{"mcpServers": {}}`: false, `{}`: false, `null`: false,
	} {
		home, project := t.TempDir(), t.TempDir()
		write(t, filepath.Join(home, ".claude.json"), text)
		write(t, filepath.Join(project, ".mcp.json"), text)
		found := Discover(Options{Env: Env{OS: "linux", Home: home, WorkDir: project}})
		for _, p := range found.Problems {
			if users := filepath.Dir(p.File) == home; p.Unread != (want && users) {
				t.Errorf("%s: %v is of what cannot be read: %t", text, p, p.Unread)
			}
		}
		if want && len(found.Problems) != 2 {
			t.Errorf("%s: %v", text, found.Problems)
		}
	}
}

// TestNothingThere: a file that has a byte order mark alone is empty, and one in a folder that is a link to nothing
// cannot be read.
func TestNothingThere(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude.json"), "\ufeff \n")
	if err := os.Symlink(filepath.Join(home, "gone"), filepath.Join(home, ".cursor")); err != nil {
		require.Lacking(t, "symlinks", "no links here: %v", err)
	}
	found := Discover(Options{Env: Env{OS: "linux", Home: home, WorkDir: home}})
	if !slices.Equal(found.Blank, []string{filepath.Join(home, ".claude.json")}) {
		t.Errorf("empty are %q", found.Blank)
	}
	i := slices.IndexFunc(found.Problems, func(p Problem) bool { return p.Unread })
	if i < 0 || found.Problems[i].File != filepath.Join(home, ".cursor", "mcp.json") {
		t.Errorf("problems are %v", found.Problems)
	}
	for _, dir := range []string{filepath.Join(home, ".cursor"), filepath.Join(home, ".claude.json")} {
		found := Discover(Options{Env: Env{OS: "linux"}, Servers: config.Servers{Dir: dir}})
		if len(found.Problems) != 1 || !found.Problems[0].Unread || !found.Problems[0].Restricts {
			t.Errorf("of the folder %q problems are %v", dir, found.Problems)
		}
	}
	usual := t.TempDir()
	write(t, filepath.Join(usual, "a.json"), `{"mcpServers": {"a": {"command": "x"}}}`)
	folders := config.Servers{Dir: filepath.Join(home, ".cursor"), Usual: usual}
	behind := Discover(Options{Env: Env{OS: "linux"}, Servers: folders})
	if len(behind.Entries) != 1 || behind.Entries[0].Server.Doubted["a"] == "" {
		t.Errorf("a name behind such a folder is certain: %+v", behind.Entries)
	}
	none := config.Servers{Dir: filepath.Join(home, "none")}
	if found := Discover(Options{Env: Env{OS: "linux"}, Servers: none}); len(found.Problems) > 0 {
		t.Errorf("of a folder that is not there problems are %v", found.Problems)
	}
}
