// Package testscripts is the specification of the command line, as scripts. README.md says how to read
// and write them.
package testscripts

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/commands"
	"codemode/internal/fakemcp"
	"codemode/internal/require"
	"codemode/internal/sandbox/sandboxtest"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("u", false, "update what the scripts compare with")

// programs are what scripts can exec besides what the system has. The test binary is all of them.
var programs = map[string]func(args []string) int{
	"codemode": codemode,
	"fakemcp":  fakemcp.Main,
	"stubmcp":  stubServer,
	"mcp-call": mcpCall,
	"browser":  browser,

	"fakeregistry": fakeRegistry,
	"fakeindex":    fakeIndex,
	"fakewheels":   fakeWheels,

	"conformance-client": conformanceClient,
	"model-sees":         modelSees,
	"tty":                tty,
}

// codemode is the program itself. Its file is that of all the others here, so it does not know itself by that.
func codemode([]string) int {
	env := commands.ProcessEnv()
	env.Self = ""
	return commands.Main(context.Background(), env)
}

func TestMain(m *testing.M) {
	mains := map[string]func(){}
	for name, main := range programs {
		mains[name] = func() { os.Exit(main(os.Args[1:])) }
	}
	testscript.Main(waiting{m}, mains)
}

// waiting are tests that wait more than they compute: twice as many run side by side as there are processors.
type waiting struct{ *testing.M }

func (w waiting) Run() int {
	flag.Parse()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "test.parallel" })
	if !isSet {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // a number always fits
	}
	return w.M.Run()
}

func TestScripts(t *testing.T) {
	adoptOrphans(t)
	cache := scriptCache(t)
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(env, cache) },
		Condition:           condition(t, cache),
		Cmds:                scriptCommands,
	})
}

// scriptCache is an XDG_CACHE_HOME of all scripts together, with Python in it: unpacking that takes seconds.
func scriptCache(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	shared := sandboxtest.PythonCache(t)
	err := os.CopyFS(filepath.Join(cache, "codemode", "python"), os.DirFS(filepath.Join(shared, "python")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // where there is none, scripts see that
		t.Fatal(err)
	}
	return cache
}

// setup gives a script an environment of its own, made from nothing but what is named here.
func setup(env *testscript.Env, cache string) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// No variable of the person who runs the tests changes what codemode does.
	env.Vars = slices.DeleteFunc(env.Vars, func(v string) bool {
		return strings.HasPrefix(v, "CODEMODE_") || strings.HasPrefix(v, "MCP_") || strings.HasPrefix(v, "XDG_")
	})
	env.Setenv("HOME", home)                                     // ~/MCPs, ~/.config and ~/.local are the script's own
	env.Setenv("USERPROFILE", home)                              // the same, on Windows
	env.Setenv("XDG_CACHE_HOME", cache)                          // shared: it only holds what can be made again
	env.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // no script asks a keyring of that person's
	if runtime.GOOS != "linux" {
		env.Setenv("CODEMODE_SECRETS_STORE", "file") // where it is reached without a bus
	}
	env.Setenv("TMPDIR", env.WorkDir) // what is left behind shows
	if examples, err := filepath.Abs("../examples"); err == nil {
		env.Setenv("EXAMPLES", examples)
	}
	if self, err := exec.LookPath("codemode"); err == nil {
		env.Setenv("CODEMODE", self) // for scripts that change PATH
	}
	path, err := withoutClients(env.Getenv("PATH"), filepath.Join(env.WorkDir, ".programs"))
	if err != nil {
		return err
	}
	env.Setenv("PATH", path)    // a script that wants clients says so
	env.Setenv("TERM", "xterm") // a terminal without pictures; tty makes it one
	if race, ok := os.LookupEnv("GORACE"); ok {
		env.Setenv("GORACE", race) // the programs are this binary, detector and all
	}
	if npm := npmPrefix(); npm != "" {
		env.Setenv("NPM", npm) // a prefix with real servers and clients, for scripts that begin with [!npm]
		env.Setenv("SEE", seeScript)
	}
	return nil
}

