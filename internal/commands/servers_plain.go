package commands

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
	"codemode/internal/visible"
)

// plainlySpelled wants what an entry starts or reaches to be spelled as it is used: what its user is shown is what is
// stored, and judged. The entry is one that code asks for.
func plainlySpelled(fields map[string]any) error {
	command, _ := fields["command"].(string)
	address, _ := fields["url"].(string)
	if command != "" && address != "" {
		return errors.New("an entry has a command or a URL, not both; nothing was written")
	}
	for _, member := range []string{"command", "cwd"} {
		text, _ := fields[member].(string)
		if err := plainPath(member, text); err != nil {
			return err
		}
	}
	started := []string{command, address}
	args, _ := fields["args"].([]any)
	for _, a := range args {
		word, _ := a.(string)
		started = append(started, word)
	}
	cwd, _ := fields["cwd"].(string)
	for _, text := range append(slices.Clone(started), cwd) {
		if strings.Contains(strings.ToLower(text)+"/", "/proc/") {
			return fmt.Errorf("%.200q leads to a process, and to another at another time; nothing was written", text)
		}
	}
	if slices.ContainsFunc(started, func(text string) bool { return defaulted().MatchString(text) }) {
		return errors.New("in what is started or reached a reference has no default: " +
			"ask for that itself; nothing was written")
	}
	if address == "" {
		return nil
	}
	return plainURL(address)
}

func plainPath(member, path string) error {
	inside := strings.ContainsAny(path, "/"+string(filepath.Separator)) || member == "cwd"
	switch plain := filepath.Clean(path); {
	case path == "" || !inside:
	case !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") && !strings.HasPrefix(path, "${"):
		return fmt.Errorf("the path %.200q of %q must be absolute; nothing was written", path, member)
	case plain != path && plain+string(filepath.Separator) != path:
		return fmt.Errorf("the path %.200q of %q is another spelling of %.200q: ask for that; nothing was written",
			path, member, plain)
	}
	return nil
}

var (
	defaulted = lazyregexp.New(`\$\{[^}]*:-`)
	// what needs no escape, RFC 3986 section 2.3
	needless = lazyregexp.New(`(?i)%(2d|2e|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])`)
)

// plainURL wants a URL to show where it leads, and to have one spelling.
func plainURL(text string) error {
	u, err := url.Parse(text)
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	what := ""
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		what = "is no http or https URL with a host"
	case strings.ContainsFunc(text, odd):
		what = "has characters that no URL has"
	case u.User != nil:
		what = "has a user's name in it, which hides where it leads"
	case strings.Contains(u.Host, "$"):
		what = "must name its host"
	case !plainHost(u):
		what = "spells its host in another way than usual"
	case strings.Contains(text, "#"):
		what = "has a fragment, which no server is sent"
	case needless().MatchString(u.EscapedPath()), !plainSegments(u.Path):
		what = "spells its path in another way than usual"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("the URL %.200q %s; nothing was written", text, what)
}

// plainHost says whether a URL's host is spelled in the usual way: small letters, no port that goes without saying, an
// address as it is written by itself.
func plainHost(u *url.URL) bool {
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	name := u.Hostname()
	return name == strings.ToLower(name) && !strings.HasSuffix(name, ".") && !visible.OddAddress(name) &&
		u.Port() != usual && !strings.HasSuffix(u.Host, ":")
}

// plainSegments says whether a path goes straight to where it leads.
func plainSegments(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	detour := slices.ContainsFunc(parts, func(part string) bool { return part == "." || part == ".." })
	return !detour && !strings.Contains(path, "//")
}
