package visible

import (
	"net/netip"

	"codemode/internal/lazyregexp"
)

// numericHost is a host whose last part makes browsers take it for an address (url.spec.whatwg.org, "ends in a number",
// 2026-11).
var numericHost = lazyregexp.New(`(?i)(^|\.)(\d+|0x[0-9a-f]*)\.?$`)

// OddAddress says whether a URL's host is an address in another spelling than the usual one, in which nobody sees where
// it leads: 2130706433 and 0x7f.1 are 127.0.0.1.
func OddAddress(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String() != host || ip.Is4In6()
	}
	return numericHost().MatchString(host)
}
