package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"codemode/internal/hint"
)

// serve is a registry that answers with f.
func serve(t *testing.T, f http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &Client{Address: s.URL, Agent: "codemode/test"}
}

// listed is a server as a list has it.
func listed(name string) string {
	return fmt.Sprintf(`{"server": {"name": %q, "description": "d", "version": "1.0.0"}}`, name)
}

func TestFind(t *testing.T) {
	pages := map[string]string{
		"": `{"servers": [` + listed("io.a/search-one") + `, 7, {"server": null}, {"server": {"name": "no name"}}, ` +
			listed("io.a/search-one") + `], "metadata": {"nextCursor": "io.a/x:1.0 &", "count": 5}}`,
		"io.a/x:1.0 &": `{"servers": [` + listed("io.a/search-two") + `, ` + listed("io.b/other") + `], "metadata": {}}`,
	}
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		q := r.URL.Query()
		if r.URL.Path != "/v0.1/servers" || q.Get("search") != "search" || q.Get("version") != "latest" || q.Get("limit") != "100" ||
			r.UserAgent() != "codemode/test" {
			t.Errorf("it was asked %s by %s", r.URL, r.UserAgent())
		}
		fmt.Fprint(w, pages[q.Get("cursor")])
	})
	for _, tt := range []struct {
		words []string
		limit int
		want  string
		more  bool
		asked int
	}{
		{[]string{"search"}, 10, "io.a/search-one io.a/search-two io.b/other", false, 2},
		{[]string{"TWO", "search"}, 10, "io.a/search-two", false, 2},
		{[]string{"search"}, 1, "io.a/search-one", true, 2},
		{[]string{"search"}, 2, "io.a/search-one io.a/search-two", true, 2},
		{[]string{"search"}, 3, "io.a/search-one io.a/search-two io.b/other", false, 2},
	} {
		asked = 0
		found, more, err := c.Find(t.Context(), tt.words, tt.limit)
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want || more != tt.more || asked != tt.asked {
			t.Errorf("%v, %d: %s, more %v, %d answers, %v", tt.words, tt.limit, got, more, asked, err)
		}
	}
}

// TestFindEnds holds that a registry whose pages have no end is left after some, or where it stands still.
func TestFindEnds(t *testing.T) {
	asked, next := 0, "same"
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		cursor := next
		if cursor == "" {
			cursor = fmt.Sprint(asked)
		}
		fmt.Fprintf(w, `{"servers": [], "metadata": {"nextCursor": %q}}`, cursor)
	})
	if _, more, err := c.Find(t.Context(), []string{"x"}, 1); asked != 2 || more || err != nil {
		t.Errorf("the same page was asked for %d times; more %v, %v", asked, more, err)
	}
	asked, next = 0, ""
	if _, more, err := c.Find(t.Context(), []string{"x"}, 1); asked != maxPages || !more || err != nil {
		t.Errorf("%d pages were asked for; more %v, %v", asked, more, err)
	}
}

func TestLatest(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/v0.1/servers/io.a%2Fone/versions/latest":
			fmt.Fprint(w, `{"server": {"name": "io.a/one", "version": "1", "packages": [{"registryType": "npm", "packageArguments":
				[{"type": "named", "name": "--port", "default": 3000}, {"type": "named", "name": "-v", "value": true}]}]},
				"_meta": {"io.modelcontextprotocol.registry/official": {"status": "deprecated", "statusMessage": "why"}}}`)
		case "/v0.1/servers/io.a%2Fother/versions/latest":
			fmt.Fprint(w, listed("io.a/one"))
		case "/v0.1/servers/io.a%2Fodd/versions/latest":
			fmt.Fprint(w, `{"server": {"name": "io.a/odd", "packages": {}}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"title": "Not Found", "detail": "Server not found"}`)
		}
	})
	s, err := c.Latest(t.Context(), "io.a/one")
	if err != nil || s.Status != Deprecated || s.Message != "why" || s.Packages[0].Arguments[0].Default != "3000" ||
		s.Packages[0].Arguments[1].Value != "true" {
		t.Errorf("%+v, %v", s, err)
	}
	for name, want := range map[string]string{
		"io.a/other": `server "io.a/other" of the MCP registry is called "io.a/one" in the registry's answer; nothing was written`,
		"io.a/odd":   `server "io.a/odd" of the MCP registry cannot be read: its member packages is a object; nothing was written`,
		"io.a/none":  `has no server "io.a/none"; nothing was written`,
	} {
		if _, err := c.Latest(t.Context(), name); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestErrors holds that what answers and is no registry is told from one, and that nothing of it is believed.
func TestErrors(t *testing.T) {
	page := "<html><title>\n Sign &amp; in\x1b[2J </title>"
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		hint   string
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }, `is not that of a registry: "200 OK" with a page titled "Sign & in\x1b[2J"`, "registry.address"},
		{"a page not found", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); fmt.Fprint(w, page) }, `it answered "404 Not Found" with a page titled`, "registry.address"},
		{"text", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, `not that of a registry: "200 OK" with text/plain`, "registry.address"},
		{"another shape", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[]`) }, `not that of a registry`, "registry.address"},
		{"an error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, `{"detail": "no database"}`)
		}, `it answered "500 Internal Server Error": no database`, "registry.address"},
		{"too often", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "90"); w.WriteHeader(429) }, `it is asked too often now`, "ask again in 1m30s"},
		{"too much", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", maxAnswer+1)) }, `its answer is larger than 8 MiB`, "registry.address"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			fmt.Fprint(w, "{")
		}, `its answer broke off: unexpected EOF`, "registry.address"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://u:secret@127.0.0.2:9/", http.StatusFound)
		}, `it leads on to "http://u:xxxxx@127.0.0.2:9/", which is not followed`, "registry.address"},
		{"in circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, `which is not followed`, "registry.address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, tt.answer)
			c.Address = strings.Replace(c.Address, "//", "//me:hunter2@", 1)
			_, _, err := c.Find(t.Context(), []string{"x"}, 1)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %s", err, tt.want)
			}
			if all := err.Error() + strings.Join(hint.Of(err), "\n"); !strings.Contains(all, tt.hint) || strings.Contains(all, "hunter2") {
				t.Errorf("it is told as %s", all)
			}
		})
	}
}

// TestWait holds that a registry that never answers is given up.
func TestWait(t *testing.T) {
	done := make(chan struct{})
	c := serve(t, func(http.ResponseWriter, *http.Request) { <-done })
	defer close(done)
	c.Wait = 10 * time.Millisecond
	_, err := c.Latest(t.Context(), "io.a/one")
	if err == nil || !strings.Contains(err.Error(), "it cannot be reached: no answer within 10ms") {
		t.Error(err)
	}
}
