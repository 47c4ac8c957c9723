package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/lazyregexp"
	"codemode/internal/redact"
)

// early is how long before its end an access token is refreshed: a call that takes long must not begin with one that
// ends.
const early = time.Minute

// Token returns the access token for a server, refreshed where it is about to end or is the one that the server has
// refused. However many ask, in however many processes, one of them refreshes. [ErrSignedOut] says that a user must
// sign in.
func (s *Store) Token(ctx context.Context, server, refused string) (string, error) {
	g, err := s.Load(ctx, server)
	if err != nil {
		return "", err
	}
	if g.usable(refused) {
		return g.AccessToken, nil
	}
	lock, err := s.lock(ctx, server)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if g, err = s.Load(ctx, server); err != nil { // it may be another's by now
		return "", err
	}
	if g.usable(refused) {
		return g.AccessToken, nil
	}
	if !g.renews() {
		return "", fmt.Errorf("the sign-in has ended: %w", ErrSignedOut)
	}
	fresh, err := g.renew(ctx, s.clientOf(ctx, &g))
	secrets := redactor(g.AccessToken, g.RefreshToken)
	var wire *oauthError
	if errors.As(err, &wire) {
		wire.mask(secrets)
	}
	if errors.As(err, &wire) && slices.Contains([]string{"invalid_grant", "invalid_client"}, wire.Code) {
		return "", s.ended(g, wire)
	}
	if err != nil {
		return "", fmt.Errorf("refreshing the sign-in at %q: %w", g.Issuer, secrets.Error(err))
	}
	g.update(fresh)
	if g.Sealed != nil { // what stands in the file in the clear stays there until its user signs in again
		if err := s.sealAgain(ctx, &g); err != nil {
			return "", err
		}
	}
	return g.AccessToken, s.keep(g)
}

// ended is a sign-in that cannot be refreshed any more. Where its authorization server has forgotten who codemode is,
// the next one registers it anew.
func (s *Store) ended(g Grant, why *oauthError) error {
	err := fmt.Errorf("the sign-in has ended (%v): %w", why, ErrSignedOut)
	if why.Code == "invalid_client" && !g.Itself {
		g.Client = Client{}
		err = errors.Join(err, s.keep(g))
	}
	return err
}

// renews says whether the access token can be had anew without its user.
func (g *Grant) renews() bool { return g.RefreshToken != "" || g.Itself }

// renew asks for another access token.
func (g *Grant) renew(ctx context.Context, client *http.Client) (tokenAnswer, error) {
	if g.Itself {
		return g.askAsItself(ctx, client)
	}
	return g.Client.token(ctx, client, g.TokenURL, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {g.RefreshToken}, "resource": {g.Resource},
	})
}

// askAsItself asks by the secret of the client alone (RFC 6749 section 4.4). A refresh token is not wanted.
func (g *Grant) askAsItself(ctx context.Context, client *http.Client) (tokenAnswer, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {g.Resource}}
	if len(g.Scopes) > 0 {
		form.Set("scope", strings.Join(g.Scopes, " "))
	}
	answer, err := g.Client.token(ctx, client, g.TokenURL, form)
	answer.RefreshToken = ""
	return answer, err
}

// usable says whether the access token is worth being sent.
func (g *Grant) usable(refused string) bool {
	need := early
	if !g.renews() {
		need = 0
	}
	return g.AccessToken != refused && (g.Expires.IsZero() || time.Until(g.Expires) > need)
}

// update has the grant be what an authorization server has answered.
func (g *Grant) update(a tokenAnswer) {
	g.AccessToken, g.Expires = a.AccessToken, time.Time{}
	if a.RefreshToken != "" {
		g.RefreshToken = a.RefreshToken
	}
	if a.ExpiresIn > 0 {
		g.Expires = time.Now().Add(time.Duration(a.ExpiresIn)).Truncate(time.Second)
	}
	if a.Scope != "" {
		g.Scopes = strings.Fields(a.Scope)
	}
}

