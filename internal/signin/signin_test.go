package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/fakemcp"
	"codemode/internal/hint"
)

// browser is a user who signs in at once: it follows where an address leads.
func browser(t *testing.T) func(context.Context, string) {
	return func(ctx context.Context, address string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
	}
}

// site is a server that wants a sign-in.
func site(t *testing.T, args ...string) string {
	t.Helper()
	s := httptest.NewServer(fakemcp.Handler(append([]string{"-oauth"}, args...)...))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// status is a server's answer to a token.
func status(t *testing.T, server, token string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, server, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestSignIn(t *testing.T) {
	server := site(t)
	store := &Store{Dir: filepath.Join(t.TempDir(), "sign-ins")}
	if _, err := store.Token(t.Context(), server, ""); !errors.Is(err, ErrSignedOut) {
		t.Errorf("before: %v", err)
	}
	login := &Login{Store: store, Server: server, Scopes: []string{"write"}, Show: browser(t)}
	g, err := login.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.Scopes, " "); got != "offline_access read write" {
		t.Errorf("the scopes are %q", got)
	}
	token, err := store.Token(t.Context(), server, "")
	if err != nil || status(t, server, token) == http.StatusUnauthorized {
		t.Errorf("the token is %q, %v", token, err)
	}
	for _, file := range []string{store.Dir, store.file(server)} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", file, info.Mode(), err)
		}
	}
	// A token that the server refuses is refreshed, once for all who ask.
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			other := &Store{Dir: store.Dir} // as another process
			fresh, err := other.Token(t.Context(), server, token)
			if err != nil || fresh == token || status(t, server, fresh) == http.StatusUnauthorized {
				t.Errorf("the fresh token is %q, %v", fresh, err)
			}
		})
	}
	all.Wait()
	if list := store.List(); len(list) != 1 || list[0].Server != server {
		t.Errorf("the list is %v", list)
	}
	if who := store.Who(server); who == "" || strings.Contains(who, token) || (&Store{}).Who(server) != "" {
		t.Errorf("signed in is %q", who)
	}
	foreign := &Store{Dir: store.Dir, Project: "/a/project"}
	if _, err := foreign.Token(t.Context(), server, ""); !errors.Is(err, ErrSignedOut) {
		t.Errorf("a project's entry has the user's sign-in: %v", err)
	}
	again, err := login.Run(t.Context())
	if err != nil || again.Client.ID != g.Client.ID {
		t.Errorf("signed in again as %q, who was %q, %v", again.Client.ID, g.Client.ID, err)
	}
	if again.ID == g.ID || store.Who(server) == "" {
		t.Errorf("another sign-in is the same, %q", again.ID)
	}
	if err := store.Remove(t.Context(), server); err != nil {
		t.Error(err)
	}
	_, err = store.Token(t.Context(), server, "")
	if !errors.Is(err, ErrSignedOut) || status(t, server, again.AccessToken) != http.StatusUnauthorized {
		t.Errorf("after: %v", err)
	}
}

