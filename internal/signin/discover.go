package signin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"codemode/internal/publicnet"
)

// authority is where a server has its users sign in.
type authority struct {
	resource string // what the server calls itself
	server   *oauthex.AuthServerMeta
	device   string   // its endpoint for devices without a browser (RFC 8628); empty where it has none
	scopes   []string // that the server asks for
}

// ErrNotNeeded is a server that lets codemode in as it is.
var ErrNotNeeded = errors.New("the server wants no sign-in: it answers without one")

// discover asks a server who lets its users in, and asks that one how; said is what it has said already. Where it is
// inside by a name, somebody elsewhere may have said that by the same name: it has its metadata at no other host
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization, read November 2026).
func discover(ctx context.Context, client *http.Client, server string, said []string, inside bool) (*authority, error) {
	challenges, err := oauthex.ParseWWWAuthenticate(said)
	open := false
	if len(challenges) == 0 || err != nil {
		if challenges, open, err = challenge(ctx, client, server); err != nil {
			return nil, err
		}
	}
	if inside && !publicnet.Outright(hostOf(server)) {
		for _, c := range challenges {
			if hostOf(c.Params["resource_metadata"]) != hostOf(server) {
				delete(c.Params, "resource_metadata")
			}
		}
	}
	a := &authority{resource: server}
	metadata, err := resourceMetadata(ctx, client, server, challenges)
	if err != nil {
		return nil, err
	}
	if metadata == nil && open {
		return nil, ErrNotNeeded
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["scope"] != "" {
			a.scopes = strings.Fields(c.Params["scope"])
		}
	}
	issuer := origin(server) // before revision 2025-06-18 a server's root was its authorization server
	if metadata != nil {
		if len(metadata.AuthorizationServers) == 0 {
			return nil, errors.New("the server names no authorization server")
		}
		a.resource, issuer = metadata.Resource, metadata.AuthorizationServers[0]
		if a.scopes == nil {
			a.scopes = metadata.ScopesSupported
		}
	}
	var document []byte
	peek := *client
	peek.Transport = bodyRecorder{client.Transport, &document}
	a.server, err = auth.GetAuthServerMetadata(ctx, issuer, &peek)
	switch {
	case err != nil:
		return nil, fmt.Errorf("asking the authorization server %q how to sign in: %w", issuer, plainly(err))
	case a.server == nil && metadata != nil:
		return nil, fmt.Errorf("the authorization server %q does not say how to sign in", issuer)
	case a.server == nil:
		a.server = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register", CodeChallengeMethodsSupported: []string{"S256"},
		}
	}
	a.device = deviceEndpoint(document)
	return a, nil
}

// deviceEndpoint is what the SDK does not read of an authorization server's document (go-sdk v1.8.0).
func deviceEndpoint(document []byte) string {
	var m struct {
		Endpoint string `json:"device_authorization_endpoint"`
	}
	_ = json.Unmarshal(document, &m) // it was read by then
	if !safe(m.Endpoint) {
		return ""
	}
	return m.Endpoint
}

// safe says whether an address of an authorization server may be sent what is secret, or shown to its user.
func safe(address string) bool {
	u, err := url.Parse(address)
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f } // also if written by %
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsFunc(address+u.Host, odd) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && here
}

// challenge is what a server says to somebody who is not signed in; open says that it lets them in.
func challenge(ctx context.Context, client *http.Client, server string) (
	list []oauthex.Challenge, open bool, err error,
) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"codemode","version":"0"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(hello))
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return nil, false, fmt.Errorf("asking the server: %w", plainly(err))
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
	list, err = oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		list = nil // many a server writes it wrongly; where its metadata is can be guessed
	}
	return list, resp.StatusCode < http.StatusBadRequest, nil
}

// resourceMetadata is a server's document about itself (RFC 9728), nil where there is none. One that is about another
// server is an error: who follows it signs in for somebody else.
func resourceMetadata(
	ctx context.Context, client *http.Client, server string, challenges []oauthex.Challenge,
) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []string{origin(server) + wellKnown + strings.TrimRight(u.EscapedPath(), "/"), origin(server) + wellKnown}
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" {
			places = []string{at} // it says so itself
			break
		}
	}
	for _, place := range slices.Compact(places) {
		status := 0
		probe := *client
		probe.Transport = statusRecorder{client.Transport, &status}
		for _, resource := range names(server) {
			metadata, failed := oauthex.GetProtectedResourceMetadata(ctx, place, resource, &probe)
			if failed == nil {
				return metadata, nil
			}
			if err = failed; status != http.StatusOK {
				break
			}
		}
		if status == http.StatusOK || status == 0 {
			return nil, fmt.Errorf("the server's document about itself cannot be used: %w", plainly(err))
		}
	}
	return nil, nil
}

// names are what a server may call itself: by its URL, with or without what that asks for, or by one that this is
// below.
func names(server string) []string {
	list := []string{server}
	if u, err := url.Parse(server); err == nil {
		u.Scheme, u.Host, u.User = strings.ToLower(u.Scheme), strings.ToLower(u.Host), nil
		u.Host = strings.TrimSuffix(u.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
		u.Fragment, u.RawFragment = "", ""
		list = append(list, u.String())
		u.RawQuery, u.ForceQuery = "", false
		server = u.String()
	}
	list = append(list, strings.TrimSuffix(server, "/"), strings.TrimSuffix(server, "/")+"/")
	root := origin(server)
	for path := strings.TrimSuffix(strings.TrimPrefix(server, root), "/"); path != ""; {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		list = append(list, root+path, root+path+"/")
	}
	return list
}

func origin(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return u.Scheme + "://" + u.Host
}

// bodyRecorder remembers the last good answer.
type bodyRecorder struct {
	next http.RoundTripper
	body *[]byte
}

func (b bodyRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(b.next, http.DefaultTransport).RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	*b.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	resp.Body = io.NopCloser(bytes.NewReader(*b.body))
	return resp, err
}

// statusRecorder remembers the status of the last answer, which oauthex does not tell.
type statusRecorder struct {
	next   http.RoundTripper
	status *int
}

func (s statusRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	*s.status = 0
	resp, err := cmp.Or(s.next, http.DefaultTransport).RoundTrip(req)
	if err == nil {
		*s.status = resp.StatusCode
	}
	return resp, err
}
