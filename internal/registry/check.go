package registry

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"codemode/internal/lazyregexp"
)

// Bounds of an entry that anybody could read before agreeing to it.
const (
	maxInputs = 100
	maxText   = 4 << 10
)

var (
	variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	header   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
)

// isLiteral says whether a publisher's text means itself: it hides nothing from who reads it, and is no reference to
// the user's environment, nor a beginning of one, which another text could complete.
func isLiteral(text string) bool {
	return len(text) <= maxText && utf8.ValidString(text) && !strings.Contains(text, "${") &&
		!strings.HasSuffix(text, "$") &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// What identifies a package. None begins with "-", is a path or URL, or can be more than one word.
var (
	npmName     = lazyregexp.New(`^(@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,213}$`)
	npmVersion  = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{1,100})?$`)
	archive     = lazyregexp.New(`(?i)\.(tgz|tar|tar\.gz)$`) // which npm would take for a file
	pypiName    = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,127}[A-Za-z0-9])?$`)
	pypiVersion = lazyregexp.New(`^[0-9][A-Za-z0-9.!+_-]{0,100}$`) // a version, PEP 440
	imageName   = lazyregexp.New(
		`^[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?` +
			`(@sha256:[a-f0-9]{64})?$`,
	)
	tagged = lazyregexp.New(`[:@][^/]*$`)
	// transport is what podman would take for another place than a registry (containers-transports(5)).
	transport = lazyregexp.New(`^(containers-storage|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|dir|docker):`)
	number    = lazyregexp.New(`^([0-9]+|0x[0-9a-f]*)$`)
)

// packageHosts are where each kind of package is fetched from when nothing else is said.
var packageHosts = map[string]string{"npm": "npmjs.org", "pypi": "pypi.org"}

// identifier is how a package is named to what starts it, or what is wrong with it.
func identifier(p Package) (what, problem string) {
	if home := packageHosts[p.Type]; home != "" && p.Base != "" {
		u, err := url.Parse(p.Base)
		if err != nil || u.Hostname() != home && !strings.HasSuffix(u.Hostname(), "."+home) {
			return "", fmt.Sprintf("is a package of %q, which is not fetched from", clipped(p.Base))
		}
	}
	ok := false
	switch what = p.Identifier; p.Type {
	case "npm":
		ok = npmName().MatchString(what) && npmVersion().MatchString(p.Version) && !archive().MatchString(p.Version)
		what += "@" + p.Version
	case "pypi":
		ok = pypiName().MatchString(what) && pypiVersion().MatchString(p.Version)
		what += "==" + p.Version
	case "oci":
		what = imageOf(p)
		ok = len(what) <= 512 && imageName().MatchString(what) && tagged().MatchString(what) &&
			!transport().MatchString(what)
	}
	if !ok {
		const text = "is the %s package %q of version %q, which is none"
		return "", fmt.Sprintf(text, p.Type, clipped(p.Identifier), clipped(p.Version))
	}
	return what, ""
}

// imageOf is the whole name of an image. Before December 2025, its registry and version stood beside it.
func imageOf(p Package) string {
	what := p.Identifier
	if u, err := url.Parse(p.Base); err == nil && u.Host != "" && u.Host != "docker.io" &&
		!strings.HasPrefix(what, u.Host+"/") {
		what = u.Host + "/" + what
	}
	if !tagged().MatchString(what) && p.Version != "" {
		what += ":" + p.Version
	}
	return what
}

// isLocalOrAddress says whether a host is this machine or an address, in any way of writing one that resolvers take: a
// service for everybody has a name, whose last part is no number.
func isLocalOrAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || number().MatchString(last)
}
