package guest

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestListsAreNotMultiplied has a guest send long lists of what takes more memory in Go than in JSON: what is unknown
// is skipped, and of notes no more is kept than can be shown.
func TestListsAreNotMultiplied(t *testing.T) {
	const entries = 1 << 20
	list := func(entry string) string { return "[" + strings.Repeat(entry+",", entries) + entry + "]" }
	for name, line := range map[string]string{
		"a member":             fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{},"unknown":%s}`, list("{}")),
		"a member of a result": fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"unknown":%s}}`, list("{}")),
		"a member, nested":     fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"unknown":{"a":[%s]}}}`, list(`[{"b":0}]`)),
		"notes":                fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"notes":%s}}`, list(`""`)),
		"notes of a letter":    fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"notes":%s}}`, list(`"a"`)),
	} {
		t.Run(name, func(t *testing.T) {
			given := []byte(line)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := parseMessage(given)
			var r RunResult
			if err == nil {
				err = json.Unmarshal(m.Result, &r)
			}
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("a line of %d bytes took %d more", len(given), took)
			}
			if strings.HasPrefix(name, "notes") != (len(r.Notes) == maxNotes) {
				t.Errorf("%d notes", len(r.Notes))
			}
		})
	}
	var n Notes
	if err := json.Unmarshal([]byte(`{"a":1}`), &n); err == nil {
		t.Error("an object is taken for a list")
	}
	if err := json.Unmarshal([]byte(`["\u00e9","b"]`), &n); err != nil || strings.Join(n, " ") != "é b" {
		t.Errorf("%q, %v", n, err)
	}
}
