package upstream

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"codemode/internal/config"
	"codemode/internal/redact"
)

// TestErrorsHideSecrets holds that no error of a server says what it was started with, in whichever form: long or
// short, in the message or in the data.
func TestErrorsHideSecrets(t *testing.T) {
	s := fake("stub")
	s.Env = map[string]string{"API_KEY": "k3y", "TOKEN": "Tr0ub4dor-and-3", "DEBUG": "1"}
	p := newPool(t, func(o *Options) {
		lookup := o.Lookup
		o.Lookup = func(name string) (string, bool) {
			if name == "HTTPS_PROXY" {
				return "http://user:pr0xy-pass3@proxy.example:3128", true
			}
			return lookup(name)
		}
	}, s)
	for _, secret := range []string{"k3y", "Tr0ub4dor-and-3", "pr0xy-pass3"} {
		basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
		backwards := []byte(secret)
		for i, j := 0, len(backwards)-1; i < j; i, j = i+1, j-1 {
			backwards[i], backwards[j] = backwards[j], backwards[i]
		}
		for _, form := range []string{
			secret, basic, hex.EncodeToString([]byte(secret)), string(backwards), strings.ToUpper(hex.EncodeToString([]byte(secret))),
			fmt.Sprintf("% x", secret), strings.ReplaceAll(secret, "3", "%33"), `\u` + fmt.Sprintf("%04x", secret[0]) + secret[1:],
		} {
			text, _ := json.Marshal("1 of 2: " + form + " is bad")
			line := fmt.Sprintf(
				`{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":%s,"data":{"a":%s,"n":1}}}`,
				text,
				text,
			)
			args, _ := json.Marshal(map[string]any{"lines": []byte(strings.Join(strings.Split(line, ""), "\x7f"))})
			_, err := p.Call(t.Context(), "stub", "lines", args)
			var call *CallError
			if !errors.As(err, &call) {
				t.Fatalf("%q: %v", form, err)
			}
			want := "***"
			switch {
			case form == basic && secret == "pr0xy-pass3":
				want = "***==" // of who uses the proxy
			case form == basic:
				want = "dXNlcj***=" // of the user, who is no secret
			}
			if call.Error() != "1 of 2: "+want+" is bad" ||
				string(call.Data) != `{"a":"1 of 2: `+want+` is bad","n":1}` {
				t.Errorf("%q: %s, %s", form, call, call.Data)
			}
		}
	}
}

// TestErrorCodeIsNoSecret holds that a secret that is a number does not come as the number of an error.
func TestErrorCodeIsNoSecret(t *testing.T) {
	s := fake("stub")
	s.Env = map[string]string{"PIN_SECRET": "91827364"}
	p := newPool(t, nil, s)
	for code, want := range map[string]int64{"91827364": 0, "-32001": -32001} {
		line := `{"jsonrpc":"2.0","id":ID,"error":{"code":` + code + `,"message":"no"}}`
		args, _ := json.Marshal(map[string]any{"lines": []byte(strings.Join(strings.Split(line, ""), "\x7f"))})
		_, err := p.Call(t.Context(), "stub", "lines", args)
		var call *CallError
		if !errors.As(err, &call) || call.Code != want {
			t.Errorf("%s: %+v", code, err)
		}
	}
}

// TestErrorsTellNoGuess holds that no error, of whatever kind, says which of the texts that code has sent are secrets of
// the server's or of another's: it is the same whichever are.
func TestErrorsTellNoGuess(t *testing.T) {
	guesses := []string{"k3y", "k4y", "4711", "0815", "Tr0ub4dor-and-3", "Tr0ub4dor-and-4", "sesame", "walnut", "pass", "word"}
	all := strings.Join(guesses, ", ")
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":%q,"data":[%[1]q,4711,815]}}`, all)
	sent, _ := json.Marshal(map[string]any{"lines": []byte(line)})
	text, _ := json.Marshal(map[string]string{"message": all})
	calls := []struct{ tool, args string }{
		{all, "{}"},
		{"fail", string(text)},
		{"lines", string(sent)},
		{"complain", string(text)},
		{"fail", `{"message":"` + strings.ReplaceAll(all, "s", "\x7fs") + `"}`}, // sent before, and so known
		{"crash", "{}"},
		{"fail", `{"message":"` + strings.ReplaceAll(all, "s", "\x7fs") + `"}`},
	}
	var before []string
	for i := range 2 {
		s, other := fake("stub"), fake("other")
		s.Env = map[string]string{}
		other.Env = map[string]string{"SIGNATURE": "Tr0ub4dor-and-5"}
		for n := i; n < len(guesses); n += 2 {
			s.Env[fmt.Sprint("KEY_", n)] = guesses[n]
			other.Env[fmt.Sprint("KEY_", n)] = guesses[(n+1)%len(guesses)]
		}
		p := newPool(t, nil, s, other)
		for n, c := range calls {
			result, err := p.Call(t.Context(), "stub", c.tool, json.RawMessage(c.args))
			told := fmt.Sprintf("%s %v", result, err)
			var call *CallError
			if errors.As(err, &call) {
				told += fmt.Sprintf(" %s %s", call.Data, call.Stderr)
			}
			if before = append(before, told); i == 1 && told != before[n] {
				t.Errorf("%s says %q, or with other secrets %q", c.tool, before[n], told)
			}
		}
	}
}

