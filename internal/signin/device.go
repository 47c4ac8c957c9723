package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// DeviceUse is when a user signs in by a code that they type elsewhere.
type DeviceUse int

// When that is.
const (
	Never        DeviceUse = iota
	WhereOffered           // else in a browser
	Always
)

const (
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
	nowhere     = "http://127.0.0.1/callback" // the redirect of a client that has none: registrations want one

	// maxAddress is how long an address may be, in bytes: with what is said of it, it is seen at a glance.
	maxAddress = 400

	maxCode = 32 // bytes of a code; those of RFC 8628 section 6.1 have 8 or 9

	usualInterval = 5 * time.Second // RFC 8628 section 3.2
	longest       = 30 * time.Minute
	maxFailures   = 5 // in a row, of polls that had no answer
)

// errNoDevices is an authorization server that does not have codemode, as the client that it is, sign in by a code.
var errNoDevices = errors.New("it lets nobody sign in by a code")

// hasDevices says whether an authorization server says that users can sign in by a code.
func (s *flow) hasDevices() bool {
	grants := s.at.server.GrantTypesSupported
	return s.at.device != "" && (len(grants) == 0 || slices.Contains(grants, deviceGrant))
}

// deviceAnswer is what a user is to do, RFC 8628 section 3.2.
type deviceAnswer struct {
	DeviceCode string   `json:"device_code"`
	UserCode   string   `json:"user_code"`
	Address    string   `json:"verification_uri"`
	Complete   string   `json:"verification_uri_complete"`
	ExpiresIn  life     `json:"expires_in"`
	Interval   *float64 `json:"interval"` // seconds
}

// A DeviceCode is what a user is asked to type, where, and by whom.
type DeviceCode struct {
	Page, Code string
	Complete   string // the page with the code in it; may be empty
	Authority  string // the host of the authorization server, which asks
	Elsewhere  string // the host of the page, where it is neither that one nor below it
}

// Warning is what a user must know before they type a code at a page that is not of the host that asks: the code can be
// one that the page's host has given for whoever holds the server, and signs them in there. Providers of several hosts
// look the same, so it is for the user to tell. It is empty for a page of the authorization server's.
func (d DeviceCode) Warning(server string) string {
	if d.Elsewhere == "" {
		return ""
	}
	return fmt.Sprintf("The page belongs to %s, another host than %s, which asks. Typing the code there may give the "+
		"server %s access to your account at %s.", d.Elsewhere, d.Authority, server, d.Elsewhere)
}

// shown is the code as its user is shown it. Of a page elsewhere they are given no address with the code in it, and nor
// of one that is elsewhere than the page.
func (d *deviceAnswer) shown(issuer string) DeviceCode {
	c := DeviceCode{Page: d.Address, Code: d.UserCode, Complete: d.Complete, Authority: hostOf(issuer)}
	page := hostOf(d.Address)
	if elsewhere(page, c.Authority) {
		c.Elsewhere = page
	}
	if c.Elsewhere != "" || hostOf(d.Complete) != page {
		c.Complete = ""
	}
	return c
}

// elsewhere tells whether a page's host is neither that of the authorization server nor below it.
func elsewhere(page, authority string) bool {
	return page != authority && !strings.HasSuffix(page, "."+authority)
}

