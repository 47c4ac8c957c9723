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

// messageReader reads the messages of a client's stream. Lines that are none are skipped: what can be answered is
// answered, the rest is logged.
type messageReader struct {
	lines   *bufio.Reader
	answers io.Writer // gets one message for each Write
	log     *slog.Logger

	batches bool // the client speaks a revision of MCP that has batches
	skipped int
}

const (
	maxMessage = 64 << 20     // bytes of a line, and with it of an argument
	noBatches  = "2025-06-18" // the revision of MCP that took batches away; 2025-03-26 has them
	maxSkipped = 20           // lines that are logged one by one
	shownLine  = 200          // bytes of a line in the log
)

func newMessageReader(in io.Reader, answers io.Writer, log *slog.Logger) *messageReader {
	return &messageReader{lines: bufio.NewReaderSize(in, 64<<10), answers: answers, log: log}
}

// next returns the messages of the next line that has some, and whether they are a batch; an error when there is none.
func (r *messageReader) next() (messages []jsonrpc.Message, batch bool, err error) {
	for {
		line, cut, err := r.line()
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case cut:
			r.refuse(line, jsonrpc.CodeInvalidRequest, fmt.Errorf("a message of more than %d bytes", maxMessage))
		default:
			messages, batch, bad := r.decode(line)
			if bad == nil {
				return messages, batch, nil
			}
			if err == nil { // what the end has cut short needs no answer
				r.refuse(line, bad.code, bad)
			}
		}
		if err != nil {
			return nil, false, err
		}
	}
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

// notMessage is why a line is no message, and the code of JSON-RPC for it.
type notMessage struct {
	error
	code int
}

func invalid(err error) *notMessage { return &notMessage{err, jsonrpc.CodeInvalidRequest} }

// decode returns the message of a line, or those of a batch.
func (r *messageReader) decode(line []byte) (messages []jsonrpc.Message, batch bool, bad *notMessage) {
	if !json.Valid(line) {
		return nil, false, &notMessage{errors.New("it is not JSON"), jsonrpc.CodeParseError}
	}
	var parts []json.RawMessage
	switch batch = bytes.TrimSpace(line)[0] == '['; {
	case !batch:
		parts = append(parts, line)
	case !r.batches:
		return nil, false, invalid(fmt.Errorf("MCP has no batches since revision %s", noBatches))
	default:
		if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 {
			return nil, false, invalid(errors.New("the batch is empty"))
		}
	}
	seen := map[jsonrpc.ID]bool{}
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			return nil, false, invalid(err)
		}
		messages = append(messages, m)
		req, ok := m.(*jsonrpc.Request)
		if !ok || !req.ID.IsValid() {
			continue
		}
		if seen[req.ID] {
			return nil, false, invalid(errors.New("two requests of the batch have one id"))
		}
		seen[req.ID] = true
		if req.Method == "initialize" {
			r.batches = gjson.GetBytes(req.Params, "protocolVersion").String() < noBatches
		}
	}
	return messages, batch, nil
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
