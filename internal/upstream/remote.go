package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/config"
)

// remote is the way to a server by URL: the SDK's transport, Streamable HTTP or the older HTTP with SSE, over an HTTP
// client whose messages pass through here.
//
// The SDK does the protocol: sessions, streams and their resumption, its headers. Only here, below it, can an answer be
// kept as the server sent it: a wrapper around the SDK's connection would hide from the SDK what that connection is
// (v1.8.0, clientConnection in mcp/transport.go).
type remote struct {
	*calls
	endpoint *url.URL
	headers  http.Header

	// token and wanted are those of [Options], for this server.
	token  func(ctx context.Context, refused string) (string, error)
	wanted func(challenges []string)

	denied  atomic.Pointer[refusedError] // the last answer that wants to know who asks
	name    string
	sse     bool // the older transport, where answers come on a stream of their own
	inner   mcp.Transport
	client  *http.Client
	life    context.Context    // of the streams; set by Connect, as unplug
	unplug  context.CancelFunc // ends the streams
	watched sync.WaitGroup     // the goroutine that sees the SDK's session end
	posted  atomic.Int32       // messages that were sent and whose status has not come
	expired atomic.Bool        // the server does not know the session any more
	reached *atomic.Bool       // see server
	spoken  atomic.Bool        // it has said something that is a message
}

// newRemote is the way to a server whose entry's references are replaced.
func newRemote(c config.Server, sse bool, opts Options, calls *calls, reached *atomic.Bool) (*remote, error) {
	endpoint, err := c.Endpoint()
	if err != nil {
		return nil, err
	}
	calls.wholeLists = true
	r := &remote{calls: calls, endpoint: endpoint, headers: http.Header{}, sse: sse}
	r.name, r.reached = c.Name, reached
	r.token = func(ctx context.Context, refused string) (string, error) { return opts.Token(ctx, c, refused) }
	r.wanted = func(challenges []string) { opts.SignInWanted(c, challenges) }
	for name, value := range c.Headers {
		if !headerName(name) ||
			strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, fmt.Errorf("its header %q has characters that no header can have", name)
		}
		r.headers.Set(name, value)
	}
	if r.headers.Get("Authorization") != "" {
		r.token = func(context.Context, string) (string, error) { return "", ErrNoToken }
	}
	if r.headers.Get("User-Agent") == "" {
		r.headers.Set("User-Agent", "codemode/"+cmp.Or(opts.Version, "unknown"))
	}
	transport, err := newHTTPTransport(c, endpoint, opts.Lookup)
	if err != nil {
		return nil, err
	}
	r.client = &http.Client{Transport: &filter{remote: r, next: transport}, CheckRedirect: r.redirect}
	if sse { // the filter bounds events
		r.inner = &mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: r.client, MaxEventSize: -1}
	} else {
		r.inner = &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: r.client, MaxEventSize: -1}
	}
	return r, nil
}

// headerName says whether a text is a token, RFC 9110 section 5.6.2.
func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
}

// Connect implements [mcp.Transport]. The context ends with the start; the streams must not.
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	life, hangup := context.WithCancel(context.WithoutCancel(ctx))
	r.life, r.unplug = life, hangup
	stop := context.AfterFunc(ctx, hangup)
	defer stop()
	conn, err := r.inner.Connect(life)
	if err == nil {
		r.reply = conn.Write
	}
	return conn, err
}

// watch breaks the connection when the SDK's session has ended.
func (r *remote) watch(client *mcp.ClientSession) {
	r.watched.Go(func() {
		if err := client.Wait(); err != nil {
			r.update(func(st *callsState) {
				if st.fault == nil && !st.closed {
					st.fault = brokenOff(err)
				}
			})
		}
		r.breaks()
	})
}

// end implements [connection]. What the SDK waits for at most is the answer to its DELETE, which the filter bounds.
func (r *remote) end(client *mcp.ClientSession, _ time.Duration) {
	r.closes()
	if client != nil {
		_ = client.Close()
	}
	if r.unplug != nil {
		r.unplug()
	}
	r.finish()
	r.work.Wait()
	r.watched.Wait()
	r.client.CloseIdleConnections()
}

// exit implements [connection].
func (r *remote) exit() error { return errors.New("it was disconnected") }

// stderr implements [connection].
func (r *remote) stderr() (text string, cut bool) { return "", false }

// place implements [connection].
func (r *remote) place() slog.Attr { return slog.String("host", r.endpoint.Host) }

// filter is the HTTP client's way out: it adds what the entry says, bounds what comes, and keeps the answers to calls.
type filter struct {
	remote *remote
	next   http.RoundTripper
}

