package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// toolCall is one call that a model makes: of an MCP server's tool, as the client names it.
type toolCall struct {
	server, tool string
	arguments    map[string]any
}

// model is a model on loopback that speaks as Anthropic's service does: it makes the calls of one task, turn by turn,
// and keeps what the client has sent it last.
type model struct {
	turns [][]toolCall // those of one turn are made at once

	mu   sync.Mutex
	last request
}

// request is what a client sends a model.
type request struct {
	Stream   bool
	Model    string
	System   json.RawMessage
	Tools    []json.RawMessage
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// block is a part of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
}

func (r request) blocks() (all []block) {
	for _, m := range r.Messages {
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) == nil {
			all = append(all, blocks...)
		}
	}
	return all
}

// tools are the definitions of MCP servers' tools, and their names.
func (r request) tools() (definitions []string, names map[string]bool) {
	names = map[string]bool{}
	for _, raw := range r.Tools {
		var t struct{ Name string }
		if json.Unmarshal(raw, &t) == nil && strings.HasPrefix(t.Name, "mcp__") {
			definitions, names[t.Name] = append(definitions, string(raw)), true
		}
	}
	return definitions, names
}

// serve answers on loopback until its listener is closed.
func (m *model) serve() (address string, closed func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: m}
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("content-type", "application/json")
	var req request
	if !strings.HasSuffix(r.URL.Path, "/messages") || json.Unmarshal(body, &req) != nil {
		fmt.Fprint(w, `{"input_tokens":10,"data":[]}`)
		return
	}
	blocks := m.next(req)
	stop := "end_turn"
	if blocks[0].Type == "tool_use" {
		stop = "tool_use"
	}
	message := map[string]any{
		"id": "m", "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 9, "output_tokens": 1},
	}
	if !req.Stream {
		message["content"], message["stop_reason"] = blocks, stop
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("content-type", "text/event-stream")
	event := func(kind string, more map[string]any) {
		more["type"] = kind
		data, _ := json.Marshal(more)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	event("message_start", map[string]any{"message": message})
	for i, b := range blocks {
		start := map[string]any{"type": b.Type, "text": ""}
		delta := map[string]any{"type": "text_delta", "text": b.Text}
		if b.Type == "tool_use" {
			start = map[string]any{"type": b.Type, "id": b.ID, "name": b.Name, "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(b.Input)}
		}
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		event("content_block_delta", map[string]any{"index": i, "delta": delta})
		event("content_block_stop", map[string]any{"index": i})
	}
	event(
		"message_delta",
		map[string]any{
			"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
			"usage": map[string]int{"output_tokens": 5},
		},
	)
	event("message_stop", map[string]any{})
}

// next is the model's answer: the calls of the turn that is due, where the client offers their tools.
func (m *model) next(req request) []block {
	definitions, names := req.tools()
	done := []block{{Type: "text", Text: "done"}}
	if len(definitions) == 0 {
		return done
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = req
	turn := 0
	for _, b := range req.blocks() {
		if b.Type == "tool_use" && strings.HasSuffix(b.ID, "_0") {
			turn++
		}
	}
	if turn >= len(m.turns) {
		return done
	}
	var blocks []block
	for i, c := range m.turns[turn] {
		name := "mcp__" + c.server + "__" + c.tool
		if !names[name] {
			return []block{{Type: "text", Text: "there is no tool " + name}}
		}
		input, _ := json.Marshal(c.arguments)
		blocks = append(blocks, block{Type: "tool_use", ID: fmt.Sprintf("t%d_%d", turn, i), Name: name, Input: input})
	}
	return blocks
}
