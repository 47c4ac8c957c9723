package clientcfg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
)

// TestOverlay: what would be found is what files would say, by whichever of their paths, also those that are not there
// yet, and nothing of one that would be gone.
func TestOverlay(t *testing.T) {
	home := t.TempDir()
	dots, own := filepath.Join(home, "dots.json"), filepath.Join(home, "MCPs")
	if err := errors.Join(
		os.Mkdir(filepath.Join(home, ".cursor"), 0o700), os.Mkdir(own, 0o700),
		os.Symlink(dots, filepath.Join(home, ".cursor", "mcp.json")),
	); err != nil {
		t.Skip(err)
	}
	entry := func(name string) string { return `{"mcpServers": {"` + name + `": {"command": "` + name + `"}}}` }
	write(t, dots, entry("was"))
	write(t, filepath.Join(own, "gone.json"), entry("gone"))
	opts := Options{
		Env: Env{OS: "linux", Home: home}, Servers: config.Servers{Dir: own},
		Overlay: map[string][]byte{
			dots: []byte(entry("is")), filepath.Join(own, "new.json"): []byte(entry("new")),
			filepath.Join(own, "gone.json"): nil,
		},
	}
	var names []string
	for _, s := range Discover(opts).Servers {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "new is" {
		t.Errorf("it would find %q", got)
	}
	link := filepath.Join(home, "link") // to a folder that is yet to be
	if err := os.Symlink(filepath.Join(home, "later"), link); err != nil {
		t.Skip(err)
	}
	opts.Servers.Dir = link
	opts.Overlay = map[string][]byte{filepath.Join(home, "later", "new.json"): []byte(entry("new"))}
	if found := Discover(opts); len(found.Servers) != 2 || len(found.Problems) > 0 {
		t.Errorf("behind a link it would find %+v, %v", found.Servers, found.Problems)
	}
}
