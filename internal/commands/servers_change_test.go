package commands

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// writerFunc is told what is written.
type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// TestApprovedIsShown: what approve shows is the entry that it has pinned, whatever the file says a moment later.
func TestApprovedIsShown(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	file := filepath.Join(project, ".mcp.json")
	says := func(word string) {
		text := `{"mcpServers": {"build": {"url": "https://` + word + `.invalid/mcp"}}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		change func()
		status string
	}{
		{"it stays", func() {}, "ready"},
		{"it changes", func() { says("second") }, "needs-approval: it has changed since it was approved"},
		{"it goes", func() { os.Remove(file) }, "problem: it is in its file no more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			says("first")
			var shown bytes.Buffer
			env := Env{
				Args: []string{"codemode", "servers", "approve", "build"}, Dir: project, Stdout: &shown,
				Lookup: func(name string) (string, bool) {
					value, ok := map[string]string{
						"HOME": home, "USERPROFILE": home, "XDG_STATE_HOME": home,
					}[name]
					return value, ok
				},
			}
			env.Stderr = writerFunc(func(text []byte) {
				shown.Write(text)
				if bytes.Contains(text, []byte("codemode: approved: ")) {
					tt.change()
				}
			})
			if err := table(env, newUI(env)).Run(t.Context(), env.Args); err != nil {
				t.Fatal(err)
			}
			if got := shown.String(); !strings.Contains(got, "\nurl       https://first.invalid/mcp\n") ||
				!strings.Contains(got, "\nstatus    "+tt.status+"\n") {
				t.Errorf("%s\nwant %q, and what was approved", got, tt.status)
			}
		})
	}
}

// TestEntryIsShownWhole: each member of a project's entry that decides anything, be it what code may call or is told,
// is in what show and approve say, in the text and in JSON.
func TestEntryIsShownWhole(t *testing.T) {
	decideNothing := []string{ // or are shown by other members of the entry
		"Name", "Disabled", "Sandbox", "NoSandbox", "Dialect", "Project", "EnvHash", "Stamp", "Line", "Also", "Unread",
		"Own", "Doubted",
	}
	text := func(s config.Server) string {
		d := detail(clientcfg.Entry{Server: s, Scope: clientcfg.Project})
		var b strings.Builder
		d.write(&b)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return b.String() + string(data)
	}
	of := reflect.TypeFor[config.Server]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if slices.Contains(decideNothing, name) {
			continue
		}
		var s config.Server
		mark := "M4RK"
		switch field := reflect.ValueOf(&s).Elem().Field(i); field.Interface().(type) {
		case string:
			field.SetString("M4RK")
		case time.Duration:
			field.SetInt(int64(1234 * time.Hour))
			mark = "1234h0m0s"
		case []string:
			field.Set(reflect.ValueOf([]string{"M4RK"}))
		case map[string]string:
			field.Set(reflect.ValueOf(map[string]string{"N4ME": "M4RK"}))
		case *config.OAuth:
			s.OAuth = &config.OAuth{ClientID: "M4RK"}
		default:
			t.Errorf("%s: a type that this test does not know", name)
		}
		if shown := text(s); strings.Count(shown, mark) != 2 {
			t.Errorf("%s is not shown:\n%s", name, shown)
		}
	}
}
