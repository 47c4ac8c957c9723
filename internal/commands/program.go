package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"codemode/internal/bridge"
	"codemode/internal/lazyregexp"

	"github.com/urfave/cli/v3"

	"codemode/internal/fileerr"
	"codemode/internal/packages"
)

// program is what exec runs. close it.
type program struct {
	code     string
	filename string // as tracebacks show it
	argv     []string
	stdin    *os.File
	owned    bool // stdin is ours to close
	inputs   inputs
	with     packages.Head // what it needs
	script   string        // its name; empty where it is none
	servers  []string      // of a program of codemode's own, which has none of exec's flags
}

// readProgram takes the program from the command line: a script's name, -c CODE, or - for stdin. As with
// python3, a script that cannot be read is a usage error.
func readProgram(env Env, cmd *cli.Command) (*program, error) {
	args := cmd.Args().Slice()
	switch {
	case cmd.IsSet("c") && cmd.IsSet("m"):
		return nil, &usageError{"-c and -m do not go together", []string{"see: codemode exec --help"}}
	case cmd.IsSet("c"):
		return &program{
			code: cmd.String("c"), filename: "<string>", argv: append([]string{"-c"}, args...), stdin: env.Stdin,
		}, nil
	case cmd.IsSet("m"):
		return moduleProgram(env, cmd, args)
	case len(args) == 0:
		return nil, &usageError{"there is nothing to run", []string{
			"name a script, or give code with -c, or - for code on stdin", "see: codemode exec --help",
		}}
	case args[0] == "":
		return nil, &usageError{"the script's name is empty", []string{"see: codemode exec --help"}}
	case args[0] == "-":
		return stdinProgram(env, args)
	}
	name := args[0]
	if !filepath.IsAbs(name) {
		name = filepath.Join(env.Dir, name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, unreadable(args[0], err)
	}
	defer file.Close()
	data, err := readSource(file)
	if err != nil {
		return nil, unreadable(args[0], err)
	}
	p := &program{script: args[0], filename: args[0], argv: args, stdin: env.Stdin}
	p.code, err = source(args[0], data)
	return p, err
}

// modulePattern is what may stand behind -m.
var modulePattern = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// moduleProgram runs a module as python3 -m does: it sees the rest of the command line as its own.
func moduleProgram(env Env, cmd *cli.Command, args []string) (*program, error) {
	name := cmd.String("m")
	if !modulePattern().MatchString(name) {
		return nil, &usageError{
			"-m takes the name of a module, not " + quote(name), []string{"see: codemode exec --help"},
		}
	}
	code := fmt.Sprintf("import runpy\nrunpy.run_module(%q, run_name='__main__', alter_sys=True)\n", name)
	return &program{code: code, filename: "<string>", argv: append([]string{"-m"}, args...), stdin: env.Stdin}, nil
}

// maxSource is more than anybody writes; a device or a sparse file has no end.
const maxSource = 64 << 20

func readSource(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxSource+1))
	if err == nil && len(data) > maxSource {
		err = fmt.Errorf("it has more than %d MiB; data goes in by --file, or on stdin of a script", maxSource>>20)
	}
	return data, err
}

// stdinProgram reads all of stdin as code, which leaves the program an empty one.
func stdinProgram(env Env, args []string) (*program, error) {
	data, err := readSource(env.Stdin)
	if err != nil {
		return nil, fmt.Errorf("reading code from stdin: %w", err)
	}
	code, err := source("<stdin>", data)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("opening an empty stdin: %w", err)
	}
	return &program{code: code, filename: "<stdin>", argv: args, stdin: null, owned: true}, nil
}

// missingModule is what a failed import is told by, with what an index might have.
var missingModule = lazyregexp.New(`(No module named '?([A-Za-z_][A-Za-z0-9_]*)['()A-Za-z0-9_.]*); nothing can be [^\n]*`)

// amend has an outcome say what is known here alone, and nothing twice.
func (p *program) amend(env Env, out *bridge.Outcome) {
	out.Error = p.suggestWithDir(env, out.Error)
	if p.servers != nil && out.ExitCode == exitNotRun {
		out.Notes = nil // callCode has said why its server did not start
	}
}

// suggestWithDir adds to a failed import that the module is beside the script, where python3 would find it, and how to
// take it into the sandbox. An index may have a stranger's package of that name.
func (p *program) suggestWithDir(env Env, message string) string {
	m := missingModule().FindStringSubmatch(message)
	if m == nil || p.inputs.modules != "" {
		return message
	}
	where := "beside the script"
	if p.script == "" {
		where = "in this folder"
	}
	for _, name := range []string{m[2] + ".py", m[2]} {
		if _, err := os.Stat(filepath.Join(modulesDir(env, p.script), name)); err == nil {
			advice := fmt.Sprintf("; %s is %s, and not in the sandbox: codemode exec --with-dir", name, where)
			return strings.Replace(message, m[0], m[1]+advice, 1)
		}
	}
	return message
}

func (p *program) close() {
	if p.owned {
		_ = p.stdin.Close()
	}
}

// source checks that a file is Python source text.
func source(name string, data []byte) (string, error) {
	code := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(code) {
		return "", &usageError{msg: fmt.Sprintf("script %q is not UTF-8 text", name)}
	}
	return code, nil
}

func unreadable(name string, err error) error {
	e := &usageError{msg: fmt.Sprintf("reading script %q: %v", name, fileerr.Cause(err))}
	if strings.ContainsAny(name, " ();=") {
		e.hints = []string{"to run code, put -c before it"}
	}
	return e
}
