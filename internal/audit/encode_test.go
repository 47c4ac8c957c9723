package audit

import (
	"encoding/json"
	"testing"
	"time"
)

// TestEncode holds the encoder against encoding/json, whose lines it writes.
func TestEncode(t *testing.T) {
	odd := "a\"b\\c<d>&\x00\x1b\u2028é\xff\u009b"
	at := time.Date(2026, 11, 21, 22, 5, 9, 120_000_000, time.UTC)
	for _, r := range []Record{
		{},
		{Time: at, Event: RunBegins, Run: "r", Code: "00ff"},
		{Time: at, Event: Called, Run: "r", Session: "s", Tenant: "t", Client: "c 1.0", Call: 1, Server: "v", Tool: "w", Rule: "deny:*.x", Outcome: "ok", MS: 0.001, Sent: 2, Received: 1 << 40, Hash: "ff", Arguments: `{"a":"<b>"}`, Note: "n"},
		{Time: at.In(time.FixedZone("", 3600)), Event: Called, Run: odd, Session: odd, Client: odd, Server: odd, Tool: odd, Note: odd, MS: 123456789.125, Sent: -1},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendLine(nil, &r); string(got) != string(want)+"\n" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
