package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"codemode/internal/fakemcp"
)

// device is a sign-in by a code, whose user is shown it, and whose waiting takes no time.
func device(t *testing.T, server string) (l *Login, slept *[]time.Duration, shown *string) {
	slept, shown = new([]time.Duration), new(string)
	l = &Login{Store: &Store{Dir: t.TempDir()}, Server: server, Device: Always}
	l.ShowCode = func(_ context.Context, d DeviceCode) error {
		*shown = d.Page + " " + d.Code + " " + d.Complete
		return nil
	}
	l.sleep = func(ctx context.Context, d time.Duration) error {
		*slept = append(*slept, d)
		return context.Cause(ctx)
	}
	return l, slept, shown
}

func TestDevice(t *testing.T) {
	server := site(t, "-device", "authorization_pending,slow_down,authorization_pending,ok")
	l, slept, shown := device(t, server)
	g, err := l.Run(t.Context())
	if err != nil || status(t, server, g.AccessToken) == http.StatusUnauthorized || g.RefreshToken == "" {
		t.Fatalf("%+v, %v", g, err)
	}
	at := strings.TrimSuffix(server, "/mcp") + "/code"
	if want := at + " WDJB-MJHT " + at + "?user_code=WDJB-MJHT"; *shown != want {
		t.Errorf("shown was %q", *shown)
	}
	if want := []time.Duration{time.Second, time.Second, 6 * time.Second, 6 * time.Second}; !slices.Equal(*slept, want) {
		t.Errorf("it waited %v", *slept)
	}
	again, err := l.Run(t.Context())
	if err != nil || again.Client.ID != g.Client.ID {
		t.Errorf("signed in again as %q, %v", again.Client.ID, err)
	}
	l.Device = WhereOffered
	if _, err := l.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if fresh, err := l.Store.Token(t.Context(), server, again.AccessToken); err != nil || fresh == again.AccessToken {
		t.Errorf("%q, %v", fresh, err)
	}
}

// TestDeviceRefused ends each sign-in by a code that leads to nothing, in plain words, and keeps nothing.
func TestDeviceRefused(t *testing.T) {
	for _, c := range []struct{ polls, lie, want string }{
		{"authorization_pending,expired_token", "", "the code has ended before it was typed"},
		{"access_denied", "", `it was refused: it answers "access_denied"`},
		{"invalid_grant", "", `it answers "invalid_grant"`},
		{"hang-up,authorization_pending,hang-up,ok", "", ""},
		{"hang-up", "", "no answer came"},
		{"authorization_pending", "code-end", "nobody has typed the code within 1s"},
		{"slow_down", "code-end", "nobody has typed the code within 1s"},
		{"ok", "code-address", "it sent no plain address to type its code at"},
		{"ok", "code-text", "it sent no code that could be typed"},
		{"ok", "code-refused", "it lets nobody sign in by a code"},
		{"ok", "mac", "only bearer tokens can be used"},
		{"ok", "issuer", "does not match issuer"},
		{"", "", "it lets nobody sign in by a code"},
	} {
		t.Run(c.polls+" "+c.lie, func(t *testing.T) {
			l, slept, shown := device(t, site(t, "-device", c.polls, "-lie", c.lie))
			_, err := l.Run(t.Context())
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if strings.HasPrefix(c.lie, "code-a") && *shown != "" {
				t.Errorf("shown was %q", *shown)
			}
			if strings.HasPrefix(c.polls, "hang-up") && !slices.Contains(*slept, 2*time.Second) {
				t.Errorf("it waited %v", *slept)
			}
			if list := l.Store.List(); (list == nil) != (c.want != "") {
				t.Errorf("kept: %v", list)
			}
		})
	}
}

// TestDeviceElsewise signs in in a browser where an authorization server does not have codemode sign in by a code, or
// says nothing of codes.
func TestDeviceElsewise(t *testing.T) {
	for _, args := range [][]string{{"-device", "ok", "-lie", "code-refused"}, {}} {
		l, _, shown := device(t, site(t, args...))
		l.Device, l.Show = WhereOffered, browser(t)
		if _, err := l.Run(t.Context()); err != nil || *shown != "" {
			t.Errorf("%v: %q, %v", args, *shown, err)
		}
	}
}

// TestDeviceLeft ends the waiting when its user leaves.
func TestDeviceLeft(t *testing.T) {
	l, _, _ := device(t, site(t, "-device", "authorization_pending"))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	l.sleep = nil
	l.ShowCode = func(context.Context, DeviceCode) error {
		cancel(enough)
		return nil
	}
	if _, err := l.Run(ctx); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
}

// TestDeviceElsewhere tells pages of the authorization server from those of other hosts.
func TestDeviceElsewhere(t *testing.T) {
	for _, c := range []struct{ issuer, page, complete, elsewhere, given string }{
		{"https://a.example/t", "https://a.example/device", "https://a.example/d?c=1", "", "https://a.example/d?c=1"},
		{"https://a.example", "https://A.example.:444/", "", "", ""},
		{"https://a.example", "https://login.a.example/", "", "", ""},
		{"https://a.example", "https://a.example/", "https://bank.example/?c=1", "", ""},
		{"https://a.example", "https://bank.example/d", "https://bank.example/d?c=1", "bank.example", ""},
		{"https://login.bank.example", "https://bank.example/d", "", "bank.example", ""},
		{"https://a.example", "https://nota.example/d", "", "nota.example", ""},
		{"https://evil.co.uk", "https://bank.co.uk/d", "", "bank.co.uk", ""},
	} {
		d := deviceAnswer{UserCode: "C", Address: c.page, Complete: c.complete}
		got := d.shown(c.issuer)
		if got.Elsewhere != c.elsewhere || got.Complete != c.given || (got.Warning("m") == "") != (c.elsewhere == "") {
			t.Errorf("%s by %s is %+v", c.page, c.issuer, got)
		}
	}
	want := "The page belongs to bank.example, another host than a.example, which asks. Typing the code there may give " +
		"the server m access to your account at bank.example."
	d := deviceAnswer{Address: "https://bank.example/d"}
	if got := d.shown("https://a.example").Warning("m"); got != want {
		t.Errorf("the warning is %q", got)
	}

	l, slept, _ := device(t, site(t, "-device", "ok", "-lie", "code-elsewhere"))
	no := errors.New("no")
	l.ShowCode = func(context.Context, DeviceCode) error { return no }
	if _, err := l.Run(t.Context()); !errors.Is(err, no) || len(*slept) > 0 {
		t.Errorf("after a no the error is %v, and it waited %v", err, *slept)
	}
}

