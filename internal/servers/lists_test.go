package servers

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/config"
)

// TestListsAge uses a list for as long as its server says that it is good, and never longer than the user says.
func TestListsAge(t *testing.T) {
	for _, c := range []struct{ most, says, good time.Duration }{
		{time.Hour, 0, time.Hour},
		{time.Hour, time.Minute, time.Minute},
		{time.Hour, 2 * time.Hour, time.Hour},
		{0, time.Minute, time.Minute},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			l := OpenLists(ListsOptions{Dir: dir, MaxAge: c.most, Log: slog.New(slog.DiscardHandler)})
			l.Save(entryOf("a"), []json.RawMessage{json.RawMessage(`{"name":"t"}`)}, c.says)
			<-time.After(c.good)
			if e, ok := l.Load(entryOf("a")); !ok || len(e.Tools) != 1 {
				t.Errorf("%+v: not used while it is good", c)
			}
			<-time.After(time.Second)
			if _, ok := l.Load(entryOf("a")); ok {
				t.Errorf("%+v: used when it is not", c)
			}
		})
	}
}

// TestListsOfSignIns gives no sign-in what another was listed, and has its own again.
func TestListsOfSignIns(t *testing.T) {
	who := "ada"
	far := config.Server{Name: "far", URL: "https://far.example/mcp"}
	l := OpenLists(ListsOptions{
		Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), SignedInAs: func(config.Server) string { return who },
	})
	l.Save(far, []json.RawMessage{json.RawMessage(`{"name":"hers"}`)}, 0)
	l.Save(entryOf("near"), []json.RawMessage{json.RawMessage(`{"name":"all"}`)}, 0)
	for _, other := range []string{"bob", ""} {
		who = other
		if e, ok := l.Load(far); ok {
			t.Errorf("%q is given %s", who, e.Tools)
		}
		if _, ok := l.Load(entryOf("near")); !ok {
			t.Error("a program's list is its own, whoever is signed in elsewhere")
		}
	}
	who = "ada"
	if _, ok := l.Load(far); !ok {
		t.Error("hers is lost")
	}
}

// TestListsOfEnvFiles gives nothing that was listed with other variables, and has it again with these.
func TestListsOfEnvFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "variables")
	account := func(name string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("ACCOUNT="+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Server{Name: "a", Command: "none", EnvFile: path}
	l := OpenLists(ListsOptions{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Lookup: os.LookupEnv})
	account("ada")
	l.Save(c, []json.RawMessage{json.RawMessage(`{"name":"hers"}`)}, 0)
	account("bob")
	if e, ok := l.Load(c); ok {
		t.Errorf("another account is given %s", e.Tools)
	}
	account("ada")
	if _, ok := l.Load(c); !ok {
		t.Error("hers is lost")
	}
}
