package clientcfg

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"codemode/internal/config"
)

// TestOAuth reads the client of a sign-in as programs write it.
func TestOAuth(t *testing.T) {
	for text, want := range map[string]*config.OAuth{
		`{}`:                         nil,
		`{"oauth": false}`:           nil,
		`{"oauth": {"clientId": 7}}`: nil,
		`{"oauth": {"scopes": ["a"], "callbackPort": 1}}`:                               nil, // whose, it does not say
		`{"oauth": {"clientId": "a", "callbackPort": 8080}}`:                            {ClientID: "a", CallbackPort: 8080},
		`{"oauth": {"clientId": "a", "callbackPort": null}}`:                            {ClientID: "a"},
		`{"oauth": {"client_id": "a", "client_secret": "${secret:s}", "scope": "r w"}}`: {ClientID: "a", Secret: "${secret:s}", Scopes: []string{"r", "w"}},
		`{"auth": {"CLIENT_ID": "a", "CLIENT_SECRET": "s", "scopes": ["r"]}}`:           {ClientID: "a", Secret: "s", Scopes: []string{"r"}},
		`{"oauthClientId": "a", "oauthScopes": ["r"]}`:                                  {ClientID: "a", Scopes: []string{"r"}},
	} {
		n, _, err := parseYAML([]byte(text)) // of which JSON is a part
		if err != nil {
			t.Fatal(err)
		}
		if got := oauth(&fields{entry: n}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestCallbackPort holds that a port that is none is told, and never becomes any other one.
func TestCallbackPort(t *testing.T) {
	for port, shown := range map[string]string{
		"0": "0", "-1": "-1", "70000": "70000", "80.5": "80.5", `"8080"`: `"8080"`, "true": "true", "[1]": "a list", "{}": "a table",
		"1e400": "1e400",
	} {
		for table, field := range map[string]string{"oauth": "callbackPort", "auth": "callback_port"} {
			text := fmt.Sprintf(`{"mcpServers": {"far": {"type": "http", "url": "https://a.example/", %q: {"clientId": "a", %q: %s}}}}`,
				table, field, port)
			read, problems := ReadOwn("far.json", []byte(text), Env{})
			want := fmt.Sprintf("server \"far\": %q must be a port from 1 to 65535, not %s", field, shown)
			if len(read) != 1 || read[0].Status != Invalid || read[0].Reason != want || len(problems) != 1 {
				t.Errorf("%s: %+v, %v; want %s", text, read, problems, want)
			}
		}
	}
}

// TestExpandOAuth replaces references when somebody signs in; a start needs none of them.
func TestExpandOAuth(t *testing.T) {
	s := config.Server{URL: "https://a.example/", OAuth: &config.OAuth{ClientID: "${ID}", Secret: "${secret:key}"}}
	from := Resolver{
		Lookup: func(name string) (string, bool) { return "mine", name == "ID" },
		Secret: func(name string) (string, error) { return "the " + name, nil },
	}
	if o, err := ExpandOAuth(s, from); err != nil || o.ClientID != "mine" || o.Secret != "the key" || s.OAuth.ClientID != "${ID}" {
		t.Errorf("%+v, %v", o, err)
	}
	from.Secret = func(string) (string, error) { return "", errors.New("nothing is kept") }
	if _, err := ExpandOAuth(s, from); err == nil {
		t.Error("a secret that is not there is no error")
	}
	if _, err := Expand(s, from); err != nil {
		t.Errorf("a start wants it: %v", err)
	}
}
