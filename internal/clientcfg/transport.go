package clientcfg

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"codemode/internal/config"
)

// transports are the words for them, in any case and with any separator.
var transports = map[string]string{
	"stdio": config.Stdio, "local": config.Stdio,
	"http": config.HTTP, "streamablehttp": config.HTTP, "remote": config.HTTP,
	"sse": config.SSE,
}

var unseparated = strings.NewReplacer("-", "", "_", "", " ", "")

// builtin are types of Goose's extensions that are no MCP servers (its documentation, 2026-11).
var builtin = map[string]bool{"builtin": true, "platform": true, "frontend": true, "inlinepython": true}

// transport decides how the server is reached, and whether it can be.
func (f *file) transport(e *Entry, r *fields) error {
	s := &e.Server
	written := r.text("type", "transport", "transportType")
	kind := unseparated.Replace(strings.ToLower(written))
	transport := transports[kind]
	if err := f.unsupported(r, kind, transport, written); err != nil {
		return err
	}
	switch {
	case s.Command == "" && s.URL == "" && r.has("settings") && f.client.Entry == Context:
		return &foreignError{
			fmt.Errorf("server %q is an extension of %s, which alone can start it", e.Written, f.client.Title),
		}
	case s.Command == "" && s.URL == "":
		return &config.FieldError{Server: e.Written, Want: `has neither "command" nor "url"`}
	case s.Command != "" && s.URL != "" && f.client.Entry == Codex:
		return &config.FieldError{Server: e.Written, Want: "mixes stdio and http: it has a command and a url"}
	case s.Command != "" && s.URL != "":
		note(e, `it has both "command" and "url"; "command" counts`)
		s.URL, s.Headers = "", nil
	}
	if s.Command != "" {
		s.Transport = config.Stdio
		return nil
	}
	if written == "" && f.client.Typed {
		note(e, `%s itself rejects a "url" without a "type"`, f.client.Title)
	}
	if supported, err := checkURL(e.Written, s.URL); err != nil {
		if supported { // and its own program may read an address in it that is another's
			e.tells = tellsNothing
		}
		return err
	}
	switch {
	case transport == config.HTTP || transport == config.SSE:
		s.Transport = transport
	case r.has("httpUrl", "serverUrl"):
		s.Transport = config.HTTP
	case f.client.BareURL == config.SSE || strings.HasSuffix(strings.TrimRight(urlPath(s.URL), "/"), "/sse"):
		s.Transport = config.SSE
	default:
		s.Transport = config.HTTP
	}
	return nil
}

// unsupported says what about an entry only its own program can do.
func (f *file) unsupported(r *fields, kind, transport, written string) error {
	what := ""
	switch {
	case builtin[kind]:
		return &foreignError{&config.FieldError{Server: r.server, Want: "is built into " + f.client.Title}}
	case kind == "sse" && f.client.Entry == Goose:
		what = "is reached by sse, which Goose itself no longer supports"
	case kind != "" && transport == "":
		what = fmt.Sprintf("is of type %q, which is not supported", written)
	case r.has("headersHelper"):
		what = `has a "headersHelper", a program that codemode does not start`
	case r.has("bearer_token") && f.client.Entry == Codex:
		what = `has a "bearer_token", which Codex itself rejects`
	case r.has("tcp", "socket"):
		what = "is reached by a socket, which is not supported"
	}
	if what == "" {
		return nil
	}
	return &config.FieldError{Server: r.server, Want: what}
}

// checkURL never shows the URL: it may hold a key. One that begins with a reference is checked when it is known.
// Browsers' rules, which Node.js has, leave out blanks around a URL and line ends, and take a backslash for a slash
// (https://url.spec.whatwg.org/#concept-basic-url-parser, read November 2026); Go has another address then, or none.
func checkURL(server, text string) (supported bool, err error) {
	wrong := func(want string) (bool, error) {
		return true, &config.FieldError{Server: server, Field: "url", Want: want}
	}
	scheme, _, ok := strings.Cut(text, "://")
	path, _, _ := strings.Cut(text, "?")
	switch {
	case strings.Trim(text, " ") != text, strings.ContainsFunc(text, unicode.IsControl), strings.Contains(path, `\`):
		return wrong("a URL without blanks around it, line ends and backslashes")
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		return true, nil
	case slices.Contains([]string{"ws", "wss", "unix", "pipe"}, strings.ToLower(scheme)):
		return false, &config.FieldError{
			Server: server, Want: fmt.Sprintf("is reached by %s, which is not supported", strings.ToLower(scheme)),
		}
	case strings.ContainsAny(scheme, "${"):
		return true, nil
	case !ok:
		return wrong("a whole URL, beginning with http:// or https://")
	}
	return wrong("an http or https URL")
}

func urlPath(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Path
}