// CloseIdleConnections lets [http.Client] close them.
func (f *filter) CloseIdleConnections() {
	if t, ok := f.next.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (f *filter) RoundTrip(req *http.Request) (*http.Response, error) {
	r := f.remote
	if !sameServer(r.endpoint, req.URL) {
		return nil, &refusedError{
			status: seeOther(req),
			what:   fmt.Sprintf("the server sends its client to another host, %q; nothing was sent there", req.URL.Host),
			hint:   "if that is right, put that address into its entry",
		}
	}
	req = req.Clone(req.Context())
	for name, values := range r.headers {
		req.Header[name] = values
	}
	if id, ok := req.Context().Value(taskKey{}).(string); ok && headerName(id) {
		req.Header.Set("Mcp-Name", id)
	}
	if req.Method == http.MethodDelete { // the end of a session must not wait for a server that does not answer
		ctx, cancel := context.WithTimeout(req.Context(), stopGrace)
		defer cancel()
		defer context.AfterFunc(r.hurry, cancel)()
		return f.next.RoundTrip(req.WithContext(ctx))
	}
	sent := r.outgoing(req)
	req, done := r.outlive(req, sent.slot)
	send := f.sendInSession
	if !r.sse && (req.Method == http.MethodGet && sent.slot == nil || sent.method == methodListen) {
		send = f.askForStream
	}
	resp, err := send(req, sent)
	if err != nil {
		done()
		return nil, err
	}
	resp.Body = &outlivedBody{resp.Body, done}
	r.reached.Store(true)
	if resp.StatusCode >= http.StatusBadRequest {
		return r.refused(req, resp, sent)
	}
	body := resp.Body
	room := r.room(req.Context(), func(error) { _ = body.Close() })
	switch kind := mediaType(resp); {
	case resp.StatusCode >= http.StatusMultipleChoices: // the client decides on a redirect
	case kind == "application/json":
		resp.Body = &jsonBody{body: body, length: int(resp.ContentLength), room: room, remote: r, id: sent.id}
		resp.ContentLength = -1
	case kind == "text/event-stream":
		resp.Body = newEventBody(body, room, r, sent)
		resp.ContentLength = -1
	case sent.id != 0:
		return nil, r.notMCP(resp)
	}
	return resp, nil
}

// streamTime bounds how long a server may take to say whether it has a stream of its own: the SDK waits for that before
// it goes on (v1.8.0), whatever ends meanwhile.
const streamTime = 5 * time.Second

// askForStream asks for the server's own stream. A server that does not say whether it has one is taken to have none.
func (f *filter) askForStream(req *http.Request, sent outgoing) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	late := time.AfterFunc(streamTime, cancel)
	hurried := context.AfterFunc(f.remote.hurry, cancel)
	resp, err := f.sendInSession(req.WithContext(ctx), sent)
	hurried()
	if late.Stop() && err == nil {
		resp.Body = &outlivedBody{resp.Body, cancel}
		return resp, nil
	}
	cancel()
	switch {
	case err == nil: // it came just then, and ends with the context
		_ = resp.Body.Close()
	case req.Context().Err() != nil || !errors.Is(err, context.Canceled):
		return nil, err
	}
	return failing(req, http.StatusMethodNotAllowed), nil
}

// outgoing is a message on its way to the server, as far as it matters here.
type outgoing struct {
	id     int64  // of a request; 0 is none
	method string // empty for an answer
	slot   *slot  // that the request's answer goes into; nil is none
}

// outgoing looks at a request's body, whose beginning has id and method: the SDK writes them in that order.
func (r *remote) outgoing(req *http.Request) (o outgoing) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return outgoing{slot: slotOf(req.Context())} // a stream that is resumed is still its call's
	}
	body, err := req.GetBody()
	if err != nil {
		return o
	}
	defer body.Close()
	head, _ := io.ReadAll(io.LimitReader(body, 256))
	o.id, o.method = gjson.GetBytes(head, "id").Int(), gjson.GetBytes(head, "method").String()
	switch {
	case o.method == "":
		o.id = 0
		r.answered()
	case o.id != 0:
		if o.slot = slotOf(req.Context()); o.slot != nil {
			id, _ := jsonrpc.MakeID(float64(o.id))
			r.register(request{id, o.method, o.slot})
		} else if o.method == methodListen {
			rest, _ := io.ReadAll(body)
			r.listens(o.id, []byte(gjson.GetBytes(append(head, rest...), "params").Raw))
		}
	}
	if r.sse {
		o.id = 0
	}
	return o
}

// sendInSession sends a request if there is still a session.
func (f *filter) sendInSession(req *http.Request, sent outgoing) (*http.Response, error) {
	if req.Method == http.MethodPost { // the status of a stream may come with its first event
		f.remote.posted.Add(1)
		defer f.remote.posted.Add(-1)
	}
	if f.remote.expired.Load() {
		return notFound(req), nil
	}
	return f.sendSigned(req, sent)
}

