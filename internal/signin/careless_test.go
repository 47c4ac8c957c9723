package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/fakemcp"
)

// careless is a server that wants a sign-in, whose answers change on their way.
func careless(t *testing.T, change func(path string, status int, body string) (int, string), args ...string) string {
	t.Helper()
	inner := fakemcp.Handler(append([]string{"-oauth"}, args...)...)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		status, body := change(r.URL.Path, answer.Code, answer.Body.String())
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// TestCareless signs in at authorization servers that do not keep to their standards in what does no harm.
func TestCareless(t *testing.T) {
	server := careless(t, func(path string, status int, body string) (int, string) {
		switch path {
		case "/token": // GitHub's errors are a 200; others write numbers as texts
			return http.StatusOK, strings.Replace(body, `"expires_in":3600`, `"expires_in":"3600.0"`, 1)
		case "/revoke":
			return http.StatusNoContent, ""
		}
		return status, body
	}, "-device", "authorization_pending,slow_down,ok", "-token-life", "1h")
	l, slept, _ := device(t, server)
	g, err := l.Run(t.Context())
	if left := time.Until(g.Expires); err != nil || len(*slept) != 3 || left < 59*time.Minute || left > time.Hour {
		t.Errorf("it has %v left after %v, %v", left, *slept, err)
	}
	if err := l.Store.Remove(t.Context(), server); err != nil {
		t.Error(err)
	}

	over := careless(t, func(path string, status int, body string) (int, string) {
		if path == "/token" {
			return http.StatusOK, `{"error":"bad_verification_code","error_description":"it is over"}`
		}
		return status, body
	})
	_, err = (&Login{Store: &Store{Dir: t.TempDir()}, Server: over, Show: browser(t)}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), `it answers "bad_verification_code" ("it is over")`) {
		t.Errorf("the error is %v", err)
	}
}

// TestForgottenClient registers codemode anew where its authorization server has forgotten it.
func TestForgottenClient(t *testing.T) {
	forgotten := false
	server := careless(t, func(path string, status int, body string) (int, string) {
		if path == "/token" && forgotten {
			return http.StatusUnauthorized, `{"error":"invalid_client"}`
		}
		return status, body
	})
	login := &Login{Store: &Store{Dir: t.TempDir()}, Server: server, Show: browser(t)}
	before, err := login.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forgotten = true
	if _, err := login.Store.Token(t.Context(), server, before.AccessToken); !errors.Is(err, ErrSignedOut) {
		t.Errorf("the error is %v", err)
	}
	forgotten = false
	if after, err := login.Run(t.Context()); err != nil || after.Client.ID == before.Client.ID {
		t.Errorf("it is %q, as before, %v", after.Client.ID, err)
	}
}

// TestLife reads how long a token lives, whatever is said of it.
func TestLife(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"60": time.Minute, "1.5": 1500 * time.Millisecond, `"60"`: time.Minute, "1e30": longestLife,
		"0": 0, "-1": 0, "null": 0, `"soon"`: 0, "NaN": 0, "{}": 0, "1e999": 0,
	} {
		var l life
		if err := l.UnmarshalJSON([]byte(text)); err != nil || time.Duration(l) != want {
			t.Errorf("%s is %v, %v", text, time.Duration(l), err)
		}
	}
}

// TestNames is what a server may call itself, and nothing else.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		server, name string
		is           bool
	}{
		{"https://a.example/mcp", "https://a.example/mcp", true},
		{"https://a.example/mcp", "https://a.example/mcp/", true},
		{"https://a.example/mcp", "https://a.example", true},
		{"https://a.example/mcp?project=p/q", "https://a.example/mcp", true},
		{"https://a.example/mcp?project=p/q", "https://a.example/mcp?project=p/q", true},
		{"https://A.example:443/mcp", "https://a.example/mcp", true},
		{"https://a.example/a/mcp", "https://a.example/a", true},
		{"https://a.example/a/mcp", "https://a.example/b", false},
		{"https://a.example/mcp", "https://a.example/mc", false},
		{"https://a.example:8443/mcp", "https://a.example/mcp", false},
		{"https://a.example/mcp", "http://a.example/mcp", false},
		{"https://a.example/mcp", "https://a.example/mcp?project=p", false},
		{"https://a.example@b.example/mcp", "https://a.example/mcp", false},
	} {
		if got := slices.Contains(names(c.server), c.name); got != c.is {
			t.Errorf("%s may call itself %s: %v", c.server, c.name, got)
		}
	}
}

// TestMuchIsSaid keeps and tells little of what a server and its authorization server say.
func TestMuchIsSaid(t *testing.T) {
	store := &Store{Dir: t.TempDir()}
	store.Want("https://a.example/mcp", []string{strings.Repeat("x", maxChallenges+1)})
	if list := store.challenges("https://a.example/mcp"); list != nil || !store.Wanted("https://a.example/mcp") {
		t.Errorf("kept: %d", len(list))
	}
	server := careless(t, func(path string, status int, body string) (int, string) {
		if path == "/register" {
			return http.StatusInternalServerError, strings.Repeat("x", 5000)
		}
		return status, body
	})
	_, err := (&Login{Store: store, Server: server, Show: browser(t)}).Run(t.Context())
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("the error is %v", err)
	}
}

// TestToldTokens has an authorization server name tokens in its errors, also where they are cut.
func TestToldTokens(t *testing.T) {
	var tell func() string // nil as long as it does as it should
	server := careless(t, func(path string, status int, body string) (int, string) {
		if path == "/token" && tell != nil {
			return http.StatusBadRequest, tell()
		}
		return status, body
	}, "-token-life", "5s")
	store := &Store{Dir: t.TempDir()}
	g, err := (&Login{Store: store, Server: server, Show: browser(t)}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{
		`{"error":"invalid_request","error_description":"%s and %s"}`,
		`{"error":"invalid_request","error_description":"` + strings.Repeat("x", 190) + `%s %s"}`,
		`{"error":"invalid_request %s %s"}`, `{"error":"` + strings.Repeat("x", 70) + `%s %s"}`,
		`{"error":"invalid_grant","error_description":"%s and %s"}`,
	} {
		tell = func() string { return fmt.Sprintf(format, g.AccessToken, g.RefreshToken) }
		_, err := store.Token(t.Context(), server, "")
		said := fmt.Sprint(err)
		if !strings.Contains(said, "***") || strings.Contains(said, g.AccessToken[:12]) || strings.Contains(said, g.RefreshToken[:12]) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestToldType: the type of a token is told if it is one, and else not what it is, which may be what was sent.
func TestToldType(t *testing.T) {
	for kind, want := range map[string]string{
		"mac": `its token is of type "mac", and`, "DPoP": `its token is of type "DPoP", and`,
		"cjpDbGlTZWNyZXQtbW5i": "its token is of another type, and", "": "its token is of another type, and",
	} {
		server := careless(t, func(path string, status int, body string) (int, string) {
			if path == "/token" {
				body = `{"access_token":"x","token_type":"` + kind + `"}`
			}
			return status, body
		})
		_, err := (&Login{Store: &Store{Dir: t.TempDir()}, Server: server, Show: browser(t)}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || kind != "" && strings.Contains(want, "another") &&
			strings.Contains(err.Error(), kind) {
			t.Errorf("%q: %v, want %q", kind, err, want)
		}
	}
}
