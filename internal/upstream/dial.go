package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"codemode/internal/config"
	"codemode/internal/plainfile"
	"codemode/internal/publicnet"
)

// newHTTPTransport is the way out to one server: by the proxy that the environment names (HTTPS_PROXY, NO_PROXY, …),
// with the system's certificates (SSL_CERT_FILE, SSL_CERT_DIR) and those of NODE_EXTRA_CA_CERTS, which the clients that
// entries come from know.
func newHTTPTransport(c config.Server, endpoint *url.URL, lookup func(string) (string, bool)) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if c.Project != "" && !publicnet.Outright(endpoint.Hostname()) {
		dialer.ControlContext = publicnet.Control
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

// maxCertificates is how large a file of certificates may be, in bytes; that of Mozilla's authorities has 0.2 MB.
const maxCertificates = 16 << 20

// withCertificates are the system's certificates and those of a file.
func withCertificates(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	data, err := plainfile.Read(file, maxCertificates)
	if err != nil {
		return nil, fmt.Errorf("reading NODE_EXTRA_CA_CERTS, %q: %w", file, err)
	}
	pool.AppendCertsFromPEM(data)
	return pool, nil
}
