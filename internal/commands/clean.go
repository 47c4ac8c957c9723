package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/fileerr"

	"github.com/urfave/cli/v3"
)

func cleanCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "clean",
		Usage:     "show what codemode keeps here, and remove it on request",
		ArgsUsage: "[WHAT...]",
		Description: "Without a name it only shows what there is, and how large. The cache can be made\n" +
			"again; of the state, what is removed is gone.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "all of the cache", Local: true},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask", Local: true},
			jsonFlag(),
		},
		Metadata: examples("codemode clean", "codemode clean python tools", "codemode clean --all --yes"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			return runClean(env, ui, cmd)
		},
	}
}

// keptThing is a folder or file of codemode's.
type keptThing struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Cache bool   `json:"cache"` // it can be made again
	About string `json:"about"`

	root string // the folder of codemode's that it is in
}

// What codemode makes in its cache, and there in a tenant's folder. Whatever else lies there is not its to remove.
var (
	madeInCache       = []string{"python", "guest", "seccomp", "shares"}
	madeInTenantCache = []string{"tools", "found", "packages"}
)

// aboutKept says what is in the folders of the cache and of a tenant's state.
var aboutKept = map[string]string{
	"python": "the embedded Python, unpacked", "guest": "what runs inside the sandbox",
	"seccomp": "system call filters for engines",
	"shares":  "folders that containers were seen to read", "tools": "tool lists of servers",
	"found": "names of servers that serve has found",
	"audit": "the audit log and its key", "saved-tools": "saved tools", "outputs": "large outputs",
	"sign-ins": "sign-ins at servers by URL", "images": "images that were shown",
	"artifacts":      "files that code has left",
	"approvals.json": "approvals of projects' servers", "history": "what was typed into repl",
	"secrets.json": "secrets that entries refer to",
	"keyring.id":   "names the key in the keyring",
	"packages":     "wheels, and what is made of them", "pylock": "which packages code can import",
}

// kept is what there is, the cache first. Locks keep nothing, and one that is removed while it is held is none.
func kept(paths config.Paths) (list []keptThing) {
	add := func(name, path, root string, cache bool) {
		if size, err := sizeOf(path); err == nil {
			list = append(list, keptThing{name, path, size, cache, aboutKept[filepath.Base(name)], root})
		}
	}
	for _, path := range inside(paths.Cache) {
		if slices.Contains(madeInCache, filepath.Base(path)) && !(paths.State == paths.Cache && holdsState(path)) {
			add(filepath.Base(path), path, paths.Cache, true)
		}
	}
	for _, tenant := range tenantFolders(join(paths.Cache, "tenants")) {
		for _, path := range inside(tenant) {
			if slices.Contains(madeInTenantCache, filepath.Base(path)) {
				add(tenantName(tenant)+filepath.Base(path), path, paths.Cache, true)
			}
		}
	}
	for _, tenant := range tenantFolders(paths.State) {
		name := filepath.Base(tenant)
		shared := paths.State == paths.Cache && ofCache(name)
		if strings.HasPrefix(name, "installed.") || shared && !holdsState(tenant) {
			continue // what uninstall needs, and the cache, which may be in the same folder
		}
		for _, path := range inside(tenant) {
			name := filepath.Base(path)
			if shared && !ofState(name) {
				continue
			}
			if name == "tools" {
				name = "saved-tools"
			}
			add(tenantName(tenant)+name, path, paths.State, false)
		}
	}
	return list
}

// ofState says whether a name is one of a tenant's state.
func ofState(name string) bool { return name == "tools" || aboutKept[name] != "" && !ofCache(name) }

// holdsState says whether a folder that is called as one of the cache's is that of a tenant's state.
func holdsState(dir string) bool {
	return slices.ContainsFunc(inside(dir), func(path string) bool { return ofState(filepath.Base(path)) })
}

func ofCache(name string) bool { return name == "tenants" || slices.Contains(madeInCache, name) }

