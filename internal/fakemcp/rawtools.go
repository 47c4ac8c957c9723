package fakemcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/tidwall/gjson"
)

// rawCall is a call of a tool whose answer the SDK would not send: the request's id, arguments and _meta as they came.
type rawCall struct{ id, args, meta json.RawMessage }

// progressToken is the call's progressToken, as JSON.
func (c rawCall) progressToken() string { return gjson.GetBytes(c.meta, "progressToken").Raw }

// rawTools are the tools whose answers the SDK would not send, but for [wrongTools].
var rawTools = map[string]func(*peer, rawCall){
	// The request's _meta and arguments as they came over the wire.
	"meta":      func(p *peer, c rawCall) { p.send(raw{ID: c.id, Result: textResult(string(c.meta))}) },
	"arguments": func(p *peer, c rawCall) { p.send(raw{ID: c.id, Result: textResult(string(c.args))}) },

	"crash": func(*peer, rawCall) { die() },
	"flood": func(*peer, rawCall) { flood(os.Stdout) }, // without a line end and without end
	"eof":   func(*peer, rawCall) { os.Stdout.Close() },
	"nag": func(p *peer, _ rawCall) { // asks without end, and reads no answer
		for i := 1; ; i++ {
			p.send(raw{ID: json.RawMessage(fmt.Sprint(i)), Method: "ping"})
		}
	},
	"unasked": (*peer).unasked,

	"nan": func(p *peer, c rawCall) {
		p.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"x":NaN}}}`, c.id))
	},
	"large": func(p *peer, c rawCall) { // 5 MiB, one call after the other
		const answer = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`
		p.line(fmt.Sprintf(answer, c.id, strings.Repeat("x", 5<<20)))
	},
	"unended": func(p *peer, c rawCall) { // the first 2 MiB of an answer, and never again anything
		p.mu.Lock()
		fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":%s,"result":{"x":"%s`, c.id, strings.Repeat("x", 2<<20))
	},
	"refuse": func(p *peer, c rawCall) {
		refusal := `{"code":-32042,"message":"no such luck","data":{"why":["a",1.50]}}`
		p.send(raw{ID: c.id, Error: json.RawMessage(refusal)})
	},

	"verbatim":   (*peer).verbatim,
	"lines":      (*peer).lines,
	"spell_path": (*peer).spellPath,
	"request":    (*peer).request,
	"open_first": (*peer).openFirst,
}

// call plays a tool whose answer the SDK would not send, and says whether it is one.
func (p *peer) call(tool string, c rawCall) bool {
	if play, ok := rawTools[tool]; ok {
		play(p, c)
		return true
	}
	return p.options.wrong && p.wrong(c.id, tool)
}

// notices are what the tool unasked says, by its argument.
var notices = map[string]string{
	"log":      `"notifications/message","params":{"level":"info","data":"x"}`,
	"lists":    `"notifications/message","params":{"level":"info","data":[%lists[]]}`, // 600 kB
	"progress": `"notifications/progress","params":{"progressToken":%s,"progress":1}`,
	"none":     `"notifications/none"`,
	"tools":    `"notifications/tools/list_changed"`,
	"updated":  `"notifications/resources/updated","params":{"uri":"fake://text"}`,
	"ping":     `"ping","id":"x"`,
}

// unasked says the same without end, until a call is cancelled: as fast as it can, or once in so many milliseconds.
func (p *peer) unasked(c rawCall) {
	var a struct {
		What  string
		Every time.Duration // in milliseconds
	}
	_ = json.Unmarshal(c.args, &a)
	notice := `{"jsonrpc":"2.0","method":` + strings.Replace(notices[a.What], "%s", c.progressToken(), 1) + "}\n"
	notice = strings.Replace(notice, "%lists", strings.Repeat("[],", 200_000), 1)
	many := strings.TrimSuffix(strings.Repeat(notice, max(1, 50_000/len(notice))), "\n")
	if a.Every > 0 {
		many = strings.TrimSuffix(notice, "\n")
	}
	p.quiet.Store(false)
	go func() {
		for !p.quiet.Load() {
			p.line(many)
			<-time.After(a.Every * time.Millisecond)
		}
	}()
}

// verbatim answers with its argument "result", byte for byte, result first.
func (p *peer) verbatim(c rawCall) {
	var a struct{ Result string }
	_ = json.Unmarshal(c.args, &a)
	p.line(fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":%s}`, a.Result, c.id))
}

// lines writes its argument, in base64, before it answers; ID is the call's id, TOKEN that of its progress. See joined.
func (p *peer) lines(c rawCall) {
	var a struct{ Lines []byte }
	_ = json.Unmarshal(c.args, &a)
	written := bytes.ReplaceAll([]byte(joined(string(a.Lines))), []byte("TOKEN"), []byte(c.progressToken()))
	p.line(string(bytes.ReplaceAll(written, []byte("ID"), c.id)))
	p.send(raw{ID: c.id, Result: textResult("done")})
}

// spellPath tells of its argument by progress, and answers with it in escapes.
func (p *peer) spellPath(c rawCall) {
	var a text
	_ = json.Unmarshal(c.args, &a)
	written, _ := json.Marshal(a.Message)
	var escaped strings.Builder
	for _, unit := range utf16.Encode([]rune(a.Message)) {
		fmt.Fprintf(&escaped, `\u%04X`, unit)
	}
	within, _ := json.Marshal(`{"path": "` + strings.ToLower(escaped.String()) + `"}`)
	p.send(raw{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(
		`{"progressToken":%s,"progress":1,"message":%s}`, c.progressToken(), written))})
	p.line(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"},{"type":"text","text":%s}],`+
			`"structuredContent":{"%[2]s":1.50}}}`, c.id, escaped.String(), within))
}

// request sends a request, whatever the client has said, and answers with the answer.
func (p *peer) request(c rawCall) {
	var a raw
	_ = json.Unmarshal(c.args, &a)
	p.asker = c.id
	p.send(raw{ID: json.RawMessage(`"asked"`), Method: a.Method, Params: a.Params})
}

// openFirst refuses until its user has opened a URL, which it says soon, unless how is never.
func (p *peer) openFirst(c rawCall) {
	var a struct{ How string }
	_ = json.Unmarshal(c.args, &a)
	if p.opened {
		p.send(raw{ID: c.id, Result: textResult("done at last")})
		return
	}
	p.opened = a.How == ""
	p.send(raw{ID: c.id, Error: json.RawMessage(`{"code":-32042,"message":"sign in first","data":{"elicitations":[` +
		`{"mode":"url","message":"There:","url":"https://fake.example/","elicitationId":"8"}]}}`)})
	if p.opened {
		done := json.RawMessage(`{"elicitationId":"8"}`)
		time.AfterFunc(200*time.Millisecond, func() {
			p.send(raw{Method: "notifications/elicitation/complete", Params: done})
		})
	}
}
