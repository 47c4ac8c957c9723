package commands

import (
	"strings"
	"testing"
	"unicode/utf8"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
)

// TestConfigHelp holds for the commands of config what TestHelpFitsAScreen does for the others.
func TestConfigHelp(t *testing.T) {
	names := commandNames(table(Env{}, &ui{}).Command("config"))
	if len(names) == 0 {
		t.Fatal("config has no commands")
	}
	for _, name := range names {
		code, text, _ := run("help", "config", name)
		if code != 0 || !strings.HasPrefix(text, "codemode config "+name+": ") ||
			!strings.Contains(text, "\nexamples:\n") {
			t.Errorf("help config %s: code %d, %q", name, code, text)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("help config %s is wider than 80 columns: %s", name, line)
			}
		}
	}
}

func TestConfigRowsOnATerminal(t *testing.T) {
	env := Env{Dir: "/home/a/p/sub", Lookup: func(name string) (string, bool) { return "/home/a", name == "HOME" }}
	for _, tt := range []struct {
		from config.Origin
		want string
	}{
		{config.Origin{Layer: config.Default}, "default"},
		{config.Origin{Layer: config.Flag, Name: "--memory"}, "--memory"},
		{config.Origin{Layer: config.Environment, Name: "MCP_BRIDGE_MEMORY"}, "MCP_BRIDGE_MEMORY"},
		{config.Origin{Layer: config.User, File: "/home/a/.config/codemode/config.toml", Line: 3}, "~/.config/codemode/config.toml:3"},
		{config.Origin{Layer: config.User, File: "/etc/codemode.toml", Line: 3}, "/etc/codemode.toml:3"},
		{config.Origin{Layer: config.Tenant, File: "/etc/codemode.toml", Line: 3}, "/etc/codemode.toml:3 (tenant)"},
		{config.Origin{Layer: config.Project, File: "/srv/p/.codemode/config.toml", Line: 3}, "/srv/p/.codemode/config.toml:3"},
	} {
		row := configRow(env, sheet{width: 80}, "name", "value", tt.from)
		if got := row[2].text; got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.from, got, tt.want)
		}
	}
	env.Dir = "/srv/p/sub"
	if got := inShort(env, "/srv/p/.codemode/config.toml:3"); got != "../.codemode/config.toml:3" {
		t.Errorf("a project's file: %q", got)
	}
}

func TestFitValues(t *testing.T) {
	long, from := strings.Repeat("v", 50), strings.Repeat("f", 30)
	for _, tt := range []struct{ width, want int }{{0, 50}, {200, 50}, {80, 80 - 4 - 30 - 4}, {40, minValue}} {
		rows := [][]cell{cells("name", long, from), cells("n", "short", "f")}
		fitValues(sheet{width: tt.width}, rows)
		if got := utf8.RuneCountInString(rows[0][1].text); got != tt.want || rows[1][1].text != "short" {
			t.Errorf("width %d: %d characters, want %d; %q", tt.width, got, tt.want, rows[1][1].text)
		}
	}
}

func TestConfigHints(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&config.UnknownTenantError{Name: "wrok", Known: []string{"default", "work"}}, `did you mean "work"?`},
		{&config.UnknownTenantError{Name: "zzz", Known: []string{"default", "work"}}, "there are default, work"},
		{&config.ProjectError{}, "codemode config path"},
		{&clientcfg.UnknownSourceError{Name: "curser"}, `did you mean "cursor"?`},
		{&isThereError{"name another"}, "name another"},
		{errNoConfigDir, "XDG_CONFIG_HOME"},
	} {
		if got := strings.Join(hint.Of(tt.err), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%T: hints %q, want %q", tt.err, got, tt.want)
		}
	}
}
