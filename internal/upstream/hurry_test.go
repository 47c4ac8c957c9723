package upstream

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"codemode/internal/fakemcp"
)

// TestHurry has servers end that would have their time, by their process and by URL, once nobody waits for them.
func TestHurry(t *testing.T) {
	inner := fakemcp.Handler()
	ending := make(chan bool)
	far := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			close(ending)
			<-r.Context().Done() // until its client has gone
			return
		}
		inner.ServeHTTP(w, r)
	}))
	f := newPool(t, nil, fake("stubborn", "-ignore-eof", "-ignore-term"), far.at("/mcp"))
	for _, name := range []string{"stubborn", "far"} {
		if got := f.text(name, "echo", `{"message":"here"}`); got != "here" {
			t.Fatalf("%s says %q", name, got)
		}
	}
	if got := fmt.Sprint(f.Running()); got != "[far stubborn]" {
		t.Errorf("running: %s", got)
	}
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	<-ending
	began := time.Now()
	f.Hurry()
	if err := <-closed; err != nil || time.Since(began) >= stopGrace {
		t.Errorf("closed after %v, %v", time.Since(began), err)
	}
	if got := fmt.Sprint(f.Running()); got != "[]" {
		t.Errorf("running: %s", got)
	}
}
