package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// A Login is one sign-in at one server.
type Login struct {
	Store  *Store
	Server string   // the URL of its entry
	Scopes []string // wanted beside those that the server asks for
	Client Client   // registered by its user; one without an ID is registered by itself

	// Port, when set, is the one that the client is registered with, as http://localhost:PORT/callback.
	Port int

	// Metadata is the URL of a document about codemode that its user has published, with the redirect in it; where an
	// authorization server takes such a one for an ID, none is registered.
	Metadata string

	// Show tells the user where to sign in. The context ends when they have, or will not.
	Show func(ctx context.Context, address string)

	// Itself has codemode sign in as itself, by the secret of its client: no user is asked (client credentials).
	Itself bool

	// Device says whether the user signs in on any device, by a code that they type there (RFC 8628); ShowCode tells
	// them where, and which. Its error is why they are not to, or will not: nothing is waited for.
	Device   DeviceUse
	ShowCode func(context.Context, DeviceCode) error

	sleep func(ctx context.Context, d time.Duration) error // for tests; nil is time's

	// Clear, when set, is told why tokens are not sealed by the keyring, where they should be.
	Clear func(why string)

	// Pasted, when set, brings the address that a browser was sent back to, from a user whose browser is elsewhere.
	Pasted func(ctx context.Context) (string, error)
}

// prepareTime bounds all that comes before there is something to show: servers answer when they like, and meanwhile a
// run waits, and other questions to its user.
var prepareTime = 30 * time.Second

// Run signs in and keeps what was granted.
func (l *Login) Run(ctx context.Context) (Grant, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	preparing := time.AfterFunc(prepareTime, func() {
		cancel(fmt.Errorf("what a sign-in begins with was not told within %v", prepareTime))
	})
	defer preparing.Stop()
	inside := l.Store.inside(ctx, l.Server)
	client := l.Store.client(l.Server, inside)
	at, err := discover(ctx, client, l.Server, l.Store.challenges(l.Server), inside)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Grant{}, err
	}
	before, _ := l.Store.Load(ctx, l.Server)
	if before.Issuer != at.server.Issuer {
		before = Grant{}
	}
	g := Grant{
		ID: rand.Text(), Server: l.Server, Project: l.Store.Project, Resource: at.resource, Issuer: at.server.Issuer,
		TokenURL: at.server.TokenEndpoint, RevokeURL: at.server.RevocationEndpoint,
		Inside: inside,
	}
	s := &flow{l, client, at, before, g, preparing}
	switch {
	case l.Itself:
		err = s.asItself(ctx)
	case l.Device == Always, l.Device == WhereOffered && s.hasDevices():
		if err = s.byDevice(ctx); errors.Is(err, errNoDevices) && l.Device == WhereOffered {
			err = s.byBrowser(ctx)
		}
	default:
		err = s.byBrowser(ctx)
	}
	if err == nil {
		err = l.keep(ctx, &s.grant)
	}
	return s.grant, err
}

// flow is one sign-in that is under way.
type flow struct {
	*Login
	client *http.Client
	at     *authority
	before Grant // that there was
	grant  Grant // that there will be

	preparing *time.Timer // until there is something to show
}

// byBrowser has a browser bring a code back to this machine, or its user paste it.
func (s *flow) byBrowser(ctx context.Context) error {
	g, at := &s.grant, s.at
	if !slices.Contains(at.server.CodeChallengeMethodsSupported, "S256") {
		return fmt.Errorf("the authorization server %q does not protect codes (PKCE with S256); "+
			"nothing was sent to it", g.Issuer)
	}
	back, err := s.listen()
	if err != nil {
		return err
	}
	defer back.close()
	if g.Client, err = s.register(ctx, s.client, at.server, s.before.Client, back.address); err != nil {
		return err
	}
	g.Scopes = s.scopes(at, s.before.Scopes)
	verifier := rand.Text() + rand.Text()
	code, err := s.authorize(ctx, at, *g, back, verifier)
	if err != nil {
		return err
	}
	answer, err := g.Client.token(ctx, s.client, g.TokenURL, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier},
		"redirect_uri": {g.Client.Redirect}, "resource": {g.Resource},
	})
	if err != nil {
		return fmt.Errorf("getting a token from %q: %w", g.Issuer, err)
	}
	g.update(answer)
	return nil
}

