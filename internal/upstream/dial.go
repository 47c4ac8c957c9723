package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"codemode/internal/config"
)

// newHTTPTransport is the way out to one server: by the proxy that the environment names (HTTPS_PROXY, NO_PROXY, …),
// with the system's certificates (SSL_CERT_FILE, SSL_CERT_DIR) and those of NODE_EXTRA_CA_CERTS, which the clients that
// entries come from know.
func newHTTPTransport(c config.Server, endpoint *url.URL, lookup func(string) (string, bool)) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if c.Project != "" && !namesThisMachine(endpoint.Hostname()) {
		dialer.ControlContext = onlyPublic
	}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	if proxy, err := t.Proxy(&http.Request{URL: endpoint}); err == nil && proxy != nil {
		dialer.ControlContext = nil // what is dialled is the proxy, which the user has named
	}
	if file, ok := lookup("NODE_EXTRA_CA_CERTS"); ok && file != "" && endpoint.Scheme == "https" {
		pool, err := withCertificates(file)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

// withCertificates are the system's certificates and those of a file.
func withCertificates(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading NODE_EXTRA_CA_CERTS: %w", err)
	}
	pool.AppendCertsFromPEM(data)
	return pool, nil
}

// namesThisMachine says whether an entry names an address outright, or this machine: who has approved it has seen that.
func namesThisMachine(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// sharedAddresses are those between a provider and its customers, RFC 6598.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// onlyPublic refuses a connection to this machine or its network where a project's entry names a host that leads there:
// what a name leads to can change after it was approved (DNS rebinding).
func onlyPublic(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() ||
		sharedAddresses.Contains(ip) {
		return &refusedError{
			what: fmt.Sprintf(
				"its host leads to %s, an address of this machine or its network, which a project's entry may not", ip,
			),
			hint: "if that is right, have the entry in codemode's own servers: codemode servers add",
		}
	}
	return nil
}
