package fakemcp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// oauth is an authorization server for the servers by URL beside it: whoever asks is signed in at once. A refresh token
// can be used once; a second use ends the sign-in, as it would where one was stolen.
type oauth struct {
	options options

	mu      sync.Mutex
	clients map[string]string     // redirect by client id
	codes   map[string]url.Values // what was asked for, by code
	access  map[string]time.Time  // end by access token
	refresh map[string]bool       // whether a refresh token was used
	devices map[string][]string   // answers to polls that are left, by device code
}

// Robot and RobotSecret are a client that signs in as itself.
const Robot, RobotSecret = "robot", "hush robot+hush"

func newOAuth(o options) *oauth {
	return &oauth{
		options: o, clients: map[string]string{}, codes: map[string]url.Values{}, access: map[string]time.Time{},
		refresh: map[string]bool{}, devices: map[string][]string{},
	}
}

// protect lets in who is signed in.
func (a *oauth) protect(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/", a.resource)
	mux.HandleFunc("/.well-known/oauth-authorization-server", a.metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /revoke", a.revoke)
	mux.HandleFunc("POST /device", a.device)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		end, ok := a.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		a.mu.Unlock()
		if !ok || time.Now().After(end) {
			w.Header().
				Set("WWW-Authenticate", `Bearer resource_metadata="`+
					origin(r)+"/.well-known/oauth-protected-resource"+r.URL.Path+`", scope="read"`)
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
	return mux
}

func origin(r *http.Request) string { return "http://" + r.Host }

// isResource says whether a token is wanted for a server that is here.
func isResource(r *http.Request, address string) bool {
	return strings.HasPrefix(address, origin(r)+"/")
}

// lies says whether this server tells that lie.
func (a *oauth) lies(lie string) bool { return a.options.lie == lie }

func (a *oauth) resource(w http.ResponseWriter, r *http.Request) {
	name := origin(r) + strings.TrimPrefix(r.URL.Path, "/.well-known/oauth-protected-resource")
	if a.lies("resource") {
		name = "https://bank.example/mcp"
	}
	reply(
		w,
		http.StatusOK,
		map[string]any{
			"resource": name, "authorization_servers": []string{origin(r)},
			"scopes_supported": []string{"read", "write"},
		},
	)
}

func (a *oauth) metadata(w http.ResponseWriter, r *http.Request) {
	m := map[string]any{
		"issuer":                           origin(r),
		"authorization_endpoint":           origin(r) + "/authorize",
		"token_endpoint":                   origin(r) + "/token",
		"revocation_endpoint":              origin(r) + "/revoke",
		"registration_endpoint":            origin(r) + "/register",
		"response_types_supported":         []string{"code"},
		"code_challenge_methods_supported": []string{"S256"},
		"scopes_supported": []string{
			"read", "write", "offline_access",
		},
		"authorization_response_iss_parameter_supported": true,
	}
	if a.options.device != "" {
		m["device_authorization_endpoint"] = origin(r) + "/device"
	}
	switch a.options.lie {
	case "issuer":
		m["issuer"] = "https://bank.example"
	case "no-pkce":
		m["code_challenge_methods_supported"] = []string{"plain"}
	case "no-registration":
		delete(m, "registration_endpoint")
	case "elsewhere":
		http.Redirect(w, r, "https://bank.example/metadata", http.StatusFound)
		return
	case "slow":
		<-r.Context().Done()
		return
	case "redirects":
		http.Redirect(w, r, r.URL.Path+"?again", http.StatusFound)
		return
	case "large":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"issuer":"`)
		for line := strings.Repeat("x", 64<<10); ; {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	case "page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>Welcome</title>")
		return
	}
	reply(w, http.StatusOK, m)
}

func (a *oauth) register(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Redirects []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.Redirects) != 1 {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
		return
	}
	id := rand.Text()
	a.mu.Lock()
	a.clients[id] = m.Redirects[0]
	a.mu.Unlock()
	reply(
		w, http.StatusCreated,
		map[string]any{"client_id": id, "redirect_uris": m.Redirects, "token_endpoint_auth_method": "none"},
	)
}

func (a *oauth) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	redirect, known := a.clients[q.Get("client_id")]
	if id := a.options.client; id != "" && q.Get("client_id") == id { // wherever on this machine it listens
		redirect, known = q.Get("redirect_uri"), true
	}
	if !known || redirect != q.Get("redirect_uri") || q.Get("code_challenge_method") != "S256" ||
		!isResource(r, q.Get("resource")) {
		http.Error(w, "this is no request to authorize", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.codes[code] = q
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {origin(r)}}
	switch a.options.lie {
	case "iss":
		answer.Set("iss", "https://bank.example")
	case "no-iss":
		answer.Del("iss")
	case "state":
		answer.Set("state", "of-another")
	case "denied":
		answer = url.Values{
			"error": {"access_denied"}, "error_description": {"not <b>you</b>"},
			"state": {q.Get("state")}, "iss": {origin(r)},
		}
	}
	http.Redirect(w, r, redirect+"?"+answer.Encode(), http.StatusFound)
}

// tokenError is what the token endpoint says instead of tokens.
type tokenError struct {
	status int
	body   map[string]any
}

var invalidGrant = &tokenError{http.StatusBadRequest, map[string]any{
	"error": "invalid_grant", "error_description": "that is over",
}}

func (a *oauth) token(w http.ResponseWriter, r *http.Request) {
	if a.lies("token-redirect") { // which would have the code be sent on
		http.Redirect(w, r, "https://bank.example/token", http.StatusTemporaryRedirect)
		return
	}
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	refusal := a.redeem(r)
	if refusal == nil && a.lies("no-token") {
		refusal = invalidGrant
	}
	if refusal != nil {
		reply(w, refusal.status, refusal.body)
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	life := a.options.tokenLife
	a.access[access], a.refresh[refresh] = time.Now().Add(life), false
	kind := "Bearer"
	if a.lies("mac") {
		kind = "mac"
	}
	reply(w, http.StatusOK, map[string]any{
		"access_token": access, "token_type": kind, "expires_in": int(life.Seconds()), "refresh_token": refresh,
	})
}

// redeem takes what a request for tokens has to show; nil is that it is good for tokens. A grant is used up by it, also
// where the request is refused for another reason.
func (a *oauth) redeem(r *http.Request) *tokenError {
	var refusal *tokenError
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		refusal = a.redeemCode(r.Form)
	case deviceGrant:
		refusal = a.redeemDeviceCode(r.Form.Get("device_code"))
	case "client_credentials":
		id, secret, _ := r.BasicAuth()
		if id != Robot || secret != url.QueryEscape(RobotSecret) {
			refusal = &tokenError{http.StatusUnauthorized, map[string]any{"error": "invalid_client"}}
		}
	case "refresh_token":
		refusal = a.redeemRefresh(r.Form)
	default:
		refusal = invalidGrant
	}
	if refusal == nil && !isResource(r, r.Form.Get("resource")) { // a token would be for another audience
		refusal = invalidGrant
	}
	return refusal
}

func (a *oauth) redeemCode(form url.Values) *tokenError {
	asked, ok := a.codes[form.Get("code")]
	delete(a.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
		asked.Get("client_id") != form.Get("client_id") || asked.Get("redirect_uri") != form.Get("redirect_uri") {
		return invalidGrant
	}
	return nil
}

func (a *oauth) redeemDeviceCode(code string) *tokenError {
	switch said := a.polled(code); said {
	case "ok":
		return nil
	case "hang-up":
		panic(http.ErrAbortHandler)
	default:
		return &tokenError{http.StatusBadRequest, map[string]any{"error": said}}
	}
}

// redeemRefresh ends all sign-ins where a token comes again.
func (a *oauth) redeemRefresh(form url.Values) *tokenError {
	used, ok := a.refresh[form.Get("refresh_token")]
	if used {
		clear(a.access)
		clear(a.refresh)
	}
	if !ok || used {
		return invalidGrant
	}
	a.refresh[form.Get("refresh_token")] = true
	return nil
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// polled is the next answer to a client that asks whether its code was typed.
func (a *oauth) polled(code string) string {
	left := a.devices[code]
	switch len(left) {
	case 0:
		return "invalid_grant"
	case 1: // for good
	default:
		a.devices[code] = left[1:]
	}
	return left[0]
}

func (a *oauth) device(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.clients[r.Form.Get("client_id")]
	if !known || r.Form.Get("resource") == "" || a.lies("code-refused") {
		reply(w, http.StatusBadRequest, map[string]any{"error": "unauthorized_client"})
		return
	}
	code := rand.Text()
	a.devices[code] = strings.Split(a.options.device, ",")
	m := map[string]any{
		"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": origin(r) + "/code",
		"verification_uri_complete": origin(r) + "/code?user_code=WDJB-MJHT", "expires_in": 600, "interval": 1,
	}
	switch a.options.lie {
	case "code-address":
		m["verification_uri"] = "http://bank.example@" + r.Host + "/code"
	case "code-elsewhere":
		m["verification_uri"] = "https://bank.example/device"
		m["verification_uri_complete"] = "https://bank.example/device?user_code=WDJB-MJHT"
	case "code-end":
		m["expires_in"] = 1
	case "code-text":
		m["user_code"] = "\x1b[2JWDJB"
	}
	reply(w, http.StatusOK, m)
}

func (a *oauth) revoke(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.refresh[r.Form.Get("token")]; ok {
		clear(a.access)
		clear(a.refresh)
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
