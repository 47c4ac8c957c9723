// Package publicnet keeps what a stranger names from leading to this machine or its network: a name of a project's
// entry, an address in a server's document. What a name leads to can change at any time (DNS rebinding), so it is the
// address of each connection that is judged. It owns nothing and never resolves a name by itself but in [LeadsInside].
package publicnet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An Error is an address that a stranger's name leads to, and may not.
type Error struct{ At string }

func (e *Error) Error() string {
	return fmt.Sprintf("its host leads to %s, which is no public address of another machine; "+
		"a stranger's may lead to no other", e.At)
}

// special are the blocks that are no public server's, of IANA's registries of special-purpose addresses for IPv4 and
// IPv6 (iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry, with the allocations until
// 2025-04) and of multicast. 6to4 (2002::/16) and Teredo (in 2001::/23) are here whole: each embeds an address of IPv4
// that a relay would lead to, and both are out of use.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	// globalUnicast is all of IPv6 that is given to networks. What its registry lists, and special does not, lies
	// outside.
	globalUnicast = netip.MustParsePrefix("2000::/3")

	// nat64 leads to the IPv4 address in its last four bytes, RFC 6052. Networks without IPv4 reach servers by it.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// interfaceAddrs are this machine's own addresses, which may be public ones; a variable for tests.
var interfaceAddrs = net.InterfaceAddrs

// public says whether an address is a public one, and of another machine. Where it cannot be told which addresses are
// this machine's, none is.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if ip.Is6() && !globalUnicast.Contains(ip) ||
		slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return false
	}
	own, err := interfaceAddrs()
	return err == nil && !slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}

// Outright says whether a host is an address, or this machine's own name: who reads it sees where it leads.
func Outright(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// LeadsInside says whether a host leads to this machine or its network now, by all of its addresses.
func LeadsInside(ctx context.Context, host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	return len(list) > 0 && !slices.ContainsFunc(list, public)
}

// Inside connects to a host by addresses of this machine and its network alone, as it was found to lead there: who owns
// its name can have it lead elsewhere by now. Others it connects to wherever they are.
func Inside(host string) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := &net.Dialer{Timeout: 30 * time.Second}
		if to, _, _ := net.SplitHostPort(address); strings.EqualFold(to, host) {
			dialer.Control = insideOnly
		}
		return dialer.DialContext(ctx, network, address)
	}
	return t
}

func insideOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && public(at.Addr()) {
		err = fmt.Errorf("its host led to this machine's network, and now to %s", at.Addr().Unmap())
	}
	return err
}

// Control refuses a connection to this machine or its network; it is a [net.Dialer]'s ControlContext.
func Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !public(at.Addr()) {
		return &Error{at.Addr().Unmap().String()}
	}
	return nil
}

// Transport connects to public addresses alone. Where the environment names a proxy, that is connected to wherever it
// is, and asked for no address that is not public.
func Transport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 30 * time.Second, ControlContext: Control}
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy, direct.DialContext = nil, dialer.DialContext
	return &transport{direct: direct, proxied: http.DefaultTransport}
}

type transport struct{ direct, proxied http.RoundTripper }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, err
	}
	host := req.URL.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && !public(ip) || strings.EqualFold(host, "localhost") {
		return nil, &Error{host}
	}
	if proxy != nil {
		return t.proxied.RoundTrip(req)
	}
	return t.direct.RoundTrip(req)
}
