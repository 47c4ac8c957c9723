package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/redact"
)

// calls is what a transport knows of the requests under way on it: the slots their answers go into, what ends them, and
// whether it still carries anything. Every message of a server passes through [calls.message], over every transport.
type calls struct {
	log     *slog.Logger
	secrets func() *redact.Redactor
	forCode func() *redact.Redactor // of what goes to code

	// respond answers what the server asks, see [Options.Answer]; reply sends it that.
	respond func(ctx context.Context, of About, request mcp.InputRequest) (mcp.InputResponse, error)
	reply   func(context.Context, jsonrpc.Message) error
	again   func(context.Context) error     // says why a call is not to be sent once more
	told    func(context.Context, Progress) // what a call says of its progress
	unasked func(task string)               // has the server cancel a task that nobody has waited for

	// wholeLists is of servers by URL. It has the SDK see lists of tools, of which it makes headers of arguments
	// (x-mcp-header of revision 2026-07-28).
	wholeLists bool

	server string
	rooms  *rooms // of its messages
	pace   *pace  // of those that were not asked for

	hurry context.Context // ends when nothing is to be waited for

	broken chan struct{} // closed when nothing can be read or nothing be written any more
	done   chan struct{} // closed by finish

	life   context.Context // ends when nothing more can be answered: with either of them
	hangup context.CancelFunc
	work   sync.WaitGroup // what answers the server; nothing begins there after finish

	mu    sync.Mutex
	state callsState // only in update
}

type callsState struct {
	broken   bool
	closed   bool  // by the SDK
	lost     bool  // broken, and not because it was closed
	cause    error // why no call may begin any more
	fault    error // what the server did that it was stopped for
	finished bool
	requests map[int64]request               // sent with a slot, not answered yet
	slots    map[int64]*slot                 // by progress token
	tokens   int64                           // the last one given
	owed     int                             // the server's requests without an answer yet
	expiry   *time.Timer                     // not later than the first end of a slot; nil while no slot has one
	asked    map[any]context.CancelCauseFunc // the server's requests that are being answered, by their ids
	waiting  int                             // what those take of memory, in bytes

	left      map[int64]leftCall       // of tools, which may yet be answered with a task
	abandoned int                      // requests that nobody waits for, and whose answers may yet come
	opening   map[string]chan struct{} // URLs that a user is to open, by their ids; closed when that is done
	topics    map[string]*topic        // subscribed to, by URI
	listening map[int64]*topic         // by the request that asks for it, of the newest revision
}

// request is a request whose answer belongs in a slot.
type request struct {
	id     jsonrpc.ID
	method string
	slot   *slot
}

// newCalls knows of no call yet. The connection sets reply.
func (sess *session) newCalls() *calls {
	s := sess.server
	c := &calls{
		log: s.log, secrets: sess.secrets.redactor, forCode: sess.secrets.forCode, respond: s.respond, again: s.repeats,
		told: func(ctx context.Context, p Progress) {
			secrets := sess.secrets.redactor()
			p.Message, p.Done, p.Total = secrets.Text(p.Message), number(secrets, p.Done), number(secrets, p.Total)
			s.pool.opts.OnProgress(ctx, s.config.Name, p)
		},
		unasked: sess.cancelTask, hurry: s.pool.hurry,
		server: s.config.Name, rooms: s.pool.rooms,
		broken: make(chan struct{}), done: make(chan struct{}),
		state: callsState{
			requests: map[int64]request{}, slots: map[int64]*slot{}, asked: map[any]context.CancelCauseFunc{},
			left:    map[int64]leftCall{},
			opening: map[string]chan struct{}{}, topics: map[string]*topic{}, listening: map[int64]*topic{},
		},
	}
	c.life, c.hangup = context.WithCancel(context.Background())
	c.pace = newPace(c.life, &s.pool.unread)
	return c
}

func (c *calls) update(f func(*callsState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.state)
}

// finish says that nothing is sent any more. It is idempotent.
func (c *calls) finish() {
	c.update(func(st *callsState) {
		if st.finished {
			return
		}
		st.finished = true
		if st.expiry != nil {
			st.expiry.Stop()
		}
		close(c.done)
		c.hangup()
	})
}

// closes says that the SDK has closed the connection.
func (c *calls) closes() {
	c.update(func(st *callsState) { st.closed = true })
	c.pace.close()
}

// breaks says that the connection carries nothing any more.
func (c *calls) breaks() {
	c.update(func(st *callsState) {
		if !st.broken {
			st.broken, st.lost = true, !st.closed
			close(c.broken)
			c.hangup()
		}
	})
}

// isLost says whether the server ended the connection.
func (c *calls) isLost() (lost bool) {
	c.update(func(st *callsState) { lost = st.lost })
	return lost
}

// stopFor breaks the connection for what the server did.
func (c *calls) stopFor(fault error) {
	c.log.Warn("server is stopped", "error", fault)
	c.update(func(st *callsState) { st.fault = fault })
	c.breaks()
}

func (c *calls) fault() (fault error) {
	c.update(func(st *callsState) { fault = st.fault })
	return fault
}

