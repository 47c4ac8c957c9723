package install

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/clientcfg"
)

// errKilled is what a test ends a change with: nothing of it but what is deferred runs on, as nothing has failed.
var errKilled = errors.New("killed")

// untilKilled does something that may end so.
func untilKilled(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		if r := recover(); r != errKilled {
			t.Errorf("it was to be killed, and: %v", r)
		}
	}()
	do()
}

// TestAdoptKilled: wherever codemode is killed while it moves a server, what it has made for that goes with the next
// uninstall, whatever is done before that.
func TestAdoptKilled(t *testing.T) {
	const old = `{"mcpServers": {"a": {"command": "a", "env": {
		"API_TOKEN": "correct-horse-battery", "B_TOKEN": "staple-and-more"}}}}`
	die := func() { panic(errKilled) }
	for where, set := range map[string]func(i *Installer, kept map[string]string){
		"after its first secret": func(i *Installer, kept map[string]string) {
			i.Vault.Keep = func(name, value string) error {
				kept[name] = value
				die()
				return nil
			}
		},
		"before its own file": func(i *Installer, kept map[string]string) {
			i.hooks.write = func(f *os.File, data []byte) error {
				if filepath.Base(filepath.Dir(f.Name())) == "MCPs" {
					die()
				}
				_, err := f.Write(data)
				return err
			}
		},
		"before the client's file": func(i *Installer, kept map[string]string) { i.hooks.planned = die },
	} {
		for next, adopts := range map[string][]bool{
			"uninstall": nil, "adopt": {true}, "install": {false}, "both": {false, true},
		} {
			t.Run(where+", then "+next, func(t *testing.T) {
				t.Parallel()
				i, req, path := cursorAt(t, t.TempDir(), old)
				dir := filepath.Join(i.Env.Home, "MCPs")
				kept := map[string]string{}
				anew := func() {
					i.hooks, i.Vault = hooks{}, vaultOf(kept)
					i.Adopt = &Adopter{Dir: dir, Own: func() []clientcfg.Entry { return ownIn(i.Env, dir) }}
				}
				anew()
				set(i, kept)
				untilKilled(t, func() { i.Install(t.Context(), req) })
				for _, adopt := range adopts {
					anew()
					if !adopt {
						i.Adopt = nil
					}
					if r := i.Install(t.Context(), req)[0]; !r.Done() {
						t.Fatal(r.Err)
					}
				}
				anew()
				i.Vault.Value = func(string) (string, error) { panic(errKilled) } // its own file has gone by then
				if next != "uninstall" {
					untilKilled(t, func() { i.Uninstall(t.Context(), req) })
				}
				anew()
				r := only(t, i.Uninstall(t.Context(), req), path)
				left, _ := filepath.Glob(filepath.Join(dir, "*"))
				if r.Err != nil || read(t, path) != old || len(kept)+len(left) > 0 || exists(dir) {
					t.Errorf("%v, %v; left are secrets %q, files %q, and the client has\n%s",
						r.Err, r.Notes, slices.Sorted(maps.Keys(kept)), left, read(t, path))
				}
			})
		}
	}
}

// vaultOf keeps secrets in a map.
func vaultOf(kept map[string]string) *Vault {
	return &Vault{
		Names: func() ([]string, error) { return slices.Sorted(maps.Keys(kept)), nil },
		Check: func(string) error { return nil },
		Value: func(name string) (string, error) {
			if value, ok := kept[name]; ok {
				return value, nil
			}
			return "", fmt.Errorf("there is no secret %q", name)
		},
		Keep: func(name, value string) error {
			if _, taken := kept[name]; taken {
				return fs.ErrExist
			}
			kept[name] = value
			return nil
		},
		Forget: func(name string) (string, error) { delete(kept, name); return "", nil },
	}
}

// TestSecretSetMeanwhile: a secret that its user sets under a name which adoption has chosen is neither replaced nor
// removed again.
func TestSecretSetMeanwhile(t *testing.T) {
	const old = `{"mcpServers": {"a": {"command": "x", "env": {"API_TOKEN": "tok-0123456789abcdef"}}}}`
	start := func(t *testing.T) (i *Installer, req Request, path string, kept map[string]string) {
		i, req, path = cursorAt(t, t.TempDir(), old)
		dir := filepath.Join(i.Env.Home, "MCPs")
		kept = map[string]string{}
		i.Vault = vaultOf(kept)
		i.Adopt = &Adopter{Dir: dir, Own: func() []clientcfg.Entry { return ownIn(i.Env, dir) }}
		return i, req, path, kept
	}
	t.Run("before it is kept", func(t *testing.T) {
		i, req, path, kept := start(t)
		keep := i.Vault.Keep
		i.Vault.Keep = func(name, value string) error {
			i.Vault.Keep = keep
			kept[name] = "mine"
			return keep(name, value)
		}
		r := only(t, i.Install(t.Context(), req), path)
		if r.Err != nil || kept["a.API_TOKEN"] != "mine" || kept["a.API_TOKEN-2"] != "tok-0123456789abcdef" {
			t.Errorf("%+v, %q", r, kept)
		}
	})
	t.Run("before it is taken back", func(t *testing.T) {
		i, req, path, kept := start(t)
		i.hooks.planned = func() {
			kept["a.API_TOKEN"] = "mine"
			write(t, path, `{"mcpServers": `) // which is refused
		}
		r := only(t, i.Install(t.Context(), req), path)
		if r.Err == nil || kept["a.API_TOKEN"] != "mine" {
			t.Errorf("%+v, %q", r, kept)
		}
	})
}
