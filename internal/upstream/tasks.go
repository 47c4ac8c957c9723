package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// tasksExtension has a server answer a call with a task: what it works on, to be asked for
// (https://modelcontextprotocol.io/extensions/tasks, its source read November 2026). Servers of the newest revision
// alone are told of it: older ones have tasks of another shape, for clients that ask for one.
const tasksExtension = "io.modelcontextprotocol/tasks"

var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

type taskParams struct {
	mcp.ParamsBase
	ID        string               `json:"taskId"`
	Responses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

type taskResult struct{ mcp.ResultBase }

// offerTasks has a client declare that it knows tasks, and be able to ask for them.
func offerTasks(client *mcp.Client, can *mcp.ClientCapabilities) error {
	can.AddExtension(tasksExtension, nil)
	var errs []error
	for _, method := range taskMethods {
		errs = append(errs, mcp.AddSendingCustomMethod[*taskParams, *taskResult](client, method))
	}
	return errors.Join(errs...)
}

// How often a task is asked for; its server may say.
const (
	usualPoll   = time.Second
	fastestPoll = 50 * time.Millisecond
	slowestPoll = time.Minute
)

// taskKey is of the task that a request is about, in its context: a header says so (SEP-2243).
type taskKey struct{}

// task is one that a call was answered with.
type task struct {
	*session
	tool, what, id string
	answered       map[string]bool // questions of the server's that have been
	rounds         int             // of them
	ends, last     time.Time       // as of a slot; zero is never
	limit          time.Duration
	shown          Progress // told last
}

// settled is the result of a call: the answer itself, or, where that is a task, what comes of it. An answer of another
// kind is none that could be taken for a result.
func (sess *session) settled(
	ctx context.Context, tool, what string, answer json.RawMessage,
) (json.RawMessage, error) {
	switch kind := gjson.GetBytes(answer, "resultType").String(); {
	case kind == "task" && !sess.speaksNewest():
		return nil, sess.callError(ctx, tool, errors.New("the server answered with a task, which it was not asked for"))
	case kind == "task":
		return sess.finishTask(ctx, tool, what, answer)
	case kind != "" && kind != "complete" && sess.speaksNewest():
		kind = sess.secrets.forCode().Text(kind) // of a secret that is cut the rest would be none
		unknown := fmt.Errorf("the server answered with a result of the unknown type %.40q", kind)
		return nil, sess.callError(ctx, tool, unknown)
	}
	return answer, nil
}

// finishTask asks for a task until it has ended. When nobody waits for it any more, the server is told.
func (sess *session) finishTask(
	ctx context.Context, tool, what string, answer json.RawMessage,
) (result json.RawMessage, err error) {
	t := &task{session: sess, tool: tool, what: what, answered: map[string]bool{}}
	if t.id = gjson.GetBytes(answer, "taskId").String(); t.id == "" {
		return nil, sess.callError(ctx, tool, errors.New("the server answered with a task that has no ID"))
	}
	if len(t.id) > maxID {
		return nil, sess.callError(ctx, tool, fmt.Errorf("the ID of the server's task has more than %d bytes", maxID))
	}
	if t.limit = cmp.Or(sess.server.config.CallTime, sess.server.pool.opts.CallTimeout); t.limit > 0 {
		t.last = time.Now().Add(maxExtension * t.limit)
	}
	ctx = context.WithValue(ctx, taskKey{}, t.id)
	for was, polled := "", false; ; polled = true {
		now := gjson.ParseBytes(answer)
		state := fmt.Sprint(now.Get("status"), "\x00", now.Get("statusMessage"), "\x00", now.Get("lastUpdatedAt"))
		if state != was { // whatever changes is progress
			t.moves(ctx, now.Get("status").String(), now.Get("statusMessage").String())
		}
		was = state
		switch status := now.Get("status").String(); status {
		case "working":
		case "input_required":
			if err = t.input(ctx, answer); err != nil {
				return nil, t.leave(ctx, err)
			}
		case "completed":
			if result := now.Get("result"); result.IsObject() {
				return json.RawMessage(result.Raw), nil
			}
			if polled { // what begins a task has no result
				err := errors.New("the server says that its task is done, and has no result of it")
				return nil, t.callError(ctx, tool, err)
			}
		case "failed":
			failure := cmp.Or(now.Get("error").Raw, `{"code":-32603,"message":"its task failed"}`)
			return nil, t.callError(ctx, tool, wireError(json.RawMessage(failure)))
		case "cancelled":
			e := t.callError(ctx, tool, fmt.Errorf("the server has cancelled its task: %s",
				cmp.Or(now.Get("statusMessage").String(), "it does not say why")))
			e.Unclear = false
			return nil, e
		default:
			status = t.secrets.forCode().Text(status)
			err = t.callError(ctx, tool, fmt.Errorf("the server's task is %.40q, which no task can be", status))
			return nil, t.leave(ctx, err)
		}
		if err = t.wait(ctx, now.Get("pollIntervalMs")); err == nil {
			answer, err = t.send(ctx, "tasks/get", nil)
		}
		if err != nil {
			return nil, t.leave(ctx, err)
		}
	}
}

// moves says what is told of a task, and that it goes on.
func (t *task) moves(ctx context.Context, status, message string) {
	if t.limit > 0 {
		if t.ends = time.Now().Add(t.limit); t.ends.After(t.last) {
			t.ends = t.last
		}
	}
	goesOn := status == "working" || status == "input_required"
	if p := (Progress{Message: message, Status: status}); goesOn && p != t.shown {
		t.shown = p
		t.calls.told(ctx, p)
	}
}

// wait lets the time pass after which a task is asked for again.
func (t *task) wait(ctx context.Context, said gjson.Result) error {
	pause := usualPoll
	if ms := said.Float(); ms > 0 {
		pause = time.Duration(min(ms, float64(slowestPoll/time.Millisecond)) * float64(time.Millisecond))
	}
	pause = max(pause, fastestPoll)
	if !t.ends.IsZero() {
		left := time.Until(t.ends)
		if left <= 0 {
			return &timeoutError{t.what, t.limit}
		}
		pause = min(pause, left)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ended:
		return errNotSent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send asks the server about its task.
func (t *task) send(ctx context.Context, method string, responses mcp.InputResponseMap) (json.RawMessage, error) {
	what := fmt.Sprintf("%s of server %q", method, t.server.config.Name)
	answer, err := t.round(ctx, t.tool, what, func(ctx context.Context, meta mcp.Meta) error {
		delete(meta, "progressToken") // which no task has
		params := &taskParams{ParamsBase: mcp.ParamsBase{Meta: meta}, ID: t.id, Responses: responses}
		_, err := mcp.CallCustomMethod[*taskParams, *taskResult](ctx, t.client, method, params)
		return err
	})
	if err == nil && method == "tasks/get" && gjson.GetBytes(answer, "taskId").String() != t.id {
		return nil, t.callError(ctx, t.tool, errors.New("the server answered with another task than it was asked for"))
	}
	return answer, err
}

// input answers what a task waits for, each question once. No time passes meanwhile.
func (t *task) input(ctx context.Context, answer json.RawMessage) error {
	over, err := t.calls.waits(len(answer))
	defer over()
	if err != nil {
		return t.callError(ctx, t.tool, err)
	}
	began := time.Now()
	g, err := t.session.input(ctx, answer, t.answered)
	took := time.Since(began)
	t.last = later(t.last, took)
	t.ends = later(t.ends, took)
	if err != nil && ctx.Err() == nil {
		return t.callError(ctx, t.tool, err)
	}
	if err != nil || len(g.responses) == 0 { // they were answered, which the server has not seen yet
		return err
	}
	if t.rounds++; t.rounds > maxRounds {
		return t.callError(ctx, t.tool, fmt.Errorf("the server's task has asked %d times", maxRounds))
	}
	for _, key := range slices.Collect(maps.Keys(g.responses)) {
		t.answered[key] = true
	}
	_, err = t.send(ctx, "tasks/update", g.responses)
	return err
}

func later(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

// leave is the error of a task that is not waited for any more. Unless the session has ended, its server is told; that
// nothing was sent is true of what was sent last, and not of the call.
func (t *task) leave(ctx context.Context, err error) error {
	if errors.Is(err, errNotSent) {
		e := t.callError(ctx, t.tool, errors.New("the server ended while its task was under way"))
		e.Crashed = true
		return e
	}
	var call *CallError
	if errors.As(err, &call) {
		call.Unclear = true // of the task nothing more is known than that it was begun
	}
	t.cancelTask(t.id)
	return err
}

// cancelTask tells the server, unless the session has ended, that nobody waits for a task any more.
func (sess *session) cancelTask(id string) {
	c := sess.calls
	c.update(func(st *callsState) {
		if st.finished || st.broken {
			return
		}
		c.work.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithValue(c.life, taskKey{}, id), stopGrace)
			defer cancel()
			params := &taskParams{ID: id}
			_, err := mcp.CallCustomMethod[*taskParams, *taskResult](ctx, sess.client, "tasks/cancel", params)
			if err != nil {
				sess.server.log.Debug("cancelling a task", "error", sess.secrets.redactor().Error(plainly(err)))
			}
		})
	})
}
