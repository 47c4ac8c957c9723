package clientcfg

import (
	"errors"
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
		`{"oauth": {"clientId": "a", "callbackPort": 70000}}`:                           {ClientID: "a"},
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