// withoutClients leaves clients of this machine's out of a PATH, for install finds those that are there: of a folder with
// some, a folder of links to the other programs takes the place, below dir.
func withoutClients(path, dir string) (string, error) {
	var clients []string
	for _, c := range clientcfg.Clients() {
		clients = append(clients, c.Install.Programs...)
	}
	folders := filepath.SplitList(path)
	for i, folder := range folders {
		isThere := func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err == nil
		}
		if !slices.ContainsFunc(clients, isThere) {
			continue
		}
		folders[i] = filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(folders[i], 0o755); err != nil {
			return "", err
		}
		programs, err := os.ReadDir(folder)
		for _, p := range programs {
			if name := p.Name(); err == nil && !slices.Contains(clients, name) {
				err = os.Symlink(filepath.Join(folder, name), filepath.Join(folders[i], name))
			}
		}
		if err != nil {
			return "", err
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator)), nil
}

// npmPrefix is where `npm install` has put the real servers and clients; empty when nobody has.
func npmPrefix() string { return os.Getenv("CODEMODE_TEST_NPM") }

// condition answers [native], a sandbox can be started here; [python], the system has a python3; [mounts], one may
// mount; [dbus] and [gcc], these programs; [pandas], with pandas and matplotlib; [npm], real servers and clients are there; [models], and what shows what
// their models see; and [soak], CODEMODE_REQUIRE names it. One that CODEMODE_REQUIRE names and that
// does not hold fails the test.
func condition(t *testing.T, cache string) func(string) (bool, error) {
	holds := map[string]func() bool{
		"native": sync.OnceValue(func() bool {
			cmd := exec.Command("codemode", "exec", "-c", "pass")
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Logf("native is not available: %v: %s", err, out)
			}
			return err == nil
		}),
		"python": sync.OnceValue(func() bool { return exec.Command("/usr/bin/python3", "-c", "pass").Run() == nil }),
		"pandas": sync.OnceValue(
			func() bool { return exec.Command("/usr/bin/python3", "-c", "import pandas, matplotlib").Run() == nil },
		),
		"mounts": sync.OnceValue(func() bool {
			return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).Run() == nil
		}),
		"dbus": func() bool { _, err := exec.LookPath("dbus-daemon"); return err == nil },
		"gcc":  func() bool { _, err := exec.LookPath("gcc"); return err == nil },
		"soak": func() bool { return require.Named("soak") },
		"pip":  func() bool { return require.Named("pip") },
		"npm": sync.OnceValue(func() bool {
			_, err := os.Stat(filepath.Join(npmPrefix(), "node_modules", ".bin", "mcp-server-memory"))
			return npmPrefix() != "" && err == nil
		}),
	}
	holds["models"] = func() bool {
		_, err := os.Stat(seeScript)
		return err == nil && holds["npm"]()
	}
	return func(name string) (bool, error) {
		check, known := holds[name]
		if !known {
			return false, errUnknownCondition(name)
		}
		ok := check()
		if !ok && require.Named(name) {
			t.Errorf("CODEMODE_REQUIRE names %q, which this machine does not have", name)
		}
		return ok, nil
	}
}

type errUnknownCondition string

func (e errUnknownCondition) Error() string { return "unknown condition " + string(e) }

// TestReadme holds that every program, command and condition has its section in README.md.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range programs {
		want = append(want, "`exec "+name)
	}
	for name := range scriptCommands {
		want = append(want, "`"+name)
	}
	for _, name := range []string{"native", "python", "mounts", "npm", "models", "pandas", "soak", "pip"} {
		want = append(want, "`["+name+"]`")
	}
	rows := strings.ReplaceAll(string(data), "`[!] ", "`")
	for _, w := range want {
		if !strings.Contains(rows, "\n| "+w) {
			t.Errorf("README.md has no row that begins with %s", w)
		}
	}
}
