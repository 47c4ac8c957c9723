package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/proc"
)

// plant makes files below dir: "NAME" is a program, "NAME -> TARGET" a link, "NAME = TEXT" a file with that text.
func plant(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, target, isLink := strings.Cut(f, " -> ")
		name, text, _ := strings.Cut(name, " = ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && isLink {
			err = os.Symlink(strings.ReplaceAll(target, "DIR", dir), path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestProgramView holds what of the host a program sees beside the system: its own installation and what it is given.
func TestProgramView(t *testing.T) {
	node := []string{
		"h/.nvm/v22/bin/node", "h/.nvm/v22/bin/npx -> ../lib/node_modules/npm/bin/npx-cli.js",
		"h/.nvm/v22/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node\n", "h/.nvm/v22/share/x",
	}
	for name, c := range map[string]struct {
		files        []string
		command      string
		cwd          string
		restrictions Restrictions
		want         string // paths below the test's directory, as the program sees them; ! is before what it may change
	}{
		"a program":                  {[]string{"h/go/bin/tool", "h/go/src/x"}, "h/go/bin/tool", "", Restrictions{}, "h/go/bin/tool"},
		"a program in the home":      {[]string{"h/bin/tool", "h/lib/python3.12/x"}, "h/bin/tool", "", Restrictions{}, "h/bin/tool"},
		"node":                       {node, "h/.nvm/v22/bin/node", "", Restrictions{}, "h/.nvm/v22/bin h/.nvm/v22/lib"},
		"npx":                        {node, "h/.nvm/v22/bin/npx", "", Restrictions{}, "h/.nvm/v22/bin h/.nvm/v22/lib"},
		"of a project's modules":     {append(node, "p/node_modules/.bin/s -> ../s/dist/index.js", "p/node_modules/s/dist/index.js = #!/usr/bin/env node\n", "p/.env"), "p/node_modules/.bin/s", "", Restrictions{}, "h/.nvm/v22/bin h/.nvm/v22/lib p/node_modules"},
		"a virtual environment":      {[]string{"v/bin/python", "v/pyvenv.cfg = home = DIR/base/bin\n", "v/lib/python3.12/x", "base/bin/python3 -> python3.12", "base/bin/python3.12", "base/lib/python3.12/x", "base/secret"}, "v/bin/python", "", Restrictions{}, "base/bin base/lib v/bin v/lib v/pyvenv.cfg"},
		"a tool of uv":               {[]string{"h/.local/bin/t -> ../share/uv/tools/t/bin/t", "h/.local/share/uv/tools/t/bin/t = #!DIR/h/.local/share/uv/tools/t/bin/python\n", "h/.local/share/uv/tools/t/pyvenv.cfg = x = y\n", "h/.local/share/keyrings/k"}, "h/.local/bin/t", "", Restrictions{}, "h/.local/bin/t h/.local/share/uv/tools/t/bin h/.local/share/uv/tools/t/pyvenv.cfg"},
		"where it starts":            {[]string{"t", "p/x"}, "t", "p", Restrictions{}, "p t"},
		"at home":                    {[]string{"t", "h/x"}, "t", "h", Restrictions{}, "t"},
		"above home":                 {[]string{"t", "h/x"}, "t", ".", Restrictions{}, "t"},
		"what it is given":           {[]string{"t", "h/a/x", "h/b/x"}, "t", "", Restrictions{Read: []string{"h/a"}, Write: []string{"h/b"}}, "h/a !h/b t"},
		"a part of what it reads":    {[]string{"t", "a/b/x"}, "t", "", Restrictions{Read: []string{"a"}, Write: []string{"a/b"}}, "a !a/b t"},
		"a part of what it changes":  {[]string{"t", "a/b/x"}, "t", "", Restrictions{Write: []string{"a/b", "a"}}, "!a t"},
		"by way of a link":           {[]string{"t", "a/x", "l -> a"}, "t", "", Restrictions{Read: []string{"l"}}, "a l t"},
		"a link in what it sees":     {[]string{"t", "a/x", "b/l -> ../a"}, "t", "", Restrictions{Read: []string{"b", "b/l"}}, "a b t"},
		"its program is changeable":  {[]string{"w/bin/t -> ../../h/.ssh/key", "h/.ssh/key"}, "w/bin/t", "", Restrictions{Write: []string{"w"}}, "!w"},
		"its installation is, too":   {[]string{"w/bin/python3", "w/lib/python3.12/x", "w/pyvenv.cfg = home = DIR/h/.ssh\n", "h/.ssh/python3"}, "w/bin/python3", "", Restrictions{Write: []string{"w"}}, "!w"},
		"an interpreter's first bin": {[]string{"s = #!DIR/i\n", "i"}, "s", "", Restrictions{}, "i s"},
		"links in a circle":          {[]string{"a -> b", "b -> a"}, "a", "", Restrictions{}, ""},
		"a project's first line":     {[]string{"c/run = #!DIR/o/.venv/bin/python\n", "o/.venv/bin/python -> DIR/i/bin/python3", "o/.venv/pyvenv.cfg = x = y\n", "o/.venv/lib/x", "i/bin/python3"}, "c/run", "", Restrictions{Project: "c"}, "c/run"},
		"a project's link out":       {[]string{"c/run -> ../o/node_modules/s/tool", "o/node_modules/s/tool"}, "c/run", "", Restrictions{Project: "c"}, ""},
		"a project's folder out":     {[]string{"c/d -> ../o/node_modules/s", "o/node_modules/s/tool"}, "c/d/tool", "", Restrictions{Project: "c"}, ""},
		"a project's environment":    {[]string{"c/.venv/bin/python -> DIR/h/uv/bin/python3.12", "c/.venv/pyvenv.cfg = home = DIR/h/uv/bin\n", "c/.venv/lib/x", "h/uv/bin/python3.12", "h/uv/bin/python3 -> python3.12", "h/uv/lib/python3.12/x"}, "c/.venv/bin/python", "", Restrictions{Project: "c"}, "c/.venv/bin c/.venv/lib c/.venv/pyvenv.cfg h/uv/bin h/uv/lib"},
		"a project's, of another's":  {[]string{"c/.venv/bin/python -> DIR/o/.venv/bin/python", "c/.venv/pyvenv.cfg = home = DIR/o/.venv/bin\n", "o/.venv/bin/python", "o/.venv/bin/python3", "o/.venv/pyvenv.cfg = x = y\n", "o/.venv/lib/x"}, "c/.venv/bin/python", "", Restrictions{Project: "c"}, ""},
		"a project's secret":         {[]string{"c/.venv/bin/python3 -> /usr/bin/python3", "c/.venv/pyvenv.cfg = home = DIR/c/h/bin\n", "c/h/bin/python3 -> DIR/h/.ssh/id_rsa", "c/h/lib/python3.11/x", "h/.ssh/id_rsa"}, "c/.venv/bin/python3", "", Restrictions{Project: "c"}, "c/.venv/bin c/.venv/pyvenv.cfg"},
		"a secret beside a project":  {[]string{"c/.venv/bin/python3 -> /usr/bin/python3", "c/.venv/pyvenv.cfg = home = DIR/c/h/bin\n", "c/h/bin/python3 -> DIR/h/.ssh/id_rsa", "c/h/lib/python3.11/x", "h/.ssh/id_rsa"}, "c/.venv/bin/python3", "", Restrictions{Project: "c/.venv"}, "c/.venv/bin c/.venv/pyvenv.cfg"},
		"a project's env":            {append(node, "c/run = #!/usr/bin/env node\n"), "c/run", "", Restrictions{Project: "c"}, "c/run h/.nvm/v22/bin h/.nvm/v22/lib"},
		"a project's env of a tool":  {append(node, "c/run = #!/usr/bin/env tool\n", "h/.nvm/v22/bin/tool"), "c/run", "", Restrictions{Project: "c"}, "c/run"},
		"environments in a circle":   {[]string{"v/bin/python3", "v/pyvenv.cfg = home = DIR/w/bin\n", "w/bin/python3", "w/pyvenv.cfg = home = DIR/v/bin\n"}, "v/bin/python3", "", Restrictions{}, "v/bin v/pyvenv.cfg w/bin w/pyvenv.cfg"},
		"scripts in a circle":        {[]string{"a = #!DIR/b\n", "b = #!DIR/a\n"}, "a", "", Restrictions{}, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			plant(t, dir, append(c.files, "h/.keep")...)
			below := func(paths []string) (list []string) {
				for _, p := range paths {
					list = append(list, filepath.Join(dir, p))
				}
				return list
			}
			cwd := filepath.Join(dir, c.cwd)
			if c.cwd == "" {
				cwd = "/"
			}
			programs := &Programs{trusted: []string{dir + "/l", dir + "/b/l"}}
			v, err := programs.view(proc.Spec{
				Path: filepath.Join(dir, c.command), Dir: cwd,
				Env: []string{"HOME=" + dir + "/h", "PATH=" + dir + "/h/.nvm/v22/bin:/nowhere"},
			}, Restrictions{
				Read: below(c.restrictions.Read), Write: below(c.restrictions.Write),
				Project: strings.Join(below(strings.Fields(c.restrictions.Project)), ""),
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range v.binds {
				if path, ok := strings.CutPrefix(b.Inside, dir+"/"); ok {
					if b.Write {
						path = "!" + path
					}
					got = append(got, path)
				}
				if b.Write && !strings.HasPrefix(b.Inside, dir) {
					t.Errorf("%s may be changed", b.Inside)
				}
			}
			slices.SortFunc(
				got,
				func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!")) },
			)
			if list := strings.Join(got, " "); list != c.want {
				t.Errorf("it sees %q, want %q", list, c.want)
			}
		})
	}
}

// TestProgramPrivate holds that neither an entry's environment nor links in what it installs, nor where it starts,
// shows a program what its restrictions do not name.
func TestProgramPrivate(t *testing.T) {
	for name, c := range map[string]struct {
		files        []string
		command, cwd string
		want         string
	}{
		"a home of its own":         {[]string{"t"}, "t", "h", "t"},
		"below it":                  {[]string{"t", "h/src/x"}, "t", "h/src", "h/src t"},
		"a client's folder":         {[]string{"t"}, "t", "h/.cursor", "t"},
		"what an installation says": {[]string{"e/bin/s", "e/pyvenv.cfg = x", "e/conf -> ../h/.ssh", "e/lib -> lib64", "e/lib64/x"}, "e/bin/s", "", "e/bin e/lib e/lib64 e/pyvenv.cfg"},
		"modules that are others":   {[]string{"h/.cursor/node_modules/x/s", "p/node_modules -> ../h/.cursor/node_modules"}, "p/node_modules/x/s", "", "h/.cursor/node_modules p/node_modules"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			plant(t, dir, append(c.files, "h/.ssh/key", "h/.cursor/mcp.json", "other/.keep")...)
			spec := proc.Spec{
				Path: filepath.Join(dir, c.command), Dir: filepath.Join(dir, c.cwd),
				Env: []string{"HOME=" + dir + "/other"},
			}
			programs := &Programs{protected: []string{dir + "/h/.cursor/mcp.json"}, homes: []string{dir + "/h"}}
			v, err := programs.view(spec, Restrictions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range v.binds {
				if path, ok := strings.CutPrefix(b.Inside, dir+"/"); ok {
					got = append(got, path)
				}
			}
			slices.Sort(got)
			if list := strings.Join(got, " "); list != c.want {
				t.Errorf("it sees %q, want %q", list, c.want)
			}
		})
	}
}

func TestProgramEnv(t *testing.T) {
	got := strings.Join(programEnv([]string{"A=1", "TMPDIR=/var/tmp", "XDG_RUNTIME_DIR=/run/user/1", "TMPDIRS=x"}), " ")
	if want := "A=1 TMPDIR=/tmp TMPDIRS=x"; got != want {
		t.Errorf("the environment is %q, want %q", got, want)
	}
	for _, c := range [][2]string{
		{"ada", "ada:x:1:2::/home/ada:/bin/sh\n"}, {"a:b", "sandbox:x:1:2::/home/ada:/bin/sh\n"},
	} {
		if got := programUsers(c[0], 1, 2, "/home/ada")[0].Content; got != c[1] {
			t.Errorf("the user is %q, want %q", got, c[1])
		}
	}
}
