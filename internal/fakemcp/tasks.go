package fakemcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// tasks answers calls of the tool long with tasks (https://modelcontextprotocol.io/extensions/tasks), which go as the
// argument how says.
type tasks struct {
	file string // gets a line for each message about a task

	mu    sync.Mutex
	polls map[string]int    // by task
	told  map[string]string // the answers to its question, by task
	held  json.RawMessage   // the call that is answered late
}

func newTasks(o options) *tasks {
	if o.tasks == "" {
		return nil
	}
	return &tasks{file: o.tasks, polls: map[string]int{}, told: map[string]string{}}
}

// addLong adds the tool; what answers its calls comes before the server.
func addLong(s *mcp.Server) {
	type in struct {
		How string `json:"how" jsonschema:"done, fail, cancel, ask, forever, late, lies, no-id, odd, empty, gone or strange"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "long", Description: "Take long, and answer with a task"},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return say("this call should have been answered with a task"), nil, nil
		})
}

const undeclared = `{"code":-32021,"message":"Missing required client capability"}`

// answer is a result or an error; neither for what is none of its business.
func (t *tasks) answer(m raw) (result, failed string) {
	if t == nil {
		return "", ""
	}
	p := gjson.ParseBytes(m.Params)
	declared := strings.Contains(p.Get("_meta").Raw, `"io.modelcontextprotocol/tasks"`)
	id, how := p.Get("taskId").String(), p.Get("arguments.how").String()
	isCall := m.Method == "tools/call" && p.Get("name").String() == "long"
	if !isCall && !strings.HasPrefix(m.Method, "tasks/") {
		return "", ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(m.Method + " " + id + how)
	switch {
	case isCall && how == "unasked":
		return t.state("task", how, `"status":"working"`), ""
	case !declared:
		return "", undeclared
	case isCall && how == "no-id":
		return `{"resultType":"task","status":"working"}`, ""
	case isCall && how == "strange":
		return `{"resultType":"strange","content":[]}`, ""
	case isCall:
		return t.state("task", how, `"status":"working"`), ""
	case m.Method == "tasks/update":
		t.told[id] = p.Get("inputResponses").Raw
		return `{"resultType":"complete"}`, ""
	case m.Method == "tasks/cancel":
		return `{"resultType":"complete"}`, ""
	}
	return t.poll(id)
}

// late answers a call that goes so when its client has withdrawn it: the answer was under way. mine says whether the
// message is about that.
func (t *tasks) late(m raw) (call json.RawMessage, result string, mine bool) {
	if t == nil {
		return nil, "", false
	}
	p := gjson.ParseBytes(m.Params)
	switch {
	case m.Method == "tools/call" && p.Get("arguments.how").String() == "late":
		t.note("tools/call late")
		t.held = m.ID
		return nil, "", true
	case m.Method == "notifications/cancelled" && t.held != nil && p.Get("requestId").Raw == string(t.held):
		call, t.held = t.held, nil
		return call, t.state("task", "late", `"status":"working"`), true
	}
	return nil, "", false
}

func (t *tasks) poll(id string) (result, failed string) {
	t.polls[id]++
	n := t.polls[id]
	done := func(text string) string {
		quoted, _ := json.Marshal(text)
		return `"status":"completed","result":{"content":[{"type":"text","text":` + string(quoted) + `}],"n":1.0}`
	}
	state := fmt.Sprintf(`"status":"working","statusMessage":"step %d"`, n)
	switch {
	case id == "forever", n < 3:
	case id == "done":
		state = done("at last")
	case id == "fail":
		state = `"status":"failed","error":{"code":-32603,"message":"it broke"}`
	case id == "cancel":
		state = `"status":"cancelled","statusMessage":"too busy"`
	case id == "ask" && t.told[id] == "":
		state = `"status":"input_required","inputRequests":{"form":{"method":"elicitation/create","params":` +
			`{"mode":"form","message":"how old?","requestedSchema":` + string(form) + `}}}`
	case id == "ask":
		state = done(t.told[id])
	case id == "lies":
		id = "another"
	case id == "odd":
		state = `"status":"resting"`
	case id == "empty":
		state = `"status":"completed"`
	case id == "gone":
		return "", `{"code":-32602,"message":"Failed to retrieve task: Task not found"}`
	}
	return t.state("complete", id, state), ""
}

func (t *tasks) state(kind, id, state string) string {
	return fmt.Sprintf(
		`{"resultType":%q,"taskId":%q,%s,"createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z",`+
			`"ttlMs":60000,"pollIntervalMs":10}`, kind, id, state,
	)
}

func (t *tasks) note(line string) {
	if f, err := os.OpenFile(t.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, line)
		f.Close()
	}
}

// before answers over HTTP; a message about a task must say so in a header.
func (t *tasks) before(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m raw
		_ = json.Unmarshal(body, &m)
		result, failed := t.answer(m)
		if id := gjson.GetBytes(m.Params, "taskId").String(); id != "" && r.Header.Get("Mcp-Name") != id {
			failed = `{"code":-32602,"message":"the header Mcp-Name is missing"}`
		}
		if result+failed == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(raw{"2.0", m.ID, "", nil, json.RawMessage(result), json.RawMessage(failed)})
	})
}
