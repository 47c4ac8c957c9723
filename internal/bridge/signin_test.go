package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/inquiry"
	"codemode/internal/servers"
	"codemode/internal/upstream"
)

// gated is a server by URL that lets in who has the token of the last sign-in, and counts the calls that it takes.
type gated struct {
	*httptest.Server
	mu      sync.Mutex
	signIns int
	revoked bool
	calls   atomic.Int64
}

// newGated makes one, and a bridge that offers sign-ins there.
func newGated(t *testing.T, change func(*Options)) (*gated, *kit) {
	g, inner := &gated{}, fakemcp.Handler()
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := g.token(); token == "" || r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			g.calls.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	k := newKit(t, func(o *Options) {
		g.offer(o)
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(func() { // before the kit looks for what is left: its sockets are this process's, too
		g.CloseClientConnections()
		g.Close()
	})
	return g, k
}

func (g *gated) token() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.signIns == 0 || g.revoked {
		return ""
	}
	return fmt.Sprint("t0ken-number-", g.signIns)
}

func (g *gated) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revoked = true
}

// offer has a bridge offer sign-ins there.
func (g *gated) offer(o *Options) {
	o.Servers = servers.Always(append(o.Servers().All, config.Server{Name: "far", URL: g.URL + "/mcp"})...)
	o.Token = func(_ context.Context, _ config.Server, refused string) (string, error) {
		if token := g.token(); token != "" && token != refused {
			return token, nil
		}
		return "", upstream.ErrNoToken
	}
	o.SignIn = func(ctx context.Context, s config.Server, show func(context.Context, SignInPage)) (string, error) {
		show(ctx, SignInPage{
			Address: "https://login.example/?code=C0DE", Code: "C0DE", Authority: "far.example", Warning: "Two hosts.",
		})
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.signIns++
		g.revoked = false
		return "signed in to " + s.Name, nil
	}
}

// opening is a request whose user answers questions about pages so.
func opening(code string, yes bool, asked *[]string) Request {
	return Request{Code: code, Can: inquiry.PersonCan(), Respond: inquiry.Person(
		func(_ context.Context, p inquiry.Prompt) (map[string]any, bool, error) {
			*asked = append(*asked, p.Who+"\n"+p.Text+"\n"+p.URL)
			return nil, yes, nil
		}).Respond}
}

const eightCalls = `
import asyncio, mcp
async def call(n):
    try:
        return str(await mcp_far.echo(message=str(n)))
    except mcp.MCPError as e:
        return str(e)
print(*sorted(await asyncio.gather(*(call(n) for n in range(8)))))`

// TestSignInOffered has a server's user sign in where calls need it: once, however many wait, and each call is made
// once.
func TestSignInOffered(t *testing.T) {
	g, k := newGated(t, nil)
	var asked []string
	out := k.run(opening(eightCalls, true, &asked))
	contains(t, out.compact(), "0 1 2 3 4 5 6 7", "note: signed in to far")
	g.revoke() // in the middle of the server's session
	contains(t, k.run(opening(eightCalls, true, &asked)).compact(), "0 1 2 3 4 5 6 7", "note: signed in to far")
	if g.calls.Load() != 16 || len(asked) != 2 {
		t.Errorf("the server has taken %d calls, and its user was asked %q", g.calls.Load(), asked)
	}
	want(t, asked[0], "The server far wants its user to sign in; what waits for that goes on then.\n"+
		"The page is one of login.example.\nThe authorization server far.example asks to have a code typed there.\n"+
		"WARNING: Two hosts. If you do not know why, say no.\nType this code there: C0DE\n"+
		"With a browser on another machine: codemode auth login far\nhttps://login.example/?code=C0DE")
	if got := out.Receipt.ByTool["far.echo"]; got != (Tally{OK: 8}) {
		t.Errorf("the receipt says %+v", got)
	}

	g.revoke() // before a run that is given the server by name
	out = k.run(Request{
		Code: "print(await mcp_far.echo(message='named'))", Servers: []string{"far"},
		Can: inquiry.PersonCan(), Respond: opening("", true, &asked).Respond,
	})
	contains(t, out.compact(), "named\n")
}

// TestSignInDeclined holds that a no is one for the run, and that nobody is asked who cannot open a page.
func TestSignInDeclined(t *testing.T) {
	_, k := newGated(t, nil)
	var asked []string
	text := k.run(opening(eightCalls, false, &asked)).compact()
	contains(t, text, "401 Unauthorized", "codemode auth login far",
		"note: server far wants its user to sign in, which was offered: the user said no")
	if len(asked) != 1 {
		t.Errorf("the user was asked %q", asked)
	}
	contains(t, k.text("await mcp_far.echo(message='1')"), "401 Unauthorized", "codemode auth login far")

	g, k := newGated(t, func(o *Options) {
		o.Config.Policy.Questions = 1
		o.SignIn = func(ctx context.Context, _ config.Server, show func(context.Context, SignInPage)) (string, error) {
			show(ctx, SignInPage{Address: "https://bank.example@evil.example/"})
			return "", ctx.Err()
		}
	})
	text = k.run(opening(eightCalls, true, &asked)).compact()
	contains(t, text, "which was offered: the URL that its user is to open has a user's name in it")
	if len(asked) != 1 || g.calls.Load() != 0 {
		t.Errorf("the user was asked %q; the server has taken %d calls", asked, g.calls.Load())
	}
}