// TestRedactorKnows holds that what an entry's references mean is taken apart as what it says, and that entries of
// servers that are not the pool's count as long as they are told.
func TestRedactorKnows(t *testing.T) {
	p := newPool(t, func(o *Options) {
		o.Expand = func(c config.Server, _ func(string, string)) (config.Server, error) {
			c.Headers = map[string]string{"Cookie": "sid=cookieword; theme=dark"}
			return c, nil
		}
	}, config.Server{Name: "far", URL: "https://far.example", Headers: map[string]string{"Cookie": "${T}"}})
	others := []config.Server{{Name: "off", Env: map[string]string{"TOKEN": "othersword"}}}
	for _, c := range []struct {
		others []config.Server
		want   string
	}{{nil, "*** othersword"}, {others, "*** ***"}, {nil, "*** othersword"}} {
		p.KeepSecret(c.others)
		if got := p.Redactor().Text("cookieword othersword"); got != c.want {
			t.Errorf("with %d others it is %q, want %q", len(c.others), got, c.want)
		}
	}
}

// TestLogHidesSecrets holds that what is encoded in a server's log is masked, though its line is encoded once more.
func TestLogHidesSecrets(t *testing.T) {
	s := fake("stub")
	s.Env = map[string]string{"TOKEN": "Tr0ub4dor-and-3"}
	p := newPool(t, nil, s)
	const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"a":%q,"b":%q,"n":7}}}`
	html, soft := "&#84;r0ub4dor-and-&#x33;", "Tr0ub4=\r\ndor-and-3"
	lines := fmt.Sprintf(line, html, soft) + "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
	args, _ := json.Marshal(map[string]any{"lines": []byte(strings.Join(strings.Split(lines, ""), "\x7f"))})
	if _, err := p.Call(t.Context(), "stub", "lines", args); err != nil {
		t.Fatal(err)
	}
	p.waitForLog("the server's log")
	if log := p.log.String(); strings.Contains(log, "ub4") || !strings.Contains(log, `\"a\":\"***\",\"b\":\"***\",\"n\":7`) {
		t.Errorf("the log has\n%s", log)
	}
}

// TestLogOfRefusal holds that what a server says of its log, of which nobody waits for an answer, is masked in codemode's.
func TestLogOfRefusal(t *testing.T) {
	const token = "tok_0123456789abcdefghijklmnopqrstuvwxyz"
	script := `while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"x","version":"1"}}}';;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[]}}';;
*logging/setLevel*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32602,"message":"not for '$TOKEN'"}}';;
esac
done`
	f := newPool(t, nil, config.Server{
		Name: "near", Command: "sh", Args: []string{"-c", script}, Env: map[string]string{"TOKEN": token},
	})
	if _, err := f.Tools(t.Context(), "near"); err != nil {
		t.Fatal(err)
	}
	f.waitForLog("asking for the server's log")
	if log := f.log.String(); strings.Contains(log, token) || !strings.Contains(log, "not for ***") {
		t.Errorf("the log has\n%s", log)
	}
}

// TestProgressHidesNumbers holds that a secret which is a number is told as none.
func TestProgressHidesNumbers(t *testing.T) {
	s := fake("stub")
	s.Env = map[string]string{"API_KEY": "483920175"}
	told := make(chan Progress, 2)
	p := newPool(t, func(o *Options) {
		o.OnProgress = func(_ context.Context, _ string, p Progress) { told <- p }
	}, s)
	const line = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":4.83920175e8,"total":483920176}}`
	args, _ := json.Marshal(map[string]any{"lines": []byte(line)})
	if _, err := p.Call(t.Context(), "stub", "lines", args); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got.Done != 0 || got.Total != 483920176 {
		t.Errorf("it is told of %v of %v", got.Done, got.Total)
	}
}

// TestTokensForgotten: a server that has its tokens renewed again and again has as many known as bounds allow, the one
// that is sent among them, and what its entry keeps secret for good.
func TestTokensForgotten(t *testing.T) {
	s := &sessionSecrets{told: &sync.Map{}}
	entry := &redact.Secrets{}
	entry.Add("entry-s3cret-value")
	s.add(entry)
	token := func(n int) string { return fmt.Sprintf("t0ken-%02d-of-many", n) }
	for n := range 3 * maxTokens {
		s.addToken(token(n), []string{fmt.Sprintf("refr3sh-%02d-of-many", n)})
	}
	last := 3*maxTokens - 1
	for text, told := range map[string]bool{
		"entry-s3cret-value": false, token(last): false, token(last - maxTokens + 1): false, token(last - maxTokens): true,
		fmt.Sprintf("refr3sh-%02d-of-many", last): false,
	} {
		if got := s.redactor().Text(text); (got == text) != told {
			t.Errorf("%s is told as %s", text, got)
		}
	}
	for n := range 3 {
		s.addToken(strings.Repeat("long", maxTokenBytes/5)+token(n), nil)
	}
	if len(s.sent) != 1 || len(s.sizes) != 1 {
		t.Errorf("%d tokens are known, %d sizes", len(s.sent), len(s.sizes))
	}
}
