package fakemcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// peer sits between the streams and the SDK's server, and does what that would not.
type peer struct {
	options options
	toSDK   *io.PipeWriter
	tasks   *tasks

	mu     sync.Mutex // one line at a time
	out    io.Writer
	final  json.RawMessage // the id whose answer is the last thing it does
	opened bool            // its user was sent to a URL; for the reader alone
	asker  json.RawMessage // the id of the call that gets the answer to what request has asked
	quiet  atomic.Bool     // says nothing without end any more
}

// read hands on the client's messages, except those it answers, loses or dies of itself.
func (p *peer) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 1<<16)
	for first := true; ; first = false {
		line, err := r.ReadBytes('\n')
		if err != nil {
			p.toSDK.CloseWithError(io.EOF)
			return
		}
		var m raw
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "fakemcp: not a message:", err)
			continue
		}
		if first && p.options.onlyInit && m.Method != "initialize" {
			os.Exit(7)
		}
		if p.options.stripNames && m.Method == "tools/call" {
			line = stripped(m)
		}
		if p.intercept(m) {
			continue
		}
		if _, err := p.toSDK.Write(line); err != nil {
			return
		}
		if m.Method == "notifications/initialized" && p.options.listChanged {
			p.send(raw{Method: "notifications/tools/list_changed"})
		}
	}
}

// stripped is a call as a careless server reads it: white space is what Python's strip and JavaScript's trim take for
// it.
func stripped(m raw) []byte {
	var params map[string]json.RawMessage
	var name string
	_ = json.Unmarshal(m.Params, &params)
	_ = json.Unmarshal(params["name"], &name)
	name = strings.ToLower(strings.TrimFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f || r == 0xfeff || r == 0
	}))
	params["name"], _ = json.Marshal(name)
	m.Params, _ = json.Marshal(params)
	line, _ := json.Marshal(m)
	return append(line, '\n')
}