// keep keeps what was granted. The keyring is asked before the lock is taken: it may be waiting for its user.
func (l *Login) keep(ctx context.Context, g *Grant) error {
	why, err := l.Store.seal(ctx, g)
	if err != nil {
		return err
	}
	if why != "" && l.Clear != nil {
		l.Clear(why)
	}
	lock, err := l.Store.lock(ctx, l.Server)
	if err != nil {
		return err
	}
	defer lock.Close()
	return l.Store.keep(*g)
}

// scopes are those to ask for: never fewer than were granted.
func (l *Login) scopes(at *authority, before []string) []string {
	list := slices.Concat(before, at.scopes, l.Scopes)
	if slices.Contains(at.server.ScopesSupported, "offline_access") { // without it some give no refresh token
		list = append(list, "offline_access")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// register is who codemode is at an authorization server: whom its user has registered, who it was before, or somebody
// new.
func (l *Login) register(
	ctx context.Context, client *http.Client, at *oauthex.AuthServerMeta, before Client, redirect string,
) (Client, error) {
	switch {
	case l.Client.ID != "":
		c := l.Client
		c.Redirect, c.Method = redirect, "none"
		switch {
		case isKey(c.Secret):
			c.Method, c.Audience = keyMethod, at.Issuer
		case c.Secret != "":
			c.Method = secretMethod(at.TokenEndpointAuthMethodsSupported)
		}
		return c, nil
	case l.Metadata != "" && at.ClientIDMetadataDocumentSupported:
		return Client{ID: l.Metadata, Method: "none", Redirect: redirect}, nil
	case before.ID != "" && before.Redirect == redirect:
		return before, nil
	case at.RegistrationEndpoint == "":
		return Client{}, &noRegistrationError{at.Issuer, redirect, nil}
	}
	grants := []string{"authorization_code", "refresh_token"}
	if redirect == nowhere {
		grants = append(grants, deviceGrant)
	}
	answer, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "codemode", RedirectURIs: []string{redirect}, ApplicationType: "native",
		GrantTypes: grants, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: "none",
	}, client)
	if err != nil {
		return Client{}, &noRegistrationError{at.Issuer, redirect, plainly(err)}
	}
	c := Client{
		ID: answer.ClientID, Secret: answer.ClientSecret, Method: answer.TokenEndpointAuthMethod, Redirect: redirect,
	}
	if c.Method == "" {
		c.Method = "none"
		if c.Secret != "" {
			c.Method = secretMethod(at.TokenEndpointAuthMethodsSupported)
		}
	}
	return c, nil
}

// secretMethod is how a client with a secret says who it is; client_secret_basic is RFC 8414's default.
func secretMethod(supported []string) string {
	if slices.Contains(supported, "client_secret_post") && !slices.Contains(supported, "client_secret_basic") {
		return "client_secret_post"
	}
	return "client_secret_basic"
}

// noRegistrationError is an authorization server that wants its clients registered by hand, or refuses this one.
type noRegistrationError struct {
	issuer, redirect string
	refusal          error // nil where it registers none
}

func (e *noRegistrationError) Error() string {
	if e.refusal != nil {
		why := strings.TrimRight(e.refusal.Error(), ": ") // with all of its answer in it
		return fmt.Sprintf("the authorization server %q did not register codemode: %.300s", e.issuer, why)
	}
	return fmt.Sprintf("the authorization server %q registers no clients by itself", e.issuer)
}

// Hint is what its user can do.
func (e *noRegistrationError) Hint() []string {
	return []string{fmt.Sprintf("register codemode there, with the redirect %s, and give --client-id", e.redirect)}
}

// authorize has the user sign in, and returns the code that a browser brings back.
func (s *flow) authorize(
	ctx context.Context, at *authority, g Grant, back *callback, verifier string,
) (string, error) {
	sum := sha256.Sum256([]byte(verifier))
	state := rand.Text()
	endpoint := at.server.AuthorizationEndpoint
	address, err := url.Parse(endpoint)
	// Who reads https://bank.example@evil.example may take it for the bank's.
	if err != nil || address.User != nil || len(endpoint) > maxAddress {
		return "", fmt.Errorf("the authorization server %q has its users sign in at no plain address", g.Issuer)
	}
	if elsewhere(hostOf(endpoint), hostOf(g.Issuer)) && (address.RawQuery != "" || address.Fragment != "") {
		return "", fmt.Errorf("the authorization server %q has its users sign in at a page of another host, %s, with "+
			"words of its own in the address: it could be where a code is given away", g.Issuer, address.Hostname())
	}
	query := address.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": g.Client.ID, "redirect_uri": g.Client.Redirect, "state": state,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
		"resource": g.Resource, "scope": strings.Join(g.Scopes, " "),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	address.RawQuery = query.Encode()

	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	back.serve(state)
	s.preparing.Stop()
	s.Show(ctx, address.String())
	answer, err := s.wait(ctx, back)
	if err != nil {
		return "", err
	}
	return checkAnswer(answer, state, at.server)
}