// TestExpiry refreshes ahead of a token's end, and says when a sign-in is over.
func TestExpiry(t *testing.T) {
	server := site(t, "-token-life", "5s")
	store := &Store{Dir: t.TempDir()}
	g, err := (&Login{Store: store, Server: server, Show: browser(t)}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := store.Token(t.Context(), server, "")
	if err != nil || token == g.AccessToken {
		t.Errorf("a token that ends in seconds is sent: %v", err)
	}
	g.Expires = time.Now().Add(-time.Second) // a refresh token that was used: the authorization server ends it all
	if err := store.keep(g); err != nil {
		t.Fatal(err)
	}
	_, err = store.Token(t.Context(), server, "")
	if !errors.Is(err, ErrSignedOut) || !strings.Contains(err.Error(), "that is over") {
		t.Errorf("the error is %v", err)
	}
}

// TestLies has an authorization server, or the server, lie: each is refused in plain words, and nothing is kept.
func TestLies(t *testing.T) {
	for lie, want := range map[string]string{
		"issuer":          "does not match issuer",
		"iss":             `the answer is from "https://bank.example" and not from`,
		"no-iss":          `the answer is from "" and not from`,
		"no-pkce":         "does not protect codes (PKCE with S256); nothing was sent to it",
		"resource":        "the server's document about itself cannot be used",
		"denied":          `the sign-in failed: it answers "access_denied" ("not <b>you</b>")`,
		"no-token":        `it answers "invalid_grant" ("that is over")`,
		"mac":             `its token is of type "mac", and only bearer tokens can be used`,
		"redirects":       "which is not followed",
		"elsewhere":       "which is not followed",
		"token-redirect":  "which is not followed",
		"slow":            "how to sign in",
		"large":           "how to sign in",
		"page":            "how to sign in",
		"no-registration": "registers no clients by itself",
	} {
		t.Run(lie, func(t *testing.T) {
			store := &Store{Dir: t.TempDir()}
			if lie == "slow" {
				store.HTTP = &http.Client{Timeout: 300 * time.Millisecond, CheckRedirect: stay}
			}
			_, err := (&Login{Store: store, Server: site(t, "-lie", lie), Show: browser(t)}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if lie == "no-registration" && !strings.Contains(strings.Join(hint.Of(err), ""), "--client-id") {
				t.Errorf("the hints are %q", hint.Of(err))
			}
			if list := store.List(); list != nil {
				t.Errorf("kept: %v", list)
			}
		})
	}
}

// TestForeignAnswer leaves what a browser brings from another sign-in alone, and goes on waiting.
func TestForeignAnswer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	shown := make(chan bool, 1)
	login := &Login{Store: &Store{Dir: t.TempDir()}, Server: site(t, "-lie", "state")}
	login.Show = func(ctx context.Context, address string) {
		browser(t)(ctx, address)
		shown <- true
	}
	enough := errors.New("enough")
	go func() { <-shown; cancel(enough) }()
	if _, err := login.Run(ctx); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
}

// redirected is where an authorization server sends a browser back to, which does not go there.
func redirected(t *testing.T, address string) *url.URL {
	t.Helper()
	elsewhere := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := elsewhere.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// page is what a browser shows.
func page(t *testing.T, address string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestReplayed brings an answer twice, with the same code and with another, and then the code of that sign-in to the
// next one.
func TestReplayed(t *testing.T) {
	fake := fakemcp.Handler("-oauth")
	refused := make(chan struct{}) // closed when what came again has been
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			select {
			case <-refused:
			case <-r.Context().Done():
			}
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	store := &Store{Dir: t.TempDir()}
	login := &Login{Store: store, Server: s.URL + "/mcp"}
	var code string
	login.Show = func(_ context.Context, address string) {
		defer close(refused)
		back := redirected(t, address)
		query := back.Query()
		code = query.Get("code")
		if status, text := page(t, back.String()); status != http.StatusOK || !strings.Contains(text, "has the answer") {
			t.Errorf("first: %d, %q", status, text)
		}
		for _, again := range []string{code, "another"} {
			query.Set("code", again)
			back.RawQuery = query.Encode()
			status, text := page(t, back.String())
			if status != http.StatusConflict || !strings.Contains(text, "came already, and this one was refused") {
				t.Errorf("again, with the code %q: %d, %q", again, status, text)
			}
		}
	}
	first, err := login.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	login.Show = func(_ context.Context, address string) {
		back := redirected(t, address)
		query := back.Query()
		query.Set("code", code)
		back.RawQuery = query.Encode()
		_, _ = page(t, back.String())
	}
	_, err = login.Run(t.Context())
	want := fmt.Sprintf(`getting a token from %q: it answers "invalid_grant" ("that is over")`, s.URL)
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if token, err := store.Token(t.Context(), login.Server, ""); token != first.AccessToken {
		t.Errorf("the sign-in before has become %q, %v", token, err)
	}
}

// TestPasted signs in with a browser elsewhere, whose last address its user pastes.
func TestPasted(t *testing.T) {
	for text, want := range map[string]string{"": "", "https://example.com/": "no address that a sign-in ends at"} {
		address := make(chan string, 1)
		login := &Login{
			Store: &Store{Dir: t.TempDir()}, Server: site(t),
			Show: func(_ context.Context, a string) { address <- a },
			Pasted: func(context.Context) (string, error) {
				if text != "" {
					return text, nil
				}
				return " " + redirected(t, <-address).String() + "\n", nil
			},
		}
		_, err := login.Run(t.Context())
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestGuard lets no document lead to this machine: not one of a server elsewhere, and not by a name of a project's
// entry.
func TestGuard(t *testing.T) {
	here := httptest.NewServer(http.NotFoundHandler())
	defer here.Close()
	for _, c := range []struct {
		store  *Store
		server string
		led    bool
	}{
		{&Store{}, "https://elsewhere.example/mcp", false},
		{&Store{Project: "/p"}, "https://elsewhere.example/mcp", false},
		{&Store{}, here.URL, true},
		{&Store{Project: "/p"}, here.URL, true}, // it says so outright
	} {
		resp, err := c.store.client(c.server, c.store.inside(t.Context(), c.server)).Get(here.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != c.led {
			t.Errorf("%+v at %s: %v", c.store, c.server, err)
		}
	}
}

func TestNotNeeded(t *testing.T) {
	s := httptest.NewServer(fakemcp.Handler())
	defer s.Close()
	login := &Login{Store: &Store{Dir: t.TempDir()}, Server: s.URL + "/mcp"}
	if _, err := login.Run(t.Context()); !errors.Is(err, ErrNotNeeded) {
		t.Errorf("the error is %v", err)
	}
}

// TestBroken tells a file that cannot be read, without what is in it.
func TestBroken(t *testing.T) {
	store := &Store{Dir: t.TempDir()}
	if err := os.WriteFile(store.file("https://a.example/mcp"), []byte(`{"accessToken": "s3cret`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Token(t.Context(), "https://A.example/mcp", "")
	if text := fmt.Sprint(err); strings.Contains(text, "s3cret") || !strings.Contains(text, "reading the sign-in in") {
		t.Errorf("the error is %v", err)
	}
}

// asked notes whom it is asked for, and knows nobody.
type asked struct{ hosts *[]string }

func (a asked) RoundTrip(req *http.Request) (*http.Response, error) {
	*a.hosts = append(*a.hosts, req.URL.Host)
	return nil, errors.New("nobody is there")
}

// TestSaidElsewhere: what a server that is inside by a name seems to have said may be somebody else's words, who had the
// name lead to them before: its metadata is nowhere else.
func TestSaidElsewhere(t *testing.T) {
	said := []string{`Bearer resource_metadata="http://127.0.0.1:8080/admin"`}
	for _, c := range []struct {
		server string
		inside bool
		want   string
	}{
		{"https://inner.example/mcp", true, "inner.example"},
		{"https://server.example/mcp", false, "127.0.0.1:8080"}, // whose client does not go there
		{"http://127.0.0.1:9/mcp", true, "127.0.0.1:8080"},
	} {
		var hosts []string
		_, _ = discover(t.Context(), &http.Client{Transport: asked{&hosts}}, c.server, said, c.inside)
		if len(hosts) == 0 || hosts[0] != c.want {
			t.Errorf("%s: asked %q, want %s first", c.server, hosts, c.want)
		}
	}
}

// TestPreparingEnds: a server that tells how to sign in by a byte now and then is not listened to for long.
func TestPreparingEnds(t *testing.T) {
	defer func(before time.Duration) { prepareTime = before }(prepareTime)
	prepareTime = time.Second
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			<-time.After(50 * time.Millisecond)
		}
	}))
	defer s.Close()
	login := &Login{Store: &Store{Dir: t.TempDir()}, Server: s.URL + "/mcp"}
	if _, err := login.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "was not told within 1s") {
		t.Errorf("the error is %v", err)
	}
}
