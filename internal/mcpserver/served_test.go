package mcpserver

import "testing"

// TestServedAs: a client is told of no type that it would draw or run as code has made it.
func TestServedAs(t *testing.T) {
	for kind, want := range map[string]string{
		"text/csv": "text/csv", "application/json": "application/json", "application/pdf": "application/pdf",
		"image/svg+xml": "text/plain", "text/html": "text/plain", "text/html; charset=utf-8": "text/plain",
		"application/xhtml+xml": "text/plain", "image/png": "application/octet-stream",
		"text/xml": "text/plain", "application/vnd.ms-office.xmlsheet": "application/vnd.ms-office.xmlsheet",
		"image/x-anything": "application/octet-stream", "": "",
	} {
		if got := servedAs(kind); got != want {
			t.Errorf("%q is served as %q, want %q", kind, got, want)
		}
	}
}