// hasCode tells whether an address is more than a page: a code could be in it, so that nobody need type that.
func (d *deviceAnswer) hasCode() bool {
	u, err := url.Parse(d.Address)
	plain := strings.NewReplacer("-", "", "_", "").Replace
	return err != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(d.Address, "%") ||
		strings.Contains(strings.ToLower(plain(u.Path)), strings.ToLower(plain(d.UserCode)))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// byDevice has the user type a code at an address, on any device, and polls until they have.
func (s *flow) byDevice(ctx context.Context) (err error) {
	g := &s.grant
	if s.at.device == "" {
		return fmt.Errorf("the authorization server %q: %w", g.Issuer, errNoDevices)
	}
	if g.Client, err = s.register(ctx, s.client, s.at.server, s.before.Client, nowhere); err != nil {
		return err
	}
	g.Scopes = s.scopes(s.at, s.before.Scopes)
	form := url.Values{"resource": {g.Resource}}
	if len(g.Scopes) > 0 {
		form.Set("scope", strings.Join(g.Scopes, " "))
	}
	body, err := g.Client.post(ctx, s.client, s.at.device, form)
	var wire *oauthError
	if errors.As(err, &wire) && (wire.Code == "unauthorized_client" || wire.Code == "unsupported_grant_type") {
		return fmt.Errorf("the authorization server %q: %w: %w", g.Issuer, errNoDevices, err)
	}
	if err != nil {
		return fmt.Errorf("asking %q for a code: %w", g.Issuer, err)
	}
	var d deviceAnswer
	if json.Unmarshal(body, &d) != nil {
		return fmt.Errorf("asking %q for a code: its answer is not valid JSON", g.Issuer)
	}
	if err := d.check(); err != nil {
		return fmt.Errorf("asking %q for a code: %w", g.Issuer, err)
	}
	if c := d.shown(g.Issuer); c.Elsewhere != "" && d.hasCode() {
		return fmt.Errorf("asking %q for a code: the page is of another host, %s, and its address %.200q has more than a "+
			"page: it could be typed already", g.Issuer, c.Elsewhere, d.Address)
	}
	life := min(time.Duration(d.ExpiresIn), longest)
	ctx, cancel := context.WithTimeoutCause(
		ctx, life, fmt.Errorf("nobody has typed the code within %v", life.Round(time.Second)),
	)
	defer cancel()
	s.preparing.Stop()
	if err := s.ShowCode(ctx, d.shown(g.Issuer)); err != nil {
		return err
	}
	answer, err := s.poll(ctx, d)
	if err != nil {
		return fmt.Errorf("the sign-in failed: %w", err)
	}
	g.update(answer)
	return nil
}

// check refuses what no user should be shown, and what would be asked about for good.
func (d *deviceAnswer) check() error {
	odd := func(r rune) bool { // in which there could be words, and another page
		return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}
	switch {
	case d.DeviceCode == "" || d.UserCode == "" || len(d.UserCode) > maxCode || strings.ContainsFunc(d.UserCode, odd):
		return errors.New("it sent no code that could be typed")
	case len(d.Address) > maxAddress || !safe(d.Address) || d.Complete != "" && !safe(d.Complete):
		return fmt.Errorf("it sent no plain address to type its code at: %.80q", d.Address)
	case d.ExpiresIn <= 0:
		return errors.New("it does not say for how long its code is good")
	}
	return nil
}

// poll asks until the user has signed in, will not, or the code has ended.
func (s *flow) poll(ctx context.Context, d deviceAnswer) (tokenAnswer, error) {
	interval := usualInterval
	if d.Interval != nil {
		interval = time.Duration(min(max(*d.Interval, 1), 60) * float64(time.Second))
	}
	for failures := 0; ; {
		if err := s.pause(ctx, interval); err != nil {
			return tokenAnswer{}, err
		}
		answer, err := s.grant.Client.token(ctx, s.client, s.grant.TokenURL, url.Values{
			"grant_type": {deviceGrant}, "device_code": {d.DeviceCode}, "resource": {s.grant.Resource},
		})
		var wire *oauthError
		switch errors.As(err, &wire); {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return tokenAnswer{}, context.Cause(ctx)
		case wire == nil && errors.Is(err, errNoAnswer) && failures < maxFailures:
			failures++
			interval = min(2*interval, time.Minute) // RFC 8628 section 3.5
			continue
		case wire == nil:
			return tokenAnswer{}, err
		}
		failures = 0
		switch wire.Code {
		case "authorization_pending":
		case "slow_down":
			interval += usualInterval
		case "expired_token":
			return tokenAnswer{}, errors.New("the code has ended before it was typed")
		case "access_denied":
			return tokenAnswer{}, fmt.Errorf("it was refused: %w", wire)
		default:
			return tokenAnswer{}, wire
		}
	}
}

func (s *flow) pause(ctx context.Context, d time.Duration) error {
	if s.sleep != nil {
		return s.sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// asItself gets a token by the secret of the client, which its user has registered; no user is asked.
func (s *flow) asItself(ctx context.Context) (err error) {
	g := &s.grant
	if s.Client.ID == "" || s.Client.Secret == "" {
		return errors.New("codemode can sign in as itself by the ID and the secret of a client alone")
	}
	g.Itself = true
	if g.Client, err = s.register(ctx, s.client, s.at.server, Client{}, ""); err != nil {
		return err
	}
	g.Scopes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.at.scopes, s.Scopes))))
	answer, err := g.askAsItself(ctx, s.client)
	if err != nil {
		return fmt.Errorf("getting a token from %q: %w", g.Issuer, err)
	}
	g.update(answer)
	return nil
}
