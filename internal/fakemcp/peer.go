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
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/tidwall/gjson"
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

// intercept says whether a message has been dealt with.
func (p *peer) intercept(m raw) bool {
	var params struct {
		Name      string          `json:"name"`
		Cursor    string          `json:"cursor"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	o := p.options
	if o.die == m.Method && m.Method != "" {
		die()
	}
	if o.die == "listed" && m.Method == "tools/list" || o.die == "answered" && m.Method == "tools/call" {
		p.mu.Lock()
		p.final = m.ID
		p.mu.Unlock()
	}
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
	switch {
	case m.Method == "" && string(m.ID) == `"asked"`:
		answer, _ := json.Marshal(m)
		p.send(raw{ID: p.asker, Result: textResult(string(answer))})
		return true
	case m.Method == "":
	case m.Method == "initialize" && o.modern:
		p.send(raw{ID: m.ID, Error: json.RawMessage(`{"code":-32601,"message":"Method not found"}`)})
		return true
	case m.Method == o.hang, m.Method == "tools/call" && o.hang == "call":
		return true
	case m.Method == "initialize":
		time.Sleep(o.startDelay)
	case m.Method == "tools/list" && (o.oddNames || o.schemaZoo):
		p.send(raw{ID: m.ID, Result: oddTools(o)})
		return true
	case m.Method == "tools/list" && o.listing != "":
		p.send(raw{ID: m.ID, Result: endless("tools", o.listing, params.Cursor)})
		return true
	case m.Method == "resources/list" && o.endless != "":
		p.send(raw{ID: m.ID, Result: endless("resources", o.endless, params.Cursor)})
		return true
	case m.Method == "resources/read":
		return p.readWrong(m.ID, params.URI)
	case m.Method == "tools/call" && (o.oddNames || o.schemaZoo):
		p.send(raw{ID: m.ID, Result: textResult(fmt.Sprintf("%q %s", params.Name, params.Arguments))})
		return true
	case m.Method == "tools/call" && o.deaf:
		forever()
	case m.Method == "tools/call":
		return p.call(m.ID, params.Name, params.Arguments, params.Meta)
	}
	return false
}

// die is the server's end, as it says on stderr.
func die() {
	fmt.Fprintln(os.Stderr, "fakemcp: crashing as told")
	os.Exit(3)
}

// call plays the tools whose answers the SDK would not send.
func (p *peer) call(id json.RawMessage, tool string, args, meta json.RawMessage) bool {
	switch tool {
	case "meta": // the request's _meta as it came over the wire
		p.send(raw{ID: id, Result: textResult(string(meta))})
	case "crash":
		die()
	case "nan":
		p.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"x":NaN}}}`, id))
	case "verbatim": // answers with its argument "result", byte for byte, result first
		var a struct{ Result string }
		_ = json.Unmarshal(args, &a)
		p.line(fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":%s}`, a.Result, id))
	case "lines": // writes its argument, in base64, before it answers; ID is the call's id, TOKEN that of its progress
		var a struct{ Lines []byte }
		_ = json.Unmarshal(args, &a)
		token := []byte(gjson.GetBytes(meta, "progressToken").Raw)
		p.line(string(bytes.ReplaceAll(bytes.ReplaceAll(a.Lines, []byte("TOKEN"), token), []byte("ID"), id)))
		p.send(raw{ID: id, Result: textResult("done")})
	case "spell_path": // tells of its argument by progress, and answers with it in escapes
		var a text
		_ = json.Unmarshal(args, &a)
		written, _ := json.Marshal(a.Message)
		var escaped strings.Builder
		for _, unit := range utf16.Encode([]rune(a.Message)) {
			fmt.Fprintf(&escaped, `\u%04X`, unit)
		}
		within, _ := json.Marshal(`{"path": "` + strings.ToLower(escaped.String()) + `"}`)
		p.send(raw{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(
			`{"progressToken":%s,"progress":1,"message":%s}`, gjson.GetBytes(meta, "progressToken").Raw, written))})
		p.line(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"},{"type":"text","text":%s}],`+
				`"structuredContent":{"%[2]s":1.50}}}`, id, escaped.String(), within))
	case "request": // sends a request, whatever the client has said, and answers with the answer
		var a raw
		_ = json.Unmarshal(args, &a)
		p.asker = id
		p.send(raw{ID: json.RawMessage(`"asked"`), Method: a.Method, Params: a.Params})
	case "refuse":
		p.send(
			raw{ID: id, Error: json.RawMessage(`{"code":-32042,"message":"no such luck","data":{"why":["a",1.50]}}`)},
		)
	case "open_first": // refuses until its user has opened a URL, which it says soon, unless how is never
		var a struct{ How string }
		_ = json.Unmarshal(args, &a)
		if p.opened {
			p.send(raw{ID: id, Result: textResult("done at last")})
			return true
		}
		p.opened = a.How == ""
		p.send(raw{ID: id, Error: json.RawMessage(`{"code":-32042,"message":"sign in first","data":{"elicitations":[` +
			`{"mode":"url","message":"There:","url":"https://fake.example/","elicitationId":"8"}]}}`)})
		if p.opened {
			done := json.RawMessage(`{"elicitationId":"8"}`)
			time.AfterFunc(200*time.Millisecond, func() {
				p.send(raw{Method: "notifications/elicitation/complete", Params: done})
			})
		}
	case "arguments": // the arguments as they came over the wire
		p.send(raw{ID: id, Result: textResult(string(args))})
	case "steps": // 10 times 50 ms, with progress
		token := gjson.GetBytes(meta, "progressToken").Raw
		go func() {
			for i := range 10 {
				time.Sleep(50 * time.Millisecond)
				p.send(raw{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(
					`{"progressToken":%s,"progress":%d,"total":10}`, token, i+1))})
			}
			p.send(raw{ID: id, Result: textResult("done")})
		}()
	case "large": // answers with 5 MiB, one call after the other
		p.line(
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`,
				id,
				strings.Repeat("x", 5<<20),
			),
		)
	case "nag": // asks without end, and reads no answer
		for i := 1; ; i++ {
			p.send(raw{ID: json.RawMessage(fmt.Sprint(i)), Method: "ping"})
		}
	case "flood": // writes without a line end and without end
		flood(os.Stdout)
	case "eof": // closes stdout and stays
		os.Stdout.Close()
	default:
		return p.options.wrong && p.wrong(id, tool)
	}
	return true
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
