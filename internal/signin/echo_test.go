package signin

import (
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