func (c *calls) isBroken() bool {
	select {
	case <-c.broken:
		return true
	default:
		return false
	}
}

// cancelAll ends every call, and those that are still to come.
func (c *calls) cancelAll(cause error) {
	c.update(func(st *callsState) {
		st.cause = cause
		for _, s := range st.slots {
			s.cancel(cause)
		}
	})
}

// expect gives the slot a progress token.
func (c *calls) expect(s *slot) (token int64) {
	c.update(func(st *callsState) {
		st.tokens++
		s.token = st.tokens
		st.slots[s.token] = s
		if st.cause != nil {
			s.cancel(st.cause)
		}
		c.arm(st, s)
	})
	return s.token
}

// arm has expire look at a slot in time. It is called in update.
func (c *calls) arm(st *callsState, s *slot) {
	if s.timeout > 0 && st.expiry == nil && !st.finished {
		st.expiry = time.AfterFunc(s.timeout, c.expire)
	}
}

// expire cancels the calls that have taken too long. One timer serves all calls and is not stopped with them: setting
// one for each would cost a call that takes microseconds more than anything else here.
func (c *calls) expire() {
	c.update(func(st *callsState) {
		now, next := time.Now(), time.Duration(0)
		for _, s := range st.slots {
			left := s.ends.Sub(now)
			switch {
			case s.timeout == 0 || s.asking > 0:
			case left <= 0:
				s.cancel(&timeoutError{s.what, s.timeout})
			case next == 0 || left < next:
				next = left
			}
		}
		st.expiry = nil
		if next > 0 && !st.finished {
			st.expiry = time.AfterFunc(next, c.expire)
		}
	})
}

// register notes that the answer to a request goes into a slot.
func (c *calls) register(r request) {
	if id, ok := r.id.Raw().(int64); ok {
		c.update(func(st *callsState) {
			st.requests[id] = r
			r.slot.awaited++
		})
	}
}

// take returns what has come for the slot. Nothing comes into it any more.
func (c *calls) take(s *slot) (result json.RawMessage, err error) {
	c.update(func(st *callsState) {
		delete(st.slots, s.token)
		if s.awaited > 0 { // else none of what may be hundreds is its own
			for id, r := range st.requests {
				if r.slot == s {
					delete(st.requests, id)
					st.abandoned++
					st.leaves(id, r.method, s.ctx)
				}
			}
		}
		result, err = s.result, s.err
	})
	return result, err
}

// maxLeft is how many calls that were left are remembered: a server need not answer one.
const maxLeft = 1000

// leftCall is a call that nobody waits for.
type leftCall struct {
	ctx context.Context // until a question of its server is unlikely to be about it; then nil
	at  time.Time
}

// leaves notes a request whose answer nobody waits for. Of too many any one is forgotten.
func (st *callsState) leaves(id int64, method string, ctx context.Context) {
	if method != "tools/call" {
		return
	}
	for old, l := range st.left {
		switch {
		case len(st.left) >= maxLeft:
			delete(st.left, old)
		case time.Since(l.at) > StillAsks:
			st.left[old] = leftCall{at: l.at}
		}
	}
	st.left[id] = leftCall{ctx, time.Now()}
}

// recentlyLeft are the contexts of calls that were left a moment ago, and not answered since.
func (st *callsState) recentlyLeft() (contexts []context.Context) {
	for _, l := range st.left {
		if l.ctx != nil && time.Since(l.at) <= StillAsks {
			contexts = append(contexts, l.ctx)
		}
	}
	return contexts
}

// late looks at an answer that nobody waits for, and says whether somebody has. A task that it names would go on for
// nobody. By URL there is none to look at: a server that has tasks must take the end of the request's stream for its
// cancellation (revision 2026-07-28,
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation, read November 2026), so to wait
// for its answer there would be not to cancel.
func (c *calls) late(env envelope) (asked bool) {
	was := false
	c.update(func(st *callsState) {
		if asked = st.abandoned > 0; asked {
			st.abandoned--
		}
		_, was = st.left[env.id]
		delete(st.left, env.id)
	})
	if task := gjson.GetBytes(env.result, "taskId").String(); was && task != "" &&
		gjson.GetBytes(env.result, "resultType").String() == "task" {
		c.unasked(task)
	}
	return asked
}

