package signin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/fakemcp"
)

// keys are private keys of each kind, in PEM, and what checks a signature of theirs.
func keys(t *testing.T) map[string]struct {
	pem   string
	check func(data, signature []byte) bool
} {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	return map[string]struct {
		pem   string
		check func(data, signature []byte) bool
	}{
		"RS256": {text(rsaKey), func(data, signature []byte) bool {
			sum := sha256.Sum256(data)
			return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, sum[:], signature) == nil
		}},
		"ES256": {text(ecKey), func(data, signature []byte) bool {
			sum := sha256.Sum256(data)
			r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
			return len(signature) == 64 && ecdsa.Verify(&ecKey.PublicKey, sum[:], r, s)
		}},
		"EdDSA": {text(edKey), func(data, signature []byte) bool { return ed25519.Verify(public, data, signature) }},
	}
}

// TestItselfByKey has codemode sign in as itself by a private key: an authorization server gets a fresh assertion each
// time, for itself alone, and never the key.
func TestItselfByKey(t *testing.T) {
	for algorithm, key := range keys(t) {
		seen := map[string]bool{}
		inner := fakemcp.Handler("-oauth")
		var issuer string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/token" {
				inner.ServeHTTP(w, r)
				return
			}
			_ = r.ParseForm()
			text := r.Form.Get("client_assertion")
			parts := strings.Split(text, ".")
			if len(parts) != 3 {
				t.Fatalf("%s: the assertion is %q", algorithm, text)
			}
			head, _ := base64.RawURLEncoding.DecodeString(parts[0])
			claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
			signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
			get := func(name string) string { return gjson.GetBytes(claims, name).String() }
			life := gjson.GetBytes(claims, "exp").Int() - time.Now().Unix()
			switch {
			case gjson.GetBytes(head, "alg").String() != algorithm || !key.check([]byte(parts[0]+"."+parts[1]), signature),
				get("iss") != fakemcp.Robot, get("sub") != fakemcp.Robot, get("aud") != issuer, seen[get("jti")],
				life <= 0 || life > 60, r.Form.Get("client_assertion_type") != assertionType,
				r.Form.Get("client_secret") != "", r.Header.Get("Authorization") != "", r.Form.Get("resource") == "":
				t.Errorf("%s: %s %s, form %v", algorithm, head, claims, r.Form)
			}
			seen[get("jti")] = true
			body := url.Values{"grant_type": {"client_credentials"}, "resource": r.Form["resource"]}.Encode()
			known := httptest.NewRequest(http.MethodPost, issuer+"/token", strings.NewReader(body))
			known.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			known.SetBasicAuth(fakemcp.Robot, url.QueryEscape(fakemcp.RobotSecret))
			inner.ServeHTTP(w, known)
		}))
		defer s.Close()
		issuer = s.URL
		l := &Login{
			Store: &Store{Dir: t.TempDir()}, Server: s.URL + "/mcp", Itself: true,
			Client: Client{ID: fakemcp.Robot, Secret: key.pem},
		}
		g, err := l.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		fresh, err := l.Store.Token(t.Context(), l.Server, g.AccessToken)
		if err != nil || fresh == g.AccessToken || len(seen) != 2 {
			t.Errorf("%s: a second token is %q, %v; %d assertions", algorithm, fresh, err, len(seen))
		}
	}
}

// TestBadKey tells of a key that cannot be used, and nothing of what is in it.
func TestBadKey(t *testing.T) {
	server := site(t)
	for _, text := range []string{"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", "-----BEGIN s3cret"} {
		l := &Login{
			Store: &Store{Dir: t.TempDir()}, Server: server, Itself: true,
			Client: Client{ID: fakemcp.Robot, Secret: text},
		}
		_, err := l.Run(t.Context())
		if said := fmt.Sprint(err); err == nil || !strings.Contains(said, "the client's key") ||
			strings.Contains(said, "s3cret") || strings.Contains(said, "c2Vj") {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestPort signs in as a client that is registered with a port of this machine: there alone, and told where that is
// taken.
func TestPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port
	l := &Login{
		Store: &Store{Dir: t.TempDir()}, Server: site(t, "-lie", "no-registration", "-client", "mine"), Port: port,
		Show: browser(t), Client: Client{ID: "mine"},
	}
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the port that the client is registered for") {
		t.Errorf("with a port that is taken: %v", err)
	}
	taken.Close()
	g, err := l.Run(t.Context())
	if want := fmt.Sprintf("http://localhost:%d/callback", port); err != nil || g.Client.Redirect != want || g.Client.ID != "mine" {
		t.Errorf("signed in as %+v, %v", g.Client, err)
	}
}
