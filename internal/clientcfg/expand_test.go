package clientcfg

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/redact"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{"V": "value", "EMPTY": "", "NESTED": "${V}"}
	for _, tt := range []struct {
		dialect  config.Dialect
		in, want string // a want that begins with "error: " is part of the error
	}{
		{config.DialectOwn, "a ${V} ${env:V} ${X:-d} ${EMPTY:-d} ${EMPTY}$V $$ ${1} ${a%b}", "a value value d d $V $$ ${1} ${a%b}"},
		{config.DialectOwn, "${NESTED}", "${V}"},
		{config.DialectOwn, "${X}", "error: X is not set"},
		{config.DialectOwn, "${input:tok}", "error: ${input:tok} can only"},
		{config.DialectNone, "${V} $V %V% {env:V} pa$$word", "${V} $V %V% {env:V} pa$$word"},
		{config.DialectBraces, "${V}${X:-d}$V${env:V}", "valued$V${env:V}"},
		{config.DialectBraces, "${X}", "error: X is not set"},
		{config.DialectEnvColon, "${env:V} $V ${V} ${userHome}${/}${pathSeparator}", "value $V ${V} /home/a//"},
		{config.DialectEnvColon, "${workspaceFolder} ${workspaceFolderBasename}", "/src/x x"},
		{config.DialectEnvColon, "${env:X}", "error: X is not set"},
		{config.DialectEnvColon, "${input:tok}", "error: ${input:tok} can only"},
		{config.DialectEnvColon, "${command:x.y}", "error: can only"},
		{config.DialectEnvColon, "${file:/src/x/k}", "in the file"},
		{config.DialectEnvColon, "${file:~/k}", "error: ${file:~/k} stands in an entry of a project, which gets no file"},
		{config.DialectDollar, "$V/${V}/${X:-d}/$X/%V%", "value/value/d/$X/%V%"},
		{config.DialectDollar, "$(op read secret-of-mine)", "error: $(…) can only"},
		{config.DialectLeadingDollar, "$V", "$V"},
		{config.DialectCurly, "{env:V}{env:X}${V}", "value${V}"},
		{config.DialectCurly, "{file:k}", "in the file"},
		{config.DialectCurly, "{file:../x/../y}", "error: from outside of \"/src/x\""},
		{config.DialectCurly, "{file:none}", "error: none"},
		{config.DialectSecrets, "${{ secrets.V }} ${V}", "value ${V}"},
		{config.DialectSecrets, "${{ secrets.X }}", "error: X is not set"},
	} {
		s := config.Server{Args: []string{tt.in}, Dialect: tt.dialect, Project: "/src/x", Source: "/src/x/s.json"}
		got, err := Expand(s, resolver(vars, nil))
		if part, fails := strings.CutPrefix(tt.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret-of-mine") {
				t.Errorf("%s: %q: error %v, want one with %q", tt.dialect, tt.in, err, part)
			}
			continue
		}
		if err != nil || got.Args[0] != tt.want {
			t.Errorf("%s: %q: got %q, %v, want %q", tt.dialect, tt.in, got.Args[0], err, tt.want)
		}
		if s.Args[0] != tt.in {
			t.Errorf("%q was changed in place", tt.in)
		}
	}
}

func resolver(vars map[string]string, told *[]string) Resolver {
	return Resolver{
		OS: "linux", Home: "/home/a",
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		ReadFile: func(s config.Server, path string) ([]byte, error) {
			switch filepath.ToSlash(s.Project + ":" + path) {
			case ":/home/a/k", "/src/x:/src/x/k":
				return []byte("in the file\n"), nil
			}
			return nil, errors.New("none")
		},
		Secret: func(string) (string, error) { return "4711", nil },
		Resolved: func(_, value string) {
			if told != nil {
				*told = append(*told, value)
			}
		},
	}
}

