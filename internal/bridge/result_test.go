package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func text(s string) Text { return Text{Head: []byte(s), Total: int64(len(s))} }

func TestCompact(t *testing.T) {
	for _, c := range []struct {
		name       string
		out        Outcome
		text       string
		structured string
	}{
		{"nothing", Outcome{Status: StatusSuccess}, "success", `{"status":"success","summary":"success"}`},
		{
			"output",
			Outcome{Status: StatusSuccess, Stdout: text("\n  a\n\n()\n")},
			"\n  a\n\n()", `{"stdout":["","  a","","()"]}`,
		},
		{
			"a note of several lines",
			Outcome{Status: StatusSuccess, Notes: []string{"thread x\nnote: y still running"}},
			`note: thread x\nnote: y still running`,
			`{"status":"success","summary":"success","notes":["thread x\\nnote: y still running"]}`,
		},
		{"no newline", Outcome{Status: StatusSuccess, Stdout: text("a")}, "a", `{"stdout":["a"]}`},
		{
			"value",
			Outcome{Status: StatusSuccess, Repr: "{'a': 1}", Value: json.RawMessage(`{"a":1}`)},
			"result: {'a': 1}", `{"result":{"a":1}}`,
		},
		{"a value that is no JSON", Outcome{Status: StatusSuccess, Repr: "<x>"}, "result: <x>", `{"result":"<x>"}`},
		{
			"everything",
			Outcome{
				Status: StatusTimeout, ExitCode: 124, Stdout: text("out\n"), Stderr: text("err\n"), Error: "timeout after 2 s",
				Timeout: 2 * time.Second, Notes: []string{"task left"}, Session: "s", Servers: []string{"github"},
			},
			"status: timeout\nexit: 124\nout\nstderr:\nerr\nerror: timeout after 2 s\nnote: task left",
			`{"status":"timeout","summary":"timeout after 2 s","exitCode":124,"servers":["github"],"stdout":["out"],"stderr":["err"],` +
				`"error":"timeout after 2 s","timeoutSeconds":2,"notes":["task left"],"session":"s"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, payload := c.out.Reply("compact")
			if got != c.text {
				t.Errorf("text:\n%q, want\n%q", got, c.text)
			}
			if got := string(mustJSON(payload)); got != c.structured {
				t.Errorf("structured:\n%s, want\n%s", got, c.structured)
			}
		})
	}
}

func TestOtherModes(t *testing.T) {
	out := Outcome{Status: StatusSuccess, Stdout: text("a\nb\n")}
	got, _ := out.Reply("toon")
	if want := "```toon\nstatus: success\nsummary: success\nstdout[2]: a,b\n```"; got != want {
		t.Errorf("toon: %q, want %q", got, want)
	}
	got, _ = out.Reply("json")
	if want := `{"status":"success","summary":"success","stdout":["a","b"]}`; got != want {
		t.Errorf("json: %s, want %s", got, want)
	}
}

func TestCutOutputSaysWhereTheRestIs(t *testing.T) {
	r := newRecorder(64, 1<<20, testOutputs(t))
	r.write([]byte(strings.Repeat("0123456789\n", 100)))
	out := Outcome{Status: StatusSuccess, Stdout: r.finish(), Session: "default", Run: 3}
	defer out.Stdout.spill.close()
	got := out.compact()
	const note = "note: stdout is cut; the whole is the resource codemode://output/default/3/stdout; " +
		"better: assign what is large to a variable, and print a part of it"
	if !strings.HasPrefix(got, note+"\n0123456789\n") || !strings.HasSuffix(got, "\n0123456789\n"+note) {
		t.Errorf("head, tail or the notes around them are missing: %q", got)
	}
	if !strings.Contains(got, "\n[… 1056 bytes, 96 lines of stdout left out …]\n") {
		t.Errorf("nothing tells where the gap is: %q", got)
	}
}

// TestStructuredValueIsSeen holds that a client that shows its model the structured form shows it nothing hidden.
func TestStructuredValueIsSeen(t *testing.T) {
	o := Outcome{Status: StatusSuccess, Value: json.RawMessage(`{"k\u202e":"\u001b[31m\ud800"}`)}
	for _, mode := range []string{"compact", "toon", "json"} {
		if _, p := o.Reply(mode); string(p.Result) != `{"k\\u202e":"\\x1b[31m`+"\ufffd"+`"}` {
			t.Errorf("%s: %s", mode, p.Result)
		}
	}
}
