package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"codemode/internal/visible"
)

// messageReader is a client's stream without the lines that are no JSON-RPC message: the SDK ends a session over one,
// and a banner of some wrapper script would cost a user all sessions. What can be answered is answered, the rest is
// logged.
type messageReader struct {
	io.Closer
	lines   *bufio.Reader
	answers io.Writer // gets one message for each Write
	asked   *inFlight // is told of each request
	ended   func()    // called when nothing more will come
	log     *slog.Logger

	rest    []byte // of a message that is being read
	batches bool   // the client speaks a revision of MCP that has batches
	skipped int
}

const (
	maxMessage = 64 << 20     // bytes of a line, and with it of an argument
	noBatches  = "2025-06-18" // the revision of MCP that took batches away; 2025-03-26 has them
	maxSkipped = 20           // lines that are logged one by one
	shownLine  = 200          // bytes of a line in the log
)

func newMessageReader(
	in io.ReadCloser, answers io.Writer, asked *inFlight, ended func(), log *slog.Logger,
) *messageReader {
	return &messageReader{
		Closer: in, lines: bufio.NewReaderSize(in, 64<<10), answers: answers, asked: asked, ended: ended, log: log,
	}
}

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, cut, err := r.line()
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case cut:
			r.refuse(line, jsonrpc.CodeInvalidRequest, fmt.Errorf("a message of more than %d bytes", maxMessage))
		default:
			if code, bad := r.check(line); bad == nil {
				r.asked.asks(line)
				r.rest = line
			} else if err == nil { // what the end has cut short needs no answer
				r.refuse(line, code, bad)
			}
		}
		if err != nil && len(r.rest) == 0 {
			r.ended()
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line reads a line with its end. Of one that is too long, cut, it is the beginning.
func (r *messageReader) line() (line []byte, cut bool, err error) {
	for {
		piece, err := r.lines.ReadSlice('\n')
		if len(line)+len(piece) <= maxMessage {
			line = append(line, piece...)
		} else {
			cut = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, cut, err
		}
	}
}

// check says what keeps a line from being a message, or the messages of a batch.
func (r *messageReader) check(line []byte) (code int, err error) {
	if !json.Valid(line) {
		return jsonrpc.CodeParseError, errors.New("it is not JSON")
	}
	var messages []json.RawMessage
	if bytes.TrimSpace(line)[0] != '[' {
		messages = append(messages, line)
	} else {
		if !r.batches {
			return jsonrpc.CodeInvalidRequest, fmt.Errorf("MCP has no batches since revision %s", noBatches)
		}
		if err := json.Unmarshal(line, &messages); err != nil || len(messages) == 0 {
			return jsonrpc.CodeInvalidRequest, errors.New("the batch is empty")
		}
	}
	seen := map[jsonrpc.ID]bool{}
	for _, m := range messages {
		message, err := jsonrpc.DecodeMessage(m)
		if err != nil {
			return jsonrpc.CodeInvalidRequest, err
		}
		request, ok := message.(*jsonrpc.Request)
		if !ok || !request.ID.IsValid() {
			continue
		}
		if seen[request.ID] {
			return jsonrpc.CodeInvalidRequest, errors.New("two requests of the batch have one id")
		}
		seen[request.ID] = true
		if request.Method == "initialize" {
			r.batches = gjson.GetBytes(request.Params, "protocolVersion").String() < noBatches
		}
	}
	return 0, nil
}

// refuse answers the requests of a line, as far as their ids can be told, and logs it.
func (r *messageReader) refuse(line []byte, code int, why error) {
	if r.skipped++; r.skipped <= maxSkipped {
		r.log.Warn("client sent something that is not JSON-RPC, which was skipped",
			"line", visible.Clip(string(bytes.TrimSpace(line[:min(len(line), shownLine)])), shownLine), "error", why)
	}
	ids := []gjson.Result{gjson.GetBytes(line, "id")}
	if requests := gjson.ParseBytes(line); requests.IsArray() && json.Valid(line) {
		ids = requests.Get("#.id").Array()
	}
	for _, id := range ids {
		if id.Type != gjson.Number && id.Type != gjson.String || !json.Valid([]byte(id.Raw)) {
			continue
		}
		answer, _ := json.Marshal(map[string]any{ // of valid JSON and texts
			"jsonrpc": "2.0", "id": json.RawMessage(id.Raw),
			"error": map[string]any{"code": code, "message": "the message was skipped: " + why.Error()},
		})
		if _, err := r.answers.Write(append(answer, '\n')); err != nil {
			r.log.Debug("answering what is not JSON-RPC", "error", err)
		}
	}
}
