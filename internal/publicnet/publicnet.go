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
	"strings"
	"syscall"
	"time"
)

// An Error is an address that a stranger's name leads to, and may not.
type Error struct{ At string }

func (e *Error) Error() string {
	return fmt.Sprintf("its host leads to %s, an address of this machine or its network, which a stranger's may not", e.At)
}

// shared are the addresses between a provider and its customers, RFC 6598.
var shared = netip.MustParsePrefix("100.64.0.0/10")

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() &&
		!ip.IsUnspecified() && !shared.Contains(ip)
}

// Outright says whether a host is an address, or this machine's own name: who reads it sees where it leads.
func Outright(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// LeadsInside says whether a host leads to this machine or its network now.
func LeadsInside(ctx context.Context, host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, ip := range list {
		if !public(ip) {
			return true
		}
	}
	return false
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
