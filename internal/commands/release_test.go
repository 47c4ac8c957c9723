package commands

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/hint"
)

func TestNewestRelease(t *testing.T) {
	const page = "https://github.com/example/codemode/releases/tag/v1.10.0"
	for _, tt := range []struct{ name, running, status, body, want, err string }{
		{
			"newer", "1.9.0", "200", `{"tag_name": "v1.10.0", "html_url": "` + page + `"}`,
			"1.10.0, newer than this " + page, "",
		},
		{"the same", "1.10.0", "200", `{"tag_name": "v1.10.0"}`, "1.10.0, no newer than this", ""},
		{"from source", "devel", "200", `{"tag_name": "v0.1.0"}`, "0.1.0, newer than this", ""},
		{"before a release", "1.10.0-rc.1", "200", `{"tag_name": "1.10.0"}`, "1.10.0, newer than this", ""},
		{
			"forged", "1.0.0", "200", `{"tag_name": "v1.1.0", "html_url": "x\u001b[2K"}`,
			`1.1.0, newer than this x\x1b[2K`, "",
		},
		{"none", "1.0.0", "404", `{"message": "Not Found"}`, "", `it answered "404 Not Found"`},
		{"no version", "1.0.0", "200", `{"tag_name": "nightly"}`, "", "its answer names no version"},
		{"a page", "1.0.0", "200", `<html>`, "", "its answer names no version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.UserAgent() != "codemode/"+tt.running {
					t.Errorf("it calls itself %q", r.UserAgent())
				}
				var code int
				_, _ = fmt.Sscan(tt.status, &code)
				w.WriteHeader(code)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			got, err := newestRelease(t.Context(), server.URL, tt.running, time.Minute)
			if tt.err == "" && err != nil || got.String() != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || hint.Of(err) == nil) {
				t.Errorf("%v; want %q and a hint", err, tt.err)
			}
		})
	}
}

// TestNewestReleaseIsBounded holds that an address that never answers is given up, and that no password is told.
func TestNewestReleaseIsBounded(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	)
	defer server.Close()
	_, err := newestRelease(
		t.Context(), strings.Replace(server.URL, "//", "//me:s3cret@", 1), "1.0.0", time.Millisecond,
	)
	if err == nil || !strings.HasSuffix(err.Error(), "no answer within 1ms") ||
		strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// TestVersionAsksOnlyWhenTold counts the questions of every command that needs no sandbox.
func TestVersionAsksOnlyWhenTold(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"tag_name": "v99.0.0"}`))
	}))
	defer server.Close()
	home := t.TempDir()
	run := func(args ...string) string {
		var out bytes.Buffer
		vars := map[string]string{"HOME": home, "CODEMODE_RELEASE_ADDRESS": server.URL}
		code := Main(context.Background(), Env{
			Args: append([]string{"codemode"}, args...), Stdout: &out, Stderr: &out, Dir: home,
			Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		})
		if code != 0 {
			t.Errorf("%q ended with %d: %s", args, code, &out)
		}
		return out.String()
	}
	for _, args := range [][]string{
		{"version"}, {"--version"}, {"version", "--json"}, {"help"}, {"config"}, {"servers"},
	} {
		run(args...)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("it was asked %d times, and nobody had said so", n)
	}
	if out := run("version", "--check"); asked.Load() != 1 ||
		!strings.Contains(out, "  newest    99.0.0, newer than this\n") {
		t.Errorf("asked %d times: %s", asked.Load(), out)
	}
}

// TestRedactedAddress holds that no address is shown with what gives access to it.
func TestRedactedAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:s3cretWord@h/r":                    "https://***@h/r",
		"https://ghp_abcdefghijklmnopqrstuvwxyz0123@h/r": "https://***@h/r",
		"https://h/r?access_token=TokenWord99&page=2":    "https://h/r?access_token=***&page=2",
		"https://api.example.com/repos/o/r":              "https://api.example.com/repos/o/r",
	} {
		if got := redacted(address); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}
