// Package signin is how codemode's user signs in to servers by URL: OAuth 2.1 as revision 2025-11-25 of MCP has it.
//
// It owns what authorization servers have granted, a file for each server in a folder of the tenant's, readable by its
// user alone; where a keyring answers, tokens are sealed in there (package keyring). It never opens a browser and never
// asks anybody (commands does), and nothing outside of it sees a refresh token. What a [Store] keeps is shared by all
// processes of the tenant, under a lock a server, so that one of them refreshes for all.
package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"codemode/internal/atomicfile"
	"codemode/internal/filelock"
	"codemode/internal/keyring"
	"codemode/internal/plainfile"
	"codemode/internal/publicnet"
)

// A Grant is what an authorization server lets codemode do at one server.
type Grant struct {
	ID           string    `json:"id,omitempty"`      // of the sign-in, whatever becomes of its tokens
	Server       string    `json:"server"`            // the URL of its entry
	Project      string    `json:"project,omitempty"` // folder of the project whose entry it is; empty for a user's own
	Resource     string    `json:"resource"`          // what the server calls itself there
	Issuer       string    `json:"issuer"`
	TokenURL     string    `json:"tokenURL"`
	RevokeURL    string    `json:"revokeURL,omitempty"`
	Client       Client    `json:"client"`
	Scopes       []string  `json:"scopes,omitempty"`
	Expires      time.Time `json:"expires,omitzero"` // of the access token; zero where that was not said
	AccessToken  string    `json:"accessToken,omitempty"`
	RefreshToken string    `json:"refreshToken,omitempty"`

	// Sealed is the tokens and the client's secret, which then stand nowhere else in the file.
	Sealed *keyring.Sealed `json:"sealed,omitempty"`
	Inside bool            `json:"inside,omitempty"` // the server was on this machine or its network
	Itself bool            `json:"itself,omitempty"` // codemode's own, by its client's secret; no user signed in
	Renews bool            `json:"renews,omitempty"` // the access token can be had anew without its user
}

// hidden is what is sealed of a grant.
type hidden struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	Client  string `json:"client,omitempty"` // the secret
}

// A Client is codemode as an authorization server knows it.
type Client struct {
	ID       string `json:"id"`
	Secret   string `json:"secret,omitempty"`
	Method   string `json:"method"`             // how it says who it is: none, client_secret_post, …, private_key_jwt
	Audience string `json:"audience,omitempty"` // whom it tells that, where it signs it: the issuer
	Redirect string `json:"redirect,omitempty"` // where browsers come back to
}

// ErrSignedOut is a server at which nobody is signed in, or not any more.
var ErrSignedOut = errors.New("nobody is signed in")

// Store keeps grants in a folder, which is made when the first is kept. The zero value keeps nothing. What a project's
// entry is granted is not a user's own, nor another project's: a stranger's entry never has the sign-in of one's own.
type Store struct {
	Dir     string
	Project string        // folder of the project whose entries these are; empty for a user's own
	Ring    *keyring.Ring // nil: tokens stand in files in the clear
	HTTP    *http.Client  // nil is one for the server, which no document leads to this machine or its network
}

// inside says whether a server is on this machine or its network, so that what it says may lead there. A project's
// entry must say so outright.
func (s *Store) inside(ctx context.Context, server string) bool {
	host := hostOf(server)
	return (s.Project == "" || publicnet.Outright(host)) && publicnet.LeadsInside(ctx, host)
}

// client is that for one server and its authorization server: nothing it asks for is large, far away or elsewhere.
// Where the server is not inside, nothing that it says leads there.
func (s *Store) client(server string, inside bool) *http.Client {
	if s.HTTP != nil {
		return s.HTTP
	}
	c := &http.Client{Timeout: 30 * time.Second, CheckRedirect: stay, Transport: publicnet.Transport()}
	if inside {
		c.Transport = publicnet.Inside(hostOf(server))
	}
	return c
}

// clientOf is the client for a grant. Where a name leads can change: what was granted elsewhere leads nowhere inside.
func (s *Store) clientOf(ctx context.Context, g *Grant) *http.Client {
	inside := (g.Inside || publicnet.Outright(hostOf(g.Server))) && s.inside(ctx, g.Server)
	return s.client(g.Server, inside)
}

// stay follows redirects of one host alone, and a few.
func stay(req *http.Request, via []*http.Request) error {
	away := req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme
	if req.Method != http.MethodGet || len(via) > 3 || away {
		return fmt.Errorf("it redirects to %q, which is not followed", req.URL.Host)
	}
	return nil
}

// canonical is a server's URL as a key: what its writing does not change.
func canonical(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Scheme, u.Host, u.Fragment, u.User = strings.ToLower(u.Scheme), strings.ToLower(u.Host), "", nil
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

func (s *Store) file(server string) string {
	sum := sha256.Sum256([]byte(canonical(server) + "\x00" + s.Project))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:16])+".json")
}

// Load returns what is kept for a server; [ErrSignedOut] where that is nothing.
func (s *Store) Load(ctx context.Context, server string) (Grant, error) {
	if s.Dir == "" {
		return Grant{}, ErrSignedOut
	}
	g, err := load(s.file(server))
	if err != nil || g.Sealed == nil {
		return g, err
	}
	var h hidden
	text, err := s.Ring.Open(ctx, g.about(), g.Sealed)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return Grant{}, fmt.Errorf("opening the sign-in at %q: %w", g.Issuer, err)
	}
	g.AccessToken, g.RefreshToken, g.Client.Secret = h.Access, h.Refresh, h.Client
	return g, nil
}

