package upstream

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/tidwall/gjson"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/publicnet"
)

// refusedError is what a server by URL said instead of an answer of MCP.
type refusedError struct {
	what   string
	hint   string // empty where there is nothing to do
	status int    // 0 where the server has not answered, and was asked nothing
	signIn bool   // what it wants is that its user signs in
}

// WantsSignIn says whether an error is a server's by URL that wants its user to sign in, and has done nothing.
func WantsSignIn(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.signIn
}

func (e *refusedError) Error() string { return e.what }

// Hint is what its user can do.
func (e *refusedError) Hint() []string {
	if e.hint == "" {
		return nil
	}
	return []string{e.hint}
}

// wrongTransport says whether an older server may be behind this: revision 2025-11-25 has a client try HTTP with SSE
// where its first message is refused so (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports, its
// section on backwards compatibility, read November 2026).
func (e *refusedError) wrongTransport() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusNotFound ||
		e.status == http.StatusMethodNotAllowed
}

// maxRefusal is how much of a refusal is looked at.
const maxRefusal = 64 << 10

// refused turns an answer with a status that is no success into an error that says what to do, but for what the SDK
// understands itself: an error of JSON-RPC, and a session that is no more.
func (r *remote) refused(req *http.Request, resp *http.Response, sent outgoing) (*http.Response, error) {
	if req.Method == http.MethodGet && !r.sse { // an optional stream, which the server need not have
		return resp, nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close()
	isError := gjson.ValidBytes(body) && gjson.GetBytes(body, "error.message").Exists()
	switch {
	case req.Header.Get("Mcp-Session-Id") != "" && lostSession(resp.StatusCode, body):
		sent.slot.refused()
		r.sessionExpired()
		return notFound(req), nil // without the error in it, which the SDK would take for the call's
	case r.sse && sent.slot != nil && resp.StatusCode == http.StatusNotFound: // of a session that is no more
		sent.slot.refused()
		r.sessionExpired()
		r.breaks()
	case isError && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		resp.Body = io.NopCloser(bytes.NewReader(r.shown(body, sent)))
		return resp, nil
	}
	e := r.statusError(resp, body)
	if e.signIn {
		sent.slot.turnedAway()
	}
	return nil, e
}

// statusGrace is how long what was sent in a session that is over has for its status.
const statusGrace = 500 * time.Millisecond

// sessionExpired notes that the server does not know the session any more, so that nothing more is sent in it. It waits
// until what was sent has its status as well: the SDK ends every call then, and of one without a status nobody knows
// what became of it.
func (r *remote) sessionExpired() {
	r.expired.Store(true)
	for end := time.Now().Add(statusGrace); r.posted.Load() > 0 && time.Now().Before(end); {
		if sleep(r.life, 2*time.Millisecond) != nil {
			return
		}
	}
}

// notFound is the answer that the SDK takes for the end of its session.
func notFound(req *http.Request) *http.Response { return failing(req, http.StatusNotFound) }

// failing is an answer with an error status that codemode gives in a server's place.
func failing(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// lostSession says whether a server does not know a session any more: 404 by the specification, 400 with words by
// servers that were made after the example of the TypeScript SDK (npm's server-everything, 2026-11).
func lostSession(status int, body []byte) bool {
	code := gjson.GetBytes(body, "error.code").Int()
	return status == http.StatusNotFound || status == http.StatusBadRequest && (code == -32000 || code == -32001) &&
		bytes.Contains(bytes.ToLower(body), []byte("session id"))
}

// statusError is a status in words.
func (r *remote) statusError(resp *http.Response, body []byte) *refusedError {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	e := &refusedError{status: resp.StatusCode, what: "the server answers " + status}
	if words := r.said(resp, body); words != "" {
		e.what += fmt.Sprintf(" (%q)", words)
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		r.denied.Store(e)
		e.what = "the server wants to know who asks: it answers " + status
		e.hint = "codemode auth login " + hint.Word(r.name)
		if r.headers.Get("Authorization") != "" {
			e.hint = "the token in its entry's headers is not, or no longer, a good one"
		} else {
			r.wants(resp)
			e.signIn = true
		}
	case http.StatusForbidden:
		r.denied.Store(e)
		e.hint = "who asks may not do this"
		if scope := r.head(wantedScope(resp), maxScope); scope != "" && r.headers.Get("Authorization") == "" {
			r.wants(resp)
			e.signIn = true
			e.hint = fmt.Sprintf("codemode auth login %s --scope %s", hint.Word(r.name), hint.Word(scope))
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.hint = "the URL of its entry may be another's: MCP servers often are at /mcp or /sse"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := resp.Header.Get("Retry-After"); after != "" {
			e.hint = fmt.Sprintf("it says when to try again: %q", r.head(after, 40))
		}
	}
	return e
}

// wants tells of a sign-in that the server wants.
func (r *remote) wants(resp *http.Response) {
	challenges := resp.Header.Values("WWW-Authenticate")
	masked := make([]string, len(challenges))
	for i, c := range challenges { // they are kept for the sign-in
		masked[i] = r.forCode().Text(c)
	}
	r.wanted(masked)
}

// maxScope is how much of a scope is told, in bytes.
const maxScope = 1 << 10

// wantedScope is what a sign-in lacks, by the server's words.
func wantedScope(resp *http.Response) string {
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return ""
	}
	for _, c := range challenges {
		if c.Params["error"] == "insufficient_scope" {
			return c.Params["scope"]
		}
	}
	return ""
}

// notMCP is the error for a success that brings no message.
func (r *remote) notMCP(resp *http.Response) *refusedError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close()
	e := &refusedError{status: resp.StatusCode, hint: "the URL of its entry may be a page's: MCP servers often are at /mcp or /sse"}
	switch kind := mediaType(resp); kind {
	case "":
		e.what = fmt.Sprintf("the server answers %d without a message", resp.StatusCode)
	default:
		e.what = fmt.Sprintf("the server answers %d with %s instead of JSON", resp.StatusCode, r.head(kind, 60))
	}
	if words := r.said(resp, body); words != "" {
		e.what += fmt.Sprintf(" (%q)", words)
	}
	return e
}

var title = lazyregexp.New(`(?is)<title[^>]*>(.*?)</title>`)

// said are the words of an answer that a person would read: a page's title, an error's message, or a short text.
func (r *remote) said(resp *http.Response, body []byte) string {
	words := ""
	switch kind := mediaType(resp); {
	case kind == "text/html":
		if m := title().FindSubmatch(body); m != nil {
			words = html.UnescapeString(string(m[1]))
		}
	case strings.HasSuffix(kind, "json"):
		for _, path := range []string{"error.message", "error_description", "message", "error", "detail"} {
			if v := gjson.GetBytes(body, path); v.Type == gjson.String && gjson.ValidBytes(body) {
				words = v.Str
				break
			}
		}
	case kind == "text/plain":
		words = string(body)
	}
	return r.head(strings.Join(strings.Fields(strings.ToValidUTF8(words, "\ufffd")), " "), 200)
}

// head is the beginning of what a server has said, at most n bytes of it. It is masked as a whole: of a secret that is
// cut, nobody would recognise the rest.
func (r *remote) head(text string, n int) string {
	text = r.forCode().Head(text, len(text) >= maxRefusal)
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// codeRejected is the SDK's own, for what could not be sent (v1.8.0, ErrRejected in internal/jsonrpc2/wire.go): no
// answer of a server's.
const codeRejected = -32005

// isAnswer says whether an error is one that the server has given: it knows what has become of the call.
func isAnswer(err error) bool {
	var wire *jsonrpc.Error
	var refused *refusedError
	if errors.As(err, &refused) { // a success without a message, a failure or a redirect says nothing of the call
		return refused.status == 0 || refused.status/100 == 4
	}
	return errors.As(err, &wire) && wire.Code != codeRejected
}

// plainly is an error without what the SDK and the HTTP client put around it, which names steps that mean nothing to a
// user.
func plainly(err error) error {
	var refused *refusedError
	var address *url.Error
	var inside *publicnet.Error
	var certificate *tls.CertificateVerificationError
	var shape *json.UnmarshalTypeError
	var call *CallError
	switch {
	case errors.As(err, &call): // of this package's own, by way of the HTTP client
		return call.Err
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &shape): // whose own words have the beginning of the value, which may be a secret's
		return fmt.Errorf("the server's answer is not what the protocol has there: no %v", shape.Type)
	case errors.As(err, &certificate):
		return &refusedError{
			what: "the server's certificate is not one to trust: " + certificate.Err.Error(),
			hint: "if it is right, name a file with the certificate that vouches for it in NODE_EXTRA_CA_CERTS",
		}
	case errors.As(err, &inside):
		return &refusedError{
			what: inside.Error(),
			hint: "if that is right, have the entry in codemode's own servers: codemode servers add",
		}
	case errors.As(err, &address) && notSent(address.Err):
		return fmt.Errorf("connecting to the server: %w", address.Err)
	case errors.As(err, &address):
		return fmt.Errorf("%w: %w", errBroke, address.Err)
	}
	return err
}

// errBroke is that a connection was made, and ended before its answer.
var errBroke = errors.New("the connection to the server broke")

// brokenOff says why a connection ended, or brought no answer. The SDK's own words for that have its session's id.
func brokenOff(err error) error {
	if plain := plainly(err); plain != err {
		return plain
	}
	if errors.Is(err, mcp.ErrSessionMissing) {
		return errors.New("the server does not know its session any more (404)")
	}
	return errors.New("the connection to the server broke off")
}

// withWay is a call's error with what its user can do, for code, which can only tell them.
func withWay(err error) error {
	var refused *refusedError
	if errors.As(err, &refused) && refused.hint != "" {
		return fmt.Errorf("%w; for the user: %s", err, refused.hint)
	}
	return err
}
