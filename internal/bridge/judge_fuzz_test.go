package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"codemode/internal/audit"
	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/servers"
	"codemode/internal/visible"
)

// judged are policies of which one is held against each call.
var judged = []policy.Rules{
	{Confirm: []string{"odd.*"}},
	{Confirm: []string{"odd.*"}, Deny: []string{"odd.a*", "odd.X"}},
	{Confirm: []string{"odd.*"}, Allow: []string{"odd.[a-z]*", "odd."}},
}

// deepest is how deep arguments may be nested.
const deepest = 1000

// FuzzJudge holds that what is asked, what the receipt and the log have and what the server gets of a call are the same,
// that no other tool than a listed one is asked about or called, none that policy denies, and nothing of which two
// readers make different things, or which is nested too deep for one.
func FuzzJudge(f *testing.F) {
	bench := make([]*judgeBench, len(judged))
	for i, rules := range judged {
		bench[i] = newJudgeBench(f, rules)
	}
	for i := range uint64(100) {
		random := rand.New(rand.NewPCG(i, 1))
		f.Add(uint8(i), randomName(random), randomObject(random, 0))
	}
	for _, levels := range []int{deepest, deepest + 1} {
		f.Add(uint8(0), "X", strings.Repeat(`{"in":`, levels-1)+"{}"+strings.Repeat("}", levels-1))
		f.Add(uint8(0), "X", `{"in":`+strings.Repeat("[", levels-1)+strings.Repeat("]", levels-1)+"}")
	}
	f.Fuzz(func(t *testing.T, which uint8, name string, arguments string) {
		if !utf8.ValidString(name) || !utf8.ValidString(arguments) || !json.Valid([]byte(arguments)) ||
			strings.ContainsAny(arguments, "\r\n") ||
			len(arguments) > 16<<10 {
			t.Skip() // the channel's business
		}
		bench[int(which)%len(bench)].check(t, name, arguments)
	})
}

// judgeBench is a bridge with a server that takes a tool by any name, and a guest that sends one call a run.
type judgeBench struct {
	*Bridge
	rules     policy.Rules
	dir       string
	name, raw string // what the guest sends
}

func newJudgeBench(f *testing.F, rules policy.Rules) *judgeBench {
	c := testConfig()
	c.Policy.Rules = rules
	c.Audit = config.Audit{MaxSize: 64 << 10, Keep: 1, Arguments: "full"}
	b := &judgeBench{rules: rules, dir: f.TempDir()}
	rt := &bridgetest.Scripted{Script: func(g *bridgetest.Guest) {
		for {
			id, _, ok := g.Run()
			if !ok {
				return
			}
			quoted, _ := json.Marshal(b.name)
			g.Send(
				`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"server":"odd","tool":%s,"arguments":%s}}`,
				quoted,
				b.raw,
			)
			answer, _ := json.Marshal(g.Next())
			repr, _ := json.Marshal(string(answer))
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":%s,"json":%s}}}`, id, "\"\"", repr)
		}
	}}
	b.Bridge = New(Options{
		Config: c, Runtime: rt, StateDir: f.TempDir(), AuditDir: b.dir,
		Lookup: func(string) (string, bool) { return "", false }, Servers: servers.Always(fake("odd", "-odd-names")),
	})
	f.Cleanup(func() { b.Close() })
	return b
}

func (b *judgeBench) check(t *testing.T, name, arguments string) {
	b.name, b.raw = name, arguments
	var asked []Question
	out := b.Run(
		t.Context(),
		Request{Session: "s", Code: "x", Timeout: patience, Ask: func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q)
			return Once, nil
		}},
	)
	if out.Status != StatusSuccess {
		t.Fatalf("%+v", out)
	}
	answer := gjson.Parse(gjson.ParseBytes(out.Value).String())
	got := answer.Get("result.content.0.text").String()
	may := slices.Contains(fakemcp.OddNames(), name) && fitsRules(b.rules, name) && gjson.Parse(arguments).IsObject() &&
		!ambiguous(json.NewDecoder(strings.NewReader(arguments))) && !strings.Contains(arguments, `\u`) &&
		!guest.Deeper([]byte(arguments), deepest)
	if got == "" {
		if len(asked) > 0 || may {
			t.Errorf("%q %s: asked %v, and refused by %s", name, arguments, asked, answer)
		}
		return
	}
	quoted, _ := strconv.QuotedPrefix(got)
	received, _ := strconv.Unquote(quoted)
	values := got[len(quoted):]
	if received != name || !slices.Contains(fakemcp.OddNames(), name) || !fitsRules(b.rules, name) {
		t.Errorf("%q was sent, the server got %q", name, received)
	}
	if ambiguous(json.NewDecoder(strings.NewReader(arguments))) || guest.Deeper([]byte(arguments), deepest) {
		t.Errorf("%s was sent", values)
	}
	if len(asked) != 1 || asked[0].Tool != visible.Name(name) ||
		!strings.Contains(asked[0].Arguments, " not shown>") && !same(asked[0].Arguments, values) {
		t.Errorf("%q: the user saw %+v, the server got %s", name, asked, values)
	}
	if !same(arguments, values) {
		t.Errorf("%s was sent, the server got %s", arguments, values)
	}
	if want := map[string]Tally{visible.Call("odd", name): {OK: 1}}; !maps.Equal(out.Receipt.ByTool, want) {
		t.Errorf("%q was sent, the receipt has %v", name, out.Receipt.ByTool)
	}
	b.checkLog(t, out.Receipt.Run, name, values)
}