// message turns what the server sent into the message the SDK gets, nil when that is none of its business. ok is false
// for what is no message at all. It has come together with the answer that goes into the slot of; nil is none.
func (c *calls) message(text []byte, of *slot) (msg jsonrpc.Message, ok bool) {
	if n := longNoticeIn(text); n != nil {
		c.pace.count(costForSDK, n.bytes)
		return c.unread(n), true
	}
	cost := costOfNotice
	env, err := parseEnvelope(text)
	defer func() {
		if cost > 0 {
			c.pace.count(cost+costOfValue*time.Duration(env.values), len(text))
		}
	}()
	if err != nil {
		if env.id != 0 {
			return c.fail(env.id, err), false
		}
		c.skip(text, err)
		return nil, false
	}
	if len(text) > maxNotice && env.isNotice() {
		cost = costForSDK
		return c.unread(&longNotice{env.method, text[:headBytes], len(text)}), true
	}
	if env.method == "notifications/progress" {
		c.progress(gjson.GetBytes(text, "params"))
		return nil, true
	}
	if c.heard(env, text) {
		return nil, true
	}
	if env.method == "" {
		if msg, mine := c.answer(env); mine {
			cost = 0
			return msg, true
		}
		if c.late(env) {
			cost = 0
		}
	}
	switch {
	case env.values > maxValues:
		return c.refused(env, text, errMany), true
	case env.values > maxUnasked && env.method != "":
		return c.refused(env, text, errUnasked), true
	case env.method == "" && len(text) > maxKept:
		return c.refused(env, text, errKept), true
	}
	if cost > 0 {
		cost = costForSDK
	}
	msg, err = jsonrpc.DecodeMessage(text)
	if err != nil {
		c.skip(text, err)
		return nil, true
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		msg, cost = c.requested(req, text, of, len(text)+env.values*valueBytes)
	}
	return msg, true
}

// refused is what the SDK gets of a message that is not decoded: of an answer an error.
func (c *calls) refused(env envelope, text []byte, err error) jsonrpc.Message {
	if env.method != "" || env.id == 0 {
		c.skip(text, err)
		return nil
	}
	id, _ := jsonrpc.MakeID(float64(env.id))
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}}
}

// maxSkipped is how many bytes the log has of a line that is no message.
const maxSkipped = 8 << 10

func (c *calls) skip(line []byte, err error) {
	if len(line) == 0 || !c.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	shown := c.secrets().Head(string(line[:min(len(line), maxSkipped)]), len(line) > maxSkipped)
	c.log.Debug("skipping a line that is no message", "line", shown, "error", c.secrets().Error(err))
}

// errTaken is what the SDK gets for an answer that went into a slot. It would decode a result, however small, by way of
// a buffer of 32 KiB (v1.8.0), and keep that of a resource for good, by its URI (mcp/cache.go); an error it passes on.
var errTaken = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer is in its slot"}

// standIn is what the SDK gets for the answer to a request: an empty one of a list of tools, of which its error is
// told, and of a call by URL: with one that is over sooner the connection is closed before its end was read.
func (c *calls) standIn(r request) *jsonrpc.Response {
	switch {
	case r.method == "tools/list":
		return &jsonrpc.Response{ID: r.id, Result: json.RawMessage(`{"tools":[]}`)}
	case r.method == "tools/call" && c.wholeLists:
		return &jsonrpc.Response{ID: r.id, Result: json.RawMessage(`{"content":[]}`)}
	}
	return &jsonrpc.Response{ID: r.id, Error: errTaken}
}

// answer puts an answer into its slot. mine is false when it has none.
func (c *calls) answer(env envelope) (msg jsonrpc.Message, mine bool) {
	req, ok := c.retire(env.id, func(req request) {
		s := req.slot
		switch {
		case env.values > maxValues && strings.HasSuffix(req.method, "/list"): // others are handed on as they are
			s.err = errMany
		case env.err != nil:
			s.err = wireError(env.err)
		case !bytes.HasPrefix(env.result, []byte("{")):
			s.err = errors.New("the server's answer is not an object")
		default:
			s.result = env.result
		}
	})
	if !ok {
		return nil, false
	}
	if c.wholeLists && req.method == "tools/list" && env.err == nil && env.values <= maxValues {
		return &jsonrpc.Response{ID: req.id, Result: env.result}, true
	}
	return c.standIn(req), true
}

// fail answers a request with an error of this side's making.
func (c *calls) fail(id int64, err error) jsonrpc.Message {
	req, ok := c.retire(id, func(req request) { req.slot.err = err })
	if !ok {
		return nil
	}
	return c.standIn(req)
}

// retire fills the slot of a request.
func (c *calls) retire(id int64, fill func(request)) (req request, ok bool) {
	c.update(func(st *callsState) {
		if req, ok = st.requests[id]; ok {
			delete(st.requests, id)
			req.slot.awaited--
			req.slot.answered.Store(true)
			fill(req)
		}
	})
	return req, ok
}

// Progress is what a server says of a call's.
type Progress struct {
	Done, Total float64 // Total is 0 where it is not known
	Message     string
	Status      string // of the task that the call was answered with; of it, nothing but the message is said
}

// number is a number that a server says, or 0 where that is a secret.
func number(secrets *redact.Redactor, n float64) float64 {
	if text := strconv.FormatFloat(n, 'f', -1, 64); secrets.Text(text) != text {
		return 0
	}
	return n
}

// progress moves the end of a call, and hands on what its server says.
func (c *calls) progress(params gjson.Result) {
	var of *slot
	c.update(func(st *callsState) {
		if of = st.slots[params.Get("progressToken").Int()]; of != nil {
			of.progress()
		}
	})
	if of != nil {
		c.told(of.ctx, Progress{
			Done: params.Get("progress").Float(), Total: params.Get("total").Float(),
			Message: params.Get("message").String(),
		})
	}
}