// tenantName begins the names of a tenant's things; the default one's need none.
func tenantName(dir string) string {
	if name := filepath.Base(dir); name != config.DefaultTenant {
		return name + "/"
	}
	return ""
}

func inside(dir string) (paths []string) {
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir) // what is not there keeps nothing
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), ".lock") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// tenantFolders leaves out links: what they lead to is not codemode's to remove.
func tenantFolders(dir string) []string {
	return slices.DeleteFunc(inside(dir), func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || !info.IsDir()
	})
}

// leadsTo is where a link leads; empty of what is none.
func leadsTo(path string) string {
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return ""
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return to
}

// linkedError is a folder of codemode's that is a link. It is used, but in what it leads to nothing is removed: a name
// there is no proof that codemode has made it.
type linkedError struct{ link, to string }

func (e *linkedError) Error() string {
	return fmt.Sprintf("%q is a link to %q, in which codemode removes nothing; nothing was removed", e.link, e.to)
}

// Hint is how to have it elsewhere, and removed.
func (e *linkedError) Hint() []string {
	return []string{
		"remove there what you do not want to keep",
		"to have it elsewhere without a link: XDG_CACHE_HOME and XDG_STATE_HOME",
	}
}

// linked says which folder is a link, of those that a thing is in.
func (k keptThing) linked() error {
	for dir := filepath.Dir(k.Path); ; dir = filepath.Dir(dir) {
		if to := leadsTo(dir); to != "" {
			return &linkedError{dir, to}
		}
		if dir == k.root || dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func sizeOf(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, err
}

func runClean(env Env, ui *ui, cmd *cli.Command) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	list := kept(t.paths)
	var chosen []keptThing
	for _, k := range list {
		if cmd.Bool("all") && k.Cache || slices.Contains(cmd.Args().Slice(), k.Name) {
			chosen = append(chosen, k)
		}
	}
	for _, name := range cmd.Args().Slice() {
		if !slices.ContainsFunc(list, func(k keptThing) bool { return k.Name == name }) {
			return &usageError{"codemode keeps nothing called " + quote(name), []string{"there are: codemode clean"}}
		}
	}
	if len(chosen) == 0 {
		return showKept(env, ui, cmd, list)
	}
	var names []string
	for _, k := range chosen {
		if err := k.linked(); err != nil {
			return err
		}
		names = append(names, k.Name)
	}
	question := "remove " + strings.Join(names, ", ") + "?"
	switch {
	case cmd.Bool("yes"):
	case !isTerminal(env.Stdin) || !isTerminal(env.Stderr):
		return &exitError{
			exitRefused, errors.New("there is nobody to ask, so nothing was removed; with --yes it is done unasked"),
		}
	case !ui.ask(env.Stdin, question):
		ui.note("note", "nothing was removed")
		return exit(exitRefused)
	}
	var failed []error
	var freed int64
	for _, k := range chosen {
		if err := os.RemoveAll(k.Path); err != nil {
			failed = append(failed, fmt.Errorf("removing %q: %w", k.Path, fileerr.Cause(err)))
			continue
		}
		freed += k.Bytes
	}
	ui.note("clean", fmt.Sprintf("%s are free again", megabytes(freed)))
	return errors.Join(failed...)
}

func showKept(env Env, ui *ui, cmd *cli.Command, list []keptThing) error {
	out := newSheet(env)
	if cmd.Bool("json") {
		return out.json(slices.Concat([]keptThing{}, list))
	}
	if len(list) == 0 {
		ui.note("note", "codemode keeps nothing on this machine")
		return nil
	}
	var rows [][]cell
	for _, k := range list {
		where := "state"
		if k.Cache {
			where = "cache"
		}
		rows = append(rows, cells(k.Name, where, megabytes(k.Bytes), k.About))
	}
	if err := out.table([]string{"NAME", "KEPT IN", "SIZE", ""}, rows); err != nil {
		return err
	}
	if ui.live {
		ui.hints([]string{
			"to remove some of it: codemode clean WHAT", "to remove all of the cache: codemode clean --all",
		})
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
