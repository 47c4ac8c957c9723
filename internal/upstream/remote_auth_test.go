package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/hint"
)

// TestRemoteToken sends the token of a sign-in, takes a fresh one where it is refused, and tells who can sign in where
// there is none.
func TestRemoteToken(t *testing.T) {
	site := newSite(t, fakemcp.Handler("-token", "fresh-t0ken")).at("/mcp")
	var refreshed atomic.Int64
	token := func(_ context.Context, s config.Server, refused string) (string, error) {
		switch {
		case s.URL != site.URL:
			return "", ErrNoToken
		case refused == "":
			return "stale-t0ken", nil
		}
		refreshed.Add(1)
		return "fresh-t0ken", nil
	}
	var wanted sync.Map
	f := newPool(t, func(o *Options) {
		o.Token = token
		o.SignInSecrets = func(context.Context, config.Server) []string { return []string{"refresh-t0ken", "client-s3cret"} }
		o.SignInWanted = func(s config.Server, challenges []string) { wanted.Store(s.URL, challenges != nil) }
	}, config.Server{Name: "far", URL: site.URL})
	if got := f.text("far", "echo", `{"message":"hi"}`); got != "hi" || refreshed.Load() == 0 {
		t.Errorf("the answer is %q, after %d fresh tokens", got, refreshed.Load())
	}
	if is, _ := wanted.Load(site.URL); is != false {
		t.Errorf("a sign-in is wanted: %v", is)
	}

	if text := f.Redactor().Text("stale-t0ken, fresh-t0ken, refresh-t0ken, client-s3cret"); text != "***, ***, ***, ***" {
		t.Errorf("of the tokens that were sent a text says %q", text)
	}

	// An entry with a token of its own is sent that one alone.
	var asked atomic.Int64
	own := newPool(t, func(o *Options) {
		o.Token = func(ctx context.Context, s config.Server, refused string) (string, error) {
			asked.Add(1)
			return token(ctx, s, refused)
		}
	}, config.Server{
		Name: "far", URL: site.URL, Headers: map[string]string{"authorization": "Bearer fresh-t0ken"},
	})
	own.text("far", "echo", `{"message":"hi"}`)
	if n := asked.Load(); n > 0 {
		t.Errorf("asked for a token %d times", n)
	}

	// One that cannot be had is told, and the server is asked nothing.
	broken := newPool(t, func(o *Options) {
		o.Token = func(context.Context, config.Server, string) (string, error) { return "", errors.New("no refresh") }
	}, config.Server{Name: "far", URL: site.URL})
	if _, err := broken.Tools(t.Context(), "far"); err == nil || !strings.Contains(err.Error(), "no refresh") {
		t.Errorf("the error is %v", err)
	}

	// None: the error says what to do.
	none := newPool(t, func(o *Options) {
		o.Token = func(context.Context, config.Server, string) (string, error) { return "", ErrNoToken }
		o.SignInWanted = func(s config.Server, challenges []string) { wanted.Store(s.URL, challenges != nil) }
	}, config.Server{Name: "far off", URL: site.URL})
	_, err := none.Tools(t.Context(), "far off")
	if err == nil || strings.Join(hint.Of(err), "") != `codemode auth login 'far off'` {
		t.Errorf("the error is %v, %q", err, hint.Of(err))
	}
	if is, _ := wanted.Load(site.URL); is != true {
		t.Errorf("a sign-in is wanted: %v", is)
	}
}

// TestChallengeIsMasked: where a server wants another scope, it tells what it was sent as well as any scope.
func TestChallengeIsMasked(t *testing.T) {
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="read `+r.Header.Get("X-Key")+`"`)
		w.WriteHeader(http.StatusForbidden)
	})).at("/mcp")
	s.Headers = map[string]string{"X-Key": "header-word"}
	var kept sync.Map
	f := newPool(t, func(o *Options) {
		o.SignInWanted = func(s config.Server, list []string) { kept.Store(s.URL, strings.Join(list, "\n")) }
	}, s)
	_, err := f.Tools(t.Context(), "far")
	told := strings.Join(append(hint.Of(err), err.Error()), "\n")
	wanted, _ := kept.Load(s.URL)
	if all := told + fmt.Sprint(wanted); strings.Contains(all, "header-word") || !strings.Contains(told, "read ***") ||
		!strings.Contains(fmt.Sprint(wanted), `scope="read ***"`) {
		t.Errorf("it tells %q, and keeps %q", told, wanted)
	}
}
