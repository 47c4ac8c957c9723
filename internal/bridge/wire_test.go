package bridge

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/audit"
	"codemode/internal/config"
)

// TestCountsWhatIsSent has a server refuse a call until its user has opened a URL: what goes out then is one more call,
// for the policy, the receipt and the log.
func TestCountsWhatIsSent(t *testing.T) {
	for limit, want := range map[int]struct {
		tally Tally
		says  string
		lines string
	}{
		0: {Tally{OK: 1, Failed: 1}, "done at last", "[call 1 failed call 2 ok sending 1  sending 2 ]"},
		2: {Tally{OK: 1, Failed: 1}, "done at last", "[call 1 failed call 2 ok sending 1  sending 2 ]"},
		1: {
			Tally{Failed: 1, Denied: 1},
			"PolicyError policy denies far.open_first: the run has made 1 calls",
			"[call 0 denied call 1 failed sending 1 ]",
		},
	} {
		dir := t.TempDir()
		k := newKit(t, func(o *Options) {
			o.AuditDir, o.Config.Audit = dir, config.Audit{MaxSize: 1 << 20, Keep: 2}
			o.Config.Policy.Rules.CallsPerRun = limit
		}, fake("far", "-asks"))
		out := k.run(Request{
			Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			Respond: func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
			Code: `
try: print(await mcp_far.open_first())
except Exception as error: print(type(error).__name__, error)
`,
		})
		contains(t, string(out.Stdout.Head)+out.Error, want.says)
		if got := out.Receipt.ByTool["far.open_first"]; got != want.tally {
			t.Errorf("limit %d: the receipt has %+v", limit, got)
		}
		k.Close()
		var lines []string
		if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
			if r.Tool == "open_first" {
				lines = append(lines, fmt.Sprint(r.Event, " ", r.Call, " ", r.Outcome))
			}
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		if got := fmt.Sprint(lines); got != want.lines {
			t.Errorf("limit %d: the log has %s, want %s", limit, got, want.lines)
		}
	}
}