// Who names a sign-in, so that what one may see is not taken for what another may; empty where there is none. No
// keyring is asked.
func (s *Store) Who(server string) string {
	if s.Dir == "" {
		return ""
	}
	g, err := load(s.file(server))
	if err != nil {
		return ""
	}
	return g.Issuer + " " + g.Client.ID + " " + g.ID
}

// about is what a grant is sealed as.
func (g *Grant) about() string { return "sign-in " + canonical(g.Server) + " " + g.Project }

// seal has the grant's tokens be sealed, where they can be; why says why they are not, where they should be.
func (s *Store) seal(ctx context.Context, g *Grant) (why string, err error) {
	g.Sealed, why, err = s.Ring.Seal(ctx, g.about(), g.hide())
	return why, err
}

// sealAgain has the tokens of a grant that is sealed be sealed as they are now.
func (s *Store) sealAgain(ctx context.Context, g *Grant) (err error) {
	g.Sealed, err = s.Ring.Again(ctx, g.about(), g.hide(), g.Sealed)
	return err
}

func (g *Grant) hide() []byte {
	text, _ := json.Marshal(hidden{g.AccessToken, g.RefreshToken, g.Client.Secret}) // of texts, which cannot fail
	return text
}

const maxGrant = 1 << 20 // bytes of a file

// load reads a file as it is: of a grant that is sealed, without the tokens.
func load(file string) (g Grant, err error) {
	data, err := plainfile.Read(file, maxGrant)
	if errors.Is(err, fs.ErrNotExist) {
		return g, ErrSignedOut
	}
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		return Grant{}, fmt.Errorf("reading the sign-in in %q: %w", file, err)
	}
	return g, nil
}

// List returns every grant that is kept and can be read, without the tokens of those that are sealed: no keyring is
// asked.
func (s *Store) List() (list []Grant) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "*.json"))
	for _, file := range files {
		if g, err := load(file); err == nil {
			list = append(list, g)
		}
	}
	return list
}

// keep writes a grant, under the lock of its server. What is sealed is not written in the clear.
func (s *Store) keep(g Grant) error {
	g.Renews = g.renews()
	if g.Sealed != nil {
		g.AccessToken, g.RefreshToken, g.Client.Secret = "", "", ""
	}
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteLocked(s.file(g.Server), append(data, '\n')); err != nil {
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	s.Want(g.Server, nil)
	return nil
}

// Want notes what a server says where it wants a sign-in, its WWW-Authenticate headers; nil notes that it wants none.
// Lists of servers say so, and the next sign-in asks for what they ask for. Without it both still work, so a failure is
// none.
func (s *Store) Want(server string, challenges []string) {
	switch {
	case s.Dir == "":
	case challenges == nil:
		_ = os.Remove(s.wantedFile(server))
	case os.MkdirAll(s.Dir, 0o700) == nil:
		text := strings.Join(challenges, "\n")
		if len(text) > maxChallenges { // the next sign-in asks for itself
			text = ""
		}
		_ = os.WriteFile(s.wantedFile(server), []byte(text), 0o600)
	}
}

// maxChallenges is how much is kept of what a server says where it wants a sign-in, in bytes.
const maxChallenges = 8 << 10

// challenges are what a server said when it wanted a sign-in that there is not.
func (s *Store) challenges(server string) (list []string) {
	data, err := plainfile.Read(s.wantedFile(server), maxChallenges)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// Wanted says whether a server wants a sign-in that there is not.
func (s *Store) Wanted(server string) bool {
	_, err := os.Stat(s.wantedFile(server))
	return s.Dir != "" && err == nil
}

func (s *Store) wantedFile(server string) string {
	return strings.TrimSuffix(s.file(server), ".json") + ".wanted"
}

// lock takes the lock of a server's grant.
func (s *Store) lock(ctx context.Context, server string) (*flock.Flock, error) {
	if s.Dir == "" {
		return nil, errors.New("there is no folder for the state of codemode, so no sign-in can be kept")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the sign-in: %w", err)
	}
	return filelock.Take(ctx, strings.TrimSuffix(s.file(server), ".json")+".lock")
}

// Remove forgets a server's grant, and has its authorization server forget it where that can be done.
func (s *Store) Remove(ctx context.Context, server string) error {
	g, unread := s.Load(ctx, server) // before the lock is taken: a keyring may be waiting for its user
	if errors.Is(unread, ErrSignedOut) {
		return unread
	}
	lock, err := s.lock(ctx, server)
	if err != nil {
		return err
	}
	defer lock.Close()
	if now, err := s.Load(ctx, server); err == nil {
		g = now // refreshed by another process
	}
	if err := os.Remove(s.file(server)); err != nil {
		return err
	}
	if unread != nil {
		return fmt.Errorf("the sign-in is removed here; its authorization server was not told: %w", unread)
	}
	if g.RevokeURL == "" {
		return nil
	}
	token := g.RefreshToken
	if token == "" {
		token = g.AccessToken
	}
	_, err = g.Client.post(ctx, s.clientOf(ctx, &g), g.RevokeURL, url.Values{"token": {token}})
	if err != nil {
		return fmt.Errorf("the sign-in is removed here; telling %q failed: %w", g.Issuer, err)
	}
	return nil
}
