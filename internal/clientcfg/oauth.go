package clientcfg

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"codemode/internal/config"
)

// oauth is the client that an entry names for sign-ins, as programs write it (their documentation, read November 2026):
// in a table "oauth" (Claude Code, VS Code, Zed, Codex, Gemini, OpenCode) or "auth" (Cursor), or by itself (Devin,
// Copilot CLI). A value of another type is ignored: it is another program's, and codemode may register itself. A bad
// port is an error: with another one the authorization server would refuse the sign-in without saying why.
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
			name, port, given := at.find("callbackPort", "callback_port")
			if o.CallbackPort = portOf(port); given && o.CallbackPort == 0 {
				r.wrong(name, "a port from 1 to 65535, not "+port.shown(), port.place)
			}
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

// portOf is a number that a port can have, else 0.
func portOf(v node) int {
	number, _ := v.value.(json.Number)
	n, err := strconv.ParseUint(number.String(), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// shown is a value that should have been a number, as its user has written it.
func (n node) shown() string {
	switch v := n.value.(type) {
	case string:
		return fmt.Sprintf("%.40q", v)
	case json.Number:
		return fmt.Sprintf("%.40s", v)
	case bool:
		return strconv.FormatBool(v)
	case *list:
		return "a list"
	}
	return "a table"
}