func (b *judgeBench) checkLog(t *testing.T, run, name, values string) {
	found := false
	if _, err := audit.Read(b.dir, func(r audit.Record, _ []byte) {
		if r.Run != run || r.Event != audit.Called {
			return
		}
		found = true
		masked := strings.Contains(r.Arguments, "***") && !strings.Contains(values, "***")
		if r.Tool != name || r.Note == "" && !masked && !same(r.Arguments, values) {
			t.Errorf("the log has %q %s, the server got %q %s", r.Tool, r.Arguments, name, values)
		}
	}); err != nil || !found {
		t.Errorf("the log has no line of run %s: %v", run, err)
	}
}

// fitsRules is a second opinion on a policy whose patterns are simple.
func fitsRules(r policy.Rules, name string) bool {
	switch {
	case slices.Contains(r.Deny, "odd.X"):
		return !strings.HasPrefix(strings.ToLower(name), "a") && !strings.EqualFold(name, "x")
	case len(r.Allow) > 0:
		return name == "" || name[0] >= 'a' && name[0] <= 'z'
	}
	return true
}

// same compares values of JSON as their readers do, but for numbers, of which every digit counts.
func same(a, b string) bool {
	values := make([]any, 2)
	for i, text := range []string{a, b} {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// ambiguous reports whether an object has a member twice.
func ambiguous(d *json.Decoder) bool {
	d.UseNumber()
	begin, err := d.Token()
	if _, ok := begin.(json.Delim); !ok || err != nil {
		return false
	}
	seen, twice := map[any]bool{}, false
	for d.More() {
		if begin == json.Delim('{') {
			name, _ := d.Token()
			twice = twice || seen[name]
			seen[name] = true
		}
		twice = ambiguous(d) || twice
	}
	_, _ = d.Token()
	return twice
}

// randomName is a listed name, or one that is nearly that.
func randomName(r *rand.Rand) string {
	names := fakemcp.OddNames()
	name := names[r.IntN(len(names))]
	odd := []string{"\x1f", "\x1c", " ", "\ufeff", "\u200b", "\x00", "\u202e", "\u2800", "A"}
	switch r.IntN(4) {
	case 0:
		return odd[r.IntN(len(odd))] + name
	case 1:
		return name + odd[r.IntN(len(odd))]
	}
	return name
}

// randomObject is an object with what readers of JSON differ about.
func randomObject(r *rand.Rand, depth int) string {
	names := []string{
		`"path"`,
		`"p\u0061th"`,
		`"Path"`,
		`"\u202ex"`,
		`""`,
		`"a\u034fb"`,
		`"\ud800"`,
		`"x"`,
		`"y"`,
		`"z"`,
	}
	values := []string{
		`"\u002f\u0065tc"`,
		`"` + "\u2800\u17b4" + `"`,
		`1`,
		`1.0`,
		`-0`,
		`9007199254740993`,
		`1e400`,
		`null`,
		`true`,
		`"\ud83d\ude00"`,
		`"\ud83d"`,
		`"\u0000"`,
		`"` + strings.Repeat(`\u0041`, 300) + `"`,
		`[1, "a" ]`,
		`"<&>"`,
	}
	members := map[string]string{}
	for range r.IntN(4) {
		members[names[r.IntN(len(names))]] = values[r.IntN(len(values))]
	}
	if depth < 4 && r.IntN(2) == 0 {
		members[`"in"`] = "[" + randomObject(r, depth+1) + "]"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, fmt.Sprintf("%s : %s", name, members[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
