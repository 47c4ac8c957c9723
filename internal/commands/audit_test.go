package commands

import (
	"encoding/json"
	"strings"
	"testing"

	"codemode/internal/audit"
)

// TestAuditNames holds that a name that is none as others is seen to be, and that one that is missing stays so.
func TestAuditNames(t *testing.T) {
	for _, c := range []struct {
		record audit.Record
		want   string
	}{
		{audit.Record{Event: audit.Called, Server: "fs", Tool: "read.file"}, "fs read.file"},
		{audit.Record{Event: audit.Called, Server: "fs", Tool: "DELETE_\u212a"}, `fs "DELETE_\u212a"`}, // the sign of Kelvin
		{audit.Record{Event: audit.Sending, Server: "dеl", Tool: ""}, `"dеl" ""`},
		{audit.Record{Event: audit.Called}, " "},
		{audit.Record{Event: audit.Asked, Server: "one, two", Tool: "packages/add"}, "one, two packages/add"},
	} {
		row := sheet{}.auditRow(c.record)
		if got := row[2].text + " " + row[3].text; got != c.want {
			t.Errorf("%+v is listed as %s, want %s", c.record, got, c.want)
		}
	}
}

// TestPrintLines holds that a tool's name moves no cursor and turns no line around, and that a reader of JSON gets it.
func TestPrintLines(t *testing.T) {
	want := audit.Record{Event: audit.Called, Tool: "del\u009b2J\u202egpj.\u2066x\U000e0041é \"q\" \u2028\x1b[0m"}
	line, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printLines(&out, []noted{{want, string(line)}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\u009b\u202e\u2066\U000e0041\u2028\x1b") ||
		!strings.Contains(out.String(), "é") {
		t.Errorf("it prints %q", out.String())
	}
	var got audit.Record
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got != want {
		t.Errorf("it reads %+v, %v", got, err)
	}
}
