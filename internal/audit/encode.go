package audit

import (
	"encoding/json"
	"strconv"
	"time"
)

// appendLine appends a record's line. It writes what encoding/json would: every call waits for its line, and reflection
// is half of what making one takes.
func appendLine(b []byte, r *Record) []byte {
	b = append(b, `{"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","event":`...)
	b = appendText(b, string(r.Event))
	b = append(b, `,"run":`...)
	b = appendText(b, r.Run)
	b = appendMember(b, "session", r.Session)
	b = appendMember(b, "tenant", r.Tenant)
	b = appendMember(b, "client", r.Client)
	b = appendMember(b, "code", r.Code)
	b = appendNumber(b, "call", r.Call)
	b = appendMember(b, "server", r.Server)
	b = appendMember(b, "tool", r.Tool)
	b = appendMember(b, "rule", r.Rule)
	b = appendMember(b, "outcome", r.Outcome)
	if r.MS != 0 {
		b = strconv.AppendFloat(append(b, `,"ms":`...), r.MS, 'f', -1, 64)
	}
	b = appendNumber(b, "sent", r.Sent)
	b = appendNumber(b, "received", r.Received)
	b = appendMember(b, "hash", r.Hash)
	b = appendMember(b, "arguments", r.Arguments)
	b = appendMember(b, "note", r.Note)
	return append(b, '}', '\n')
}

// appendMember appends a text, unless it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(appendName(b, name), text)
}

// appendNumber appends a number, unless it is 0.
func appendNumber(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), int64(n), 10)
}

func appendName(b []byte, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendText leaves to encoding/json what has more than letters, digits and harmless signs.
func appendText(b []byte, text string) []byte {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a text never fails
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