func TestExpandEverything(t *testing.T) {
	var told []string
	got, err := Expand(config.Server{
		Command: "${A}", Args: []string{"${B}"}, Cwd: "${C}", URL: "${D}", EnvFile: "${E}",
		Env: map[string]string{"F": "${F}"}, Headers: map[string]string{"G": "${G}"},
		EnvPass: []string{"H", "NOT_SET"}, HeadersFrom: map[string]string{"I": "I"}, BearerFrom: "J",
		Sandbox: &config.Restrictions{Read: []string{"${K}"}, Write: []string{"~/${L}"}, Network: true},
	}, resolver(map[string]string{
		"A": "a", "B": "b", "C": "c", "D": "d", "E": "e", "F": "f", "G": "g", "H": "h", "I": "i", "J": "j", "K": "k",
		"L": "l",
	}, &told))
	want := config.Server{
		Command: "a", Args: []string{"b"}, Cwd: "c", URL: "d", EnvFile: "e",
		Env:     map[string]string{"F": "f", "H": "h"},
		Headers: map[string]string{"G": "g", "I": "i", "Authorization": "Bearer j"},
		Sandbox: &config.Restrictions{Read: []string{"k"}, Write: []string{"~/l"}, Network: true},
		Dialect: config.DialectNone,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	slices.Sort(told)
	if got := strings.Join(told, ""); got != "abcdefghijkl" {
		t.Errorf("told of %q", got)
	}
}

// TestExpandSecret holds that what is kept as a secret is masked, however short it is, and is no project's.
func TestExpandSecret(t *testing.T) {
	var known redact.Secrets
	r := resolver(nil, nil)
	r.Resolved = known.AddNamed
	s := config.Server{Args: []string{"${secret:n}"}, Dialect: config.DialectOwn}
	got, err := Expand(s, r)
	if err != nil || got.Args[0] != "4711" {
		t.Errorf("got %q, %v", got.Args, err)
	}
	if text := known.Redactor().Text("it is 4711"); text != "it is "+redact.Mask {
		t.Errorf("shown: %q", text)
	}
	s.Project = "/src/x"
	if _, err = Expand(s, r); err == nil || !strings.Contains(err.Error(), "gets no secret of yours") {
		t.Error(err)
	}
}

// TestStamp holds that a server is told apart by the state of the files that its entry refers to.
func TestStamp(t *testing.T) {
	home := t.TempDir()
	env := Env{OS: "linux", Home: home, Lookup: func(string) (string, bool) { return "", false }}
	servers := []config.Server{
		{Args: []string{"{file:~/key}"}, Dialect: config.DialectCurly, Source: "/elsewhere/x.json"},
		{
			Env: map[string]string{"K": "a {file:key} b"}, Dialect: config.DialectCurly,
			Source: filepath.Join(home, "x.json"),
		},
		{EnvFile: "${userHome}/key", Dialect: config.DialectEnvColon},
		{EnvFile: "~/key"},
	}
	stamps := func() (all []string) {
		for _, s := range servers {
			all = append(all, Stamp(s, env))
		}
		return all
	}
	none := stamps()
	write(t, filepath.Join(home, "key"), "one")
	one := stamps()
	write(t, filepath.Join(home, "key"), "three")
	three := stamps()
	for i := range servers {
		if none[i] == one[i] || one[i] == three[i] || three[i] == "" || three[i] != Stamp(servers[i], env) {
			t.Errorf("%+v: %q, then %q, then %q", servers[i], none[i], one[i], three[i])
		}
	}
	if got := Stamp(config.Server{Args: []string{"{file:~/key}", "x"}}, env); got != "" {
		t.Errorf("an entry that refers to no file has %q", got)
	}
}

func TestExpandFileOfOnesOwn(t *testing.T) {
	s := config.Server{Args: []string{"{file:~/k}"}, Dialect: config.DialectCurly, Source: "/etc/s.json"}
	if got, err := Expand(s, resolver(nil, nil)); err != nil || got.Args[0] != "in the file" {
		t.Errorf("got %q, %v", got.Args, err)
	}
}

func TestExpandOnWindows(t *testing.T) {
	r := resolver(map[string]string{"V": "value"}, nil)
	r.OS = "windows"
	got, err := Expand(config.Server{Args: []string{"%V%${V}"}, Dialect: config.DialectDollar}, r)
	if err != nil || got.Args[0] != "valuevalue" {
		t.Errorf("got %q, %v", got.Args, err)
	}
}

func TestCopilotReplacesInEnvironmentAlone(t *testing.T) {
	s := config.Server{
		Command: "$V", Env: map[string]string{"A": "$V", "B": "x$V", "C": "${V}"}, Dialect: config.DialectLeadingDollar,
	}
	got, err := Expand(s, resolver(map[string]string{"V": "value"}, nil))
	want := map[string]string{"A": "value", "B": "x$V", "C": "value"}
	if err != nil || got.Command != "$V" || !maps.Equal(got.Env, want) {
		t.Errorf("got %q, %v, %v", got.Command, got.Env, err)
	}
}

// TestExpandBounded holds that an entry cannot become many times what its references stand for.
func TestExpandBounded(t *testing.T) {
	reads := 0
	s := config.Server{
		Dialect: config.DialectCurly, Command: "x", Project: "/src/x", Source: "/src/x/opencode.json",
		Args: []string{strings.Repeat("{file:f}", 6000)},
	}
	_, err := Expand(s, Resolver{ReadFile: func(config.Server, string) ([]byte, error) {
		reads++
		return bytes.Repeat([]byte("f"), 65<<10), nil
	}})
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") || reads > 20 {
		t.Errorf("%d files were read: %v", reads, err)
	}
}