// request is what intercept looks at of a message's params.
type request struct {
	Name      string          `json:"name"`
	Cursor    string          `json:"cursor"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      json.RawMessage `json:"_meta"`
}

// intercept says whether a message has been dealt with.
func (p *peer) intercept(m raw) bool {
	p.dieAt(m)
	if call, result, mine := p.tasks.late(m); mine {
		if call != nil {
			p.send(raw{ID: call, Result: json.RawMessage(result)})
		}
		return true
	}
	if result, failed := p.tasks.answer(m); result+failed != "" {
		p.send(raw{ID: m.ID, Result: json.RawMessage(result), Error: json.RawMessage(failed)})
		return true
	}
	if m.Method == "" {
		return p.answered(m)
	}
	var params request
	_ = json.Unmarshal(m.Params, &params)
	o := p.options
	switch {
	case m.Method == "initialize" && o.modern:
		p.send(raw{ID: m.ID, Error: json.RawMessage(`{"code":-32601,"message":"Method not found"}`)})
		return true
	case m.Method == "notifications/cancelled":
		p.quiet.Store(true)
	case m.Method == o.hang, m.Method == "tools/call" && o.hang == "call":
		return true
	case m.Method == "initialize":
		time.Sleep(o.startDelay)
	case m.Method == "resources/read":
		return p.readWrong(m.ID, params.URI)
	case m.Method == "tools/call" && (o.oddNames || o.schemaZoo):
		p.send(raw{ID: m.ID, Result: textResult(fmt.Sprintf("%q %s", params.Name, params.Arguments))})
		return true
	case m.Method == "tools/call" && o.deaf:
		forever()
	case m.Method == "tools/call":
		return p.call(params.Name, rawCall{m.ID, params.Arguments, params.Meta})
	}
	return p.list(m, params.Cursor)
}

// dieAt ends the server at the step that -die names: now, or with the answer to this message.
func (p *peer) dieAt(m raw) {
	step := p.options.die
	if step == m.Method && m.Method != "" {
		die()
	}
	if step == "listed" && m.Method == "tools/list" || step == "answered" && m.Method == "tools/call" {
		p.mu.Lock()
		p.final = m.ID
		p.mu.Unlock()
	}
}

// answered takes the client's answer to what the tool request has asked.
func (p *peer) answered(m raw) bool {
	if string(m.ID) != `"asked"` {
		return false
	}
	answer, _ := json.Marshal(m)
	p.send(raw{ID: p.asker, Result: textResult(string(answer))})
	return true
}

// list answers with lists that the SDK would not send.
func (p *peer) list(m raw, cursor string) bool {
	o := p.options
	switch {
	case m.Method == "tools/list" && (o.oddNames || o.schemaZoo):
		p.send(raw{ID: m.ID, Result: oddTools(o)})
	case m.Method == "tools/list" && o.listing != "":
		p.send(raw{ID: m.ID, Result: endless("tools", o.listing, cursor)})
	case m.Method == "resources/list" && o.endless != "":
		p.send(raw{ID: m.ID, Result: endless("resources", o.endless, cursor)})
	default:
		return false
	}
	return true
}

// die is the server's end, as it says on stderr.
func die() {
	fmt.Fprintln(os.Stderr, "fakemcp: crashing as told")
	os.Exit(3)
}

// readWrong plays the resources that the SDK would not answer so.
func (p *peer) readWrong(id json.RawMessage, uri string) bool {
	what, rest, _ := strings.Cut(strings.TrimPrefix(uri, "wrong://"), "/")
	switch {
	case !strings.HasPrefix(uri, "wrong://"):
		return false
	case what == "crash":
		die()
	case what == "hang":
	case what == "refuse":
		words, _ := json.Marshal(os.ExpandEnv("no such luck with " + rest))
		refusal := `{"code":-32002,"message":` + string(words) + `,"data":{"uri":1.50}}`
		p.send(raw{ID: id, Error: json.RawMessage(refusal)})
	case what == "verbatim": // answers with the rest, byte for byte
		p.line(fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":%s}`, rest, id))
	}
	return true
}

// wrong answers a call as JSON-RPC forbids. Where the answer is to nothing that was asked, none follows.
func (p *peer) wrong(id json.RawMessage, tool string) bool {
	answer := func(id, result string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}` }
	right := string(textResult(tool))
	switch tool {
	case "twice":
		p.line(answer(string(id), right) + "\n" + answer(string(id), right))
	case "wrong_id":
		p.line(answer(string(id)+"000", right))
	case "text_id":
		p.line(answer(`"`+string(id)+`"`, right))
	case "list_result":
		p.line(answer(string(id), `["no object"]`))
	case "half":
		p.mu.Lock()
		whole := answer(string(id), right)
		fmt.Fprint(p.out, whole[:len(whole)/2])
		die()
	default:
		return false
	}
	return true
}

func textResult(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
	return b
}

func (p *peer) send(m raw) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	p.line(string(b))
}

func (p *peer) line(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, s)
}

// Write takes the SDK's messages, each whole.
func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.options.garbage {
		fmt.Fprint(
			p.out,
			"\n",
			"WARN something happened\n",
			`{"level":"info","msg":"structured log"}`,
			"\n",
			"[1,2,3]\n",
			`"text"`,
			"\n",
			`{"jsonrpc":"2.0","id":99999,"result":{}}`,
			"\n",
			strings.Repeat("[", 3000),
			"\n",
			"\x00\xff\xfe\n",
		)
	}
	if _, err := p.out.Write(bytes.TrimRight(b, "\n")); err != nil {
		return 0, err
	}
	_, err := io.WriteString(p.out, "\n")
	var m raw
	if p.final != nil && json.Unmarshal(b, &m) == nil && bytes.Equal(m.ID, p.final) {
		die()
	}
	return len(b), err
}

// Close is called by the SDK when the session ends.
func (p *peer) Close() error { return nil }
