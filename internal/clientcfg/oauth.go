package clientcfg

import (
	"encoding/json"
	"strconv"
	"strings"

	"codemode/internal/config"
)

// oauth is the client that an entry names for sign-ins, as programs write it (their documentation, read November 2026):
// in a table "oauth" (Claude Code, VS Code, Zed, Codex, Gemini, OpenCode) or "auth" (Cursor), or by itself (Devin,
// Copilot CLI). What is none is left out: it is another program's, and codemode may be registered by itself.
func oauth(r *fields) *config.OAuth {
	o := &config.OAuth{}
	from := []node{r.entry}
	for _, name := range []string{"oauth", "auth"} {
		if inner, ok := r.entry.get(name); ok {
			from = append(from, inner)
		}
	}
	for i, n := range from {
		at := &fields{entry: n}
		ids, secrets := []string{"oauthClientId"}, flatClientSecrets
		if i > 0 {
			ids = []string{"clientId", "client_id", "CLIENT_ID"}
			secrets = clientSecrets
			o.CallbackPort = at.port("callbackPort", "callback_port")
		}
		if id := at.text(ids...); id != "" {
			o.ClientID, o.Secret = id, at.text(secrets...)
		}
		if list := at.scopes("scopes", "scope", "oauthScopes"); list != nil {
			o.Scopes = list
		}
	}
	if o.ClientID == "" {
		return nil
	}
	return o
}

// What entries call the client's secret: in a table, and by itself.
var (
	clientSecrets     = []string{ClientSecret, "client_secret", "CLIENT_SECRET"}
	flatClientSecrets = []string{"oauthClientSecret"}
)

// scopes are a list of texts, or one text with blanks between them.
func (f *fields) scopes(names ...string) []string {
	_, v, _ := f.find(names...)
	if text, ok := v.value.(string); ok {
		return strings.Fields(text)
	}
	list, _ := v.texts()
	return list
}

// port is a number that a port can have, else 0.
func (f *fields) port(names ...string) int {
	_, v, _ := f.find(names...)
	number, _ := v.value.(json.Number)
	if n, err := strconv.ParseUint(number.String(), 10, 16); err == nil {
		return int(n)
	}
	return 0
}