// tokenAnswer is a token endpoint's answer, RFC 6749 section 5.1.
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    life   `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// life is how long a token lives, in seconds: a number, or a text with one, as some servers write it. What is neither
// is not said.
type life time.Duration

// longestLife bounds it; what is said beyond is more than a duration holds.
const longestLife = 10 * 365 * 24 * time.Hour

// UnmarshalJSON implements [json.Unmarshaler].
func (l *life) UnmarshalJSON(text []byte) error {
	seconds, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil || !(seconds > 0) {
		return nil
	}
	*l = life(min(seconds, longestLife.Seconds()) * float64(time.Second))
	return nil
}

// oauthError is an authorization server's error, RFC 6749 section 5.2.
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
	status      int
}

func (e *oauthError) Error() string {
	switch {
	case e.Code == "":
		return fmt.Sprintf("it answers %d %s", e.status, http.StatusText(e.status))
	case e.Description == "":
		return fmt.Sprintf("it answers %.80q", e.Code)
	}
	return fmt.Sprintf("it answers %.80q (%.200q)", e.Code, e.Description)
}

// mask hides what its text must not say, before that is cut.
func (e *oauthError) mask(secrets *redact.Redactor) {
	e.Code, e.Description = secrets.Text(e.Code), secrets.Text(e.Description)
}

func redactor(values ...string) *redact.Redactor {
	secrets := &redact.Secrets{}
	secrets.Add(values...)
	return secrets.Redactor()
}

// given are the fields of a form that nobody but its authorization server may read.
var given = []string{
	"refresh_token", "code", "code_verifier", "device_code", "client_secret", "client_assertion", "token",
}

// knownType are the types of tokens that there are, but for bearer
// (https://www.iana.org/assignments/oauth-parameters, read November 2026).
var knownType = lazyregexp.New(`(?i)^(mac|pop|dpop|n_a)$`)

// token asks a token endpoint.
func (c Client) token(
	ctx context.Context, client *http.Client, endpoint string, form url.Values,
) (a tokenAnswer, err error) {
	body, err := c.post(ctx, client, endpoint, form)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, errors.New("its answer is not valid JSON")
	}
	switch {
	case a.AccessToken == "" || strings.ContainsFunc(a.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return a, errors.New("its answer has no access token")
	case !strings.EqualFold(a.TokenType, "bearer"):
		kind := "another type"
		if knownType().MatchString(a.TokenType) { // what else it may be is not told: it might have been sent a secret
			kind = fmt.Sprintf("type %q", a.TokenType)
		}
		return a, fmt.Errorf("its token is of %s, and only bearer tokens can be used", kind)
	}
	return a, nil
}

// errNoAnswer is an authorization server that did not answer, whatever was asked.
var errNoAnswer = errors.New("no answer came")

// maxAnswer bounds an authorization server's answer.
const maxAnswer = 1 << 20

// post sends a form as this client.
func (c Client) post(ctx context.Context, client *http.Client, endpoint string, form url.Values) ([]byte, error) {
	if c.Method != "client_secret_basic" {
		form.Set("client_id", c.ID)
	}
	switch {
	case c.Method == keyMethod:
		assertion, err := c.assert(time.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	case c.Method != "client_secret_basic" && c.Secret != "":
		form.Set("client_secret", c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.Method == "client_secret_basic" {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret)) // RFC 6749 section 2.3.1
	}
	secrets := c.sends(form)
	resp, err := client.Do(req)
	if err != nil { // which may quote a line of an answer, or a host that it leads to
		return nil, fmt.Errorf("%w: %w", errNoAnswer, secrets.Error(plainly(err)))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, secrets.Error(err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	wire := &oauthError{}
	_ = json.Unmarshal(body, wire)                                              // which need not be one
	if wire.status = resp.StatusCode; wire.status/100 != 2 || wire.Code != "" { // GitHub's errors are a 200
		wire.mask(secrets)
		return nil, wire
	}
	return body, nil
}

// sends is what nobody else may read of a request, which an answer can repeat.
func (c Client) sends(form url.Values) *redact.Redactor {
	values := []string{c.Secret, url.QueryEscape(c.Secret)} // the second is how Basic has it
	for _, name := range given {
		values = append(values, form.Get(name))
	}
	return redactor(values...)
}

// plainly is an error without the address that was asked, which may have secrets in it.
func plainly(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
