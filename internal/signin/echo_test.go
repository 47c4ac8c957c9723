package signin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestToldClientSecret: an authorization server tells how it was asked. What Basic has is the secret with its odd
// characters escaped.
func TestToldClientSecret(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, secret, _ := r.BasicAuth()
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"server_error","error_description":"%s %s"}`, r.Header.Get("Authorization"), secret)
	}))
	defer s.Close()
	c := Client{ID: "me", Secret: "Odd+Secret/Value=", Method: "client_secret_basic"}
	_, err := c.post(t.Context(), s.Client(), s.URL, url.Values{})
	if err == nil || strings.Contains(err.Error(), "Odd") || strings.Contains(err.Error(), "bWU6T2RkJTJCU2Vjcm") {
		t.Errorf("it says %v", err)
	}
}

// TestToldInPassing: what an answer repeats that is no answer at all is masked, too: in its lines, and where it leads.
func TestToldInPassing(t *testing.T) {
	const secret, token = "cs9Lq2VbN8xT4wRz", "rt7Hn3KdW5yP1mQs"
	for name, answer := range map[string]string{
		"status":   "HTTP/1.1 %s x\r\n\r\n",
		"length":   "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n",
		"encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
		"line":     "HTTP/1.1 200 OK\r\nno colon %s\r\n\r\n",
		"elsewhere": "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://%s.evil.example/x\r\n" +
			"Content-Length: 0\r\n\r\n",
	} {
		for _, method := range []string{"client_secret_basic", "client_secret_post"} {
			said := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintf(conn, answer, said)
				conn.Close()
			}))
			client := s.Client()
			client.CheckRedirect = stay
			c := Client{ID: "me", Secret: secret, Method: method}
			for _, said = range []string{secret, token, base64.StdEncoding.EncodeToString([]byte("me:" + secret))} {
				_, err := c.post(t.Context(), client, s.URL, url.Values{"refresh_token": {token}})
				if err == nil || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(said)) ||
					!errors.Is(err, errNoAnswer) {
					t.Errorf("%s, %s: %v", name, method, err)
				}
			}
			s.Close()
		}
	}
}