// TestItself has codemode sign in as itself: without a user, and again when the token ends or is refused.
func TestItself(t *testing.T) {
	server := site(t)
	l := &Login{
		Store: &Store{Dir: t.TempDir()}, Server: server, Itself: true,
		Client: Client{ID: fakemcp.Robot, Secret: fakemcp.RobotSecret},
	}
	g, err := l.Run(t.Context())
	if err != nil || g.RefreshToken != "" || strings.Join(g.Scopes, " ") != "read" {
		t.Fatalf("%+v, %v", g, err)
	}
	token, err := l.Store.Token(t.Context(), server, "")
	if err != nil || token != g.AccessToken || status(t, server, token) == http.StatusUnauthorized {
		t.Errorf("the token is %q, %v", token, err)
	}
	fresh, err := l.Store.Token(t.Context(), server, token)
	if err != nil || fresh == token || status(t, server, fresh) == http.StatusUnauthorized {
		t.Errorf("asked again, it is %q, %v", fresh, err)
	}
	if list := l.Store.List(); len(list) != 1 || !list[0].Renews || !list[0].Itself {
		t.Errorf("the list is %v", list)
	}
	g.Client.Secret, g.Expires = "another", time.Now().Add(-time.Hour) // it was changed there
	if err := l.Store.keep(g); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Store.Token(t.Context(), server, ""); !errors.Is(err, ErrSignedOut) || strings.Contains(err.Error(), "another") {
		t.Errorf("with a secret that is good no more: %v", err)
	}
	l.Client.Secret = "wrong"
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `it answers "invalid_client"`) {
		t.Errorf("with a wrong secret: %v", err)
	}
	l.Client = Client{}
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the ID and the secret") {
		t.Errorf("without one: %v", err)
	}
}

// TestDeviceWords: an authorization server has no room for words of its own beside the page and the code.
func TestDeviceWords(t *testing.T) {
	good := deviceAnswer{DeviceCode: "d", UserCode: "WDJB-MJHT", Address: "https://as.example/device", ExpiresIn: life(time.Minute)}
	if err := good.check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for _, address := range []string{
		"https://as.example/ has moved to https://github.com/login/device", "https://as.example/\u2003x",
		"https://as.example/\x1b[2Kx", "https://as%20moved.example/", "https://\u0430s.example/",
	} {
		bad := good
		bad.Address = address
		if bad.check() == nil {
			t.Errorf("address %q is shown", address)
		}
	}
	for _, code := range []string{"AB CD", "AB.", "https://x", "\u0410BCD", strings.Repeat("A", 33)} {
		bad := good
		bad.UserCode = code
		if bad.check() == nil {
			t.Errorf("code %q is shown", code)
		}
	}
}

// TestDeviceTyped: of a page elsewhere no address is given that could have the code in it, in whichever spelling.
func TestDeviceTyped(t *testing.T) {
	for address, has := range map[string]bool{
		"https://github.com/login/device":               false,
		"https://github.com/login/device?code=x":        true,
		"https://github.com/login/device#x":             true,
		"https://github.com/login/WDJBMJHT":             true,
		"https://github.com/login/wdjb-mjht/x":          true,
		"https://github.com/login/%57DJB-MJHT":          true,
		"https://github.com/" + strings.Repeat("x", 30): false,
	} {
		d := deviceAnswer{UserCode: "WDJB-MJHT", Address: address}
		if d.hasCode() != has {
			t.Errorf("%s: %v", address, !has)
		}
	}
	long := deviceAnswer{DeviceCode: "d", UserCode: "A", Address: "https://as.example/" + strings.Repeat("x", 400), ExpiresIn: 1}
	if long.check() == nil {
		t.Error("an address that fills the screen is shown")
	}
}

// TestSignInElsewhere: a page of another host than the one that asks is opened with codemode's own words alone.
func TestSignInElsewhere(t *testing.T) {
	for endpoint, refused := range map[string]bool{
		"https://as.example/authorize?policy=a":        false,
		"https://login.as.example/authorize?policy=a":  false,
		"https://accounts.example/authorize":           false,
		"https://accounts.example/device?otc=REALCODE": true,
		"https://accounts.example/device#REALCODE":     true,
	} {
		at := &authority{server: &oauthex.AuthServerMeta{AuthorizationEndpoint: endpoint}}
		shown := ""
		ctx, cancel := context.WithCancel(t.Context())
		s := &flow{Login: &Login{Show: func(_ context.Context, address string) { shown = address; cancel() }}, at: at}
		s.preparing = time.NewTimer(time.Hour)
		back, err := s.listen()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.authorize(ctx, at, Grant{Issuer: "https://as.example"}, back, "verifier")
		back.close()
		cancel()
		if (shown == "") != refused {
			t.Errorf("%s: shown %q, %v", endpoint, shown, err)
		}
	}
}