// sendSigned sends a request with the token of a sign-in, if there is one, and once more with a fresh one where it is
// refused.
func (f *filter) sendSigned(req *http.Request, sent outgoing) (*http.Response, error) {
	token, none := f.remote.token(req.Context(), "")
	switch {
	case none == nil:
		req.Header.Set("Authorization", "Bearer "+token)
	case !errors.Is(none, ErrNoToken):
		return nil, &refusedError{what: none.Error()}
	}
	resp, err := f.send(req, sent)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || none != nil {
		return resp, err
	}
	fresh, none := f.remote.token(req.Context(), token)
	if none != nil || req.GetBody == nil && req.Body != nil {
		return resp, nil
	}
	discard(resp.Body)
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+fresh)
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return f.send(req, sent)
}

// send sends a request, again where it is certain that the server has not begun with it.
func (f *filter) send(req *http.Request, sent outgoing) (*http.Response, error) {
	if req.Method != http.MethodPost && sent.slot != nil { // a stream that the SDK resumes: its call was sent before
		return f.next.RoundTrip(req)
	}
	for try := 0; ; try++ {
		sent.slot.mark(true)
		resp, err := f.next.RoundTrip(req)
		pause, again := time.Duration(0), false
		switch {
		case err != nil && notSent(err):
			sent.slot.mark(false)
			pause = min(50*time.Millisecond<<min(try, 5), time.Second)
			again = f.remote.reached.Load() && try < 8
			if !again { // nobody waits again for one that stays away
				f.remote.reached.Store(false)
			}
		case err != nil && req.Context().Err() == nil: // the others that lie idle have broken with this one
			f.CloseIdleConnections()
		case err == nil:
			pause, again = retryAfter(resp)
			again = again && try < 3
		}
		if !again || !worthWaitingFor(req.Context(), pause) || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		if resp != nil {
			f.remote.log.Info("the server wants its client to wait", "status", resp.StatusCode, "for", pause)
			discard(resp.Body)
		}
		if err := sleep(req.Context(), pause); err != nil {
			return nil, err
		}
		if err := f.remote.again(req.Context()); err != nil {
			sent.slot.mark(false)
			return nil, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// notSent says whether an error came before a server could read anything of a request.
func notSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &certificate) || endedIdle(err)
}

// endedIdle says whether the server had ended a connection before the request was given to it. Only an error's text
// says so (readLoopPeekFailLocked in net/http's transport.go, go1.26), and the client itself repeats no POST then.
func endedIdle(err error) bool {
	text := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	return text == "http: server closed idle connection" || strings.HasPrefix(text, "readLoopPeekFailLocked: ")
}

// longestRetryAfter is how long a server may have its client wait before it is told instead.
const longestRetryAfter = time.Minute

// retryAfter says whether a server wants the same request again, and when.
func retryAfter(resp *http.Response) (pause time.Duration, again bool) {
	text := resp.Header.Get("Retry-After")
	if text == "" || resp.StatusCode != http.StatusTooManyRequests { // after a 503 a call may have been begun
		return 0, false
	}
	if seconds, err := time.ParseDuration(text + "s"); err == nil {
		pause = seconds
	} else if at, err := http.ParseTime(text); err == nil {
		pause = time.Until(at)
	} else {
		return 0, false
	}
	return max(pause, 0), pause <= longestRetryAfter
}

// worthWaitingFor says whether a pause ends before its context does.
func worthWaitingFor(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > pause
}

// redirect decides on a redirect: only within the server, and only one that repeats the request as it was.
func (r *remote) redirect(req *http.Request, via []*http.Request) error {
	been := func(before *http.Request) bool { return before.URL.String() == req.URL.String() }
	switch {
	case len(via) > 5 || slices.ContainsFunc(via, been):
		return &refusedError{what: "the server redirects its client on and on"}
	case !sameServer(r.endpoint, req.URL):
		return nil // which RoundTrip refuses, in its own words
	case req.Method != via[0].Method:
		return &refusedError{
			status: seeOther(req),
			what:   fmt.Sprintf("the server says that it has moved to %q", req.URL.Redacted()),
			hint:   "put that address into its entry",
		}
	}
	return nil
}

// seeOther is the status of a redirect that may come behind what the request has brought about; 0 is of none such.
func seeOther(redirected *http.Request) int {
	if from := redirected.Response; from != nil && from.StatusCode < http.StatusTemporaryRedirect {
		return from.StatusCode
	}
	return 0
}

// sameServer says whether an address is of the server: its host, and never less encryption.
func sameServer(entry, to *url.URL) bool {
	upgrade := entry.Scheme == "http" && to.Scheme == "https" && entry.Port() == "" && to.Port() == ""
	return strings.EqualFold(entry.Hostname(), to.Hostname()) &&
		(upgrade || entry.Scheme == to.Scheme && port(entry) == port(to))
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// discard ends an answer that nobody reads.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}