// patience is how long a browser is waited for; its user may have to look for another device first.
const patience = 10 * time.Minute

var errPatience = fmt.Errorf("nobody signed in within %v", patience)

// wait waits for the browser, or for what the user pastes.
func (l *Login) wait(ctx context.Context, back *callback) (url.Values, error) {
	pasted, failed := make(chan url.Values, 1), make(chan error, 1)
	if l.Pasted != nil {
		go func() {
			text, err := l.Pasted(ctx)
			u, bad := url.Parse(strings.TrimSpace(text))
			switch {
			case err != nil:
				failed <- err
			case bad != nil || u.Query().Get("state") == "":
				failed <- fmt.Errorf("what was pasted is no address that a sign-in ends at: %.80q", text)
			default:
				pasted <- u.Query()
			}
		}()
	}
	select {
	case answer := <-back.answers:
		return answer, nil
	case answer := <-pasted:
		return answer, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// checkAnswer takes the code from what an authorization server sends back, if it is that server and this sign-in.
func checkAnswer(answer url.Values, state string, at *oauthex.AuthServerMeta) (string, error) {
	iss := answer.Get("iss")
	switch {
	case answer.Get("state") != state:
		return "", errors.New("what came back is of another sign-in; nothing was done with it")
	case iss != "" && iss != at.Issuer, iss == "" && at.AuthorizationResponseIssParameterSupported: // RFC 9207
		return "", fmt.Errorf("the answer is from %.200q and not from %q; nothing was done with it", iss, at.Issuer)
	case answer.Get("error") != "":
		why := &oauthError{Code: answer.Get("error"), Description: answer.Get("error_description")}
		return "", fmt.Errorf("the sign-in failed: %w", why)
	case answer.Get("code") == "":
		return "", errors.New("the authorization server has sent no code")
	}
	return answer.Get("code"), nil
}

// stopTime is how long the page that a browser comes back to has to be shown.
const stopTime = time.Second

// callback is where a browser comes back to, on this machine.
type callback struct {
	listener net.Listener
	server   *http.Server
	address  string
	answers  chan url.Values
	came     atomic.Bool // the answer, which is taken once
}

// listen listens where the client is registered for, if its user has said so, and there alone.
func (s *flow) listen() (*callback, error) {
	if s.Port == 0 {
		return listen(s.before.Client.Redirect)
	}
	at := fmt.Sprintf("127.0.0.1:%d", s.Port)
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("listening for the browser at the port that the client is registered for: %w", err)
	}
	address := fmt.Sprintf("http://localhost:%d/callback", s.Port)
	return &callback{listener: l, address: address, answers: make(chan url.Values, 1)}, nil
}

// listen listens where it was listened before, if that is free, else anywhere.
func listen(before string) (*callback, error) {
	at := "127.0.0.1:0"
	if u, err := url.Parse(before); err == nil && u.Host != "" {
		at = u.Host
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listening for the browser: %w", err)
	}
	address := "http://" + l.Addr().String() + "/callback"
	return &callback{listener: l, address: address, answers: make(chan url.Values, 1)}, nil
}

// serve takes the first answer of this sign-in, and no other: a code that comes again may be one that was stolen.
func (c *callback) serve(state string) {
	c.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/callback" || r.URL.Query().Get("state") != state {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		text := "codemode has the answer, and says in its terminal what came of it. This page can be closed."
		switch why := r.URL.Query().Get("error"); {
		case !c.came.CompareAndSwap(false, true):
			text = "The answer of this sign-in came already, and this one was refused. codemode says in its terminal what " +
				"came of the first."
			w.WriteHeader(http.StatusConflict)
		case why != "":
			text = "The sign-in failed: " + why
			fallthrough
		default:
			c.answers <- r.URL.Query()
		}
		_, _ = fmt.Fprintf(w, "<!doctype html><title>codemode</title><p>%s</p>\n", html.EscapeString(text))
	})}
	go func() { _ = c.server.Serve(c.listener) }()
}

// close ends it when the page has been shown.
func (c *callback) close() {
	if c.server == nil {
		_ = c.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = c.server.Shutdown(ctx)
	_ = c.server.Close()
}
