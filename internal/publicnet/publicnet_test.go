package publicnet

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestControl judges an address of each block, of those that embed another, and beside them.
func TestControl(t *testing.T) {
	own := []net.Addr{
		&net.IPNet{IP: net.ParseIP("93.184.216.99"), Mask: net.CIDRMask(24, 32)},
		&net.IPNet{IP: net.ParseIP("2606:2800:220:1::99"), Mask: net.CIDRMask(64, 128)},
	}
	interfaceAddrs = func() ([]net.Addr, error) { return own, nil }
	t.Cleanup(func() { interfaceAddrs = net.InterfaceAddrs })
	for at, public := range map[string]bool{
		"127.0.0.1": false, "10.1.2.3": false, "::1": false, "::ffff:192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "172.31.0.1": false, "fd00::1": false, "fe80::1%1": false,
		"192.0.0.9": false, "192.0.2.1": false, "192.88.99.1": false, "198.18.0.9": false, "198.19.255.255": false,
		"198.51.100.1": false, "203.0.113.5": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::7f00:1": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::c0a8:101": false,
		"64:ff9b:1::5db8:d822": false, "100::1": false, "100:0:0:1::1": false, "2001::1": false, "2001:20::1": false,
		"2001:db8::5": false, "2002:7f00:1::": false, "2002:5db8:d822::1": false, "3fff::1": false, "5f00::1": false,
		"fec0::1": false, "ff0e::1": false,
		"93.184.216.99": false, "::ffff:93.184.216.99": false, "64:ff9b::5db8:d863": false, "2606:2800:220:1::99": false,
		"93.184.216.34": true, "::ffff:93.184.216.34": true, "64:ff9b::5db8:d822": true, "2606:2800:220:1::1": true,
		"198.17.0.1": true, "198.20.0.1": true, "192.0.1.1": true, "172.32.0.1": true, "2001:200::1": true,
		"2003::1": true,
	} {
		if err := Control(t.Context(), "tcp", net.JoinHostPort(at, "443"), nil); (err == nil) != public {
			t.Errorf("%s: %v", at, err)
		}
	}
	interfaceAddrs = func() ([]net.Addr, error) { return nil, errors.New("no addresses") }
	if err := Control(t.Context(), "tcp", "93.184.216.34:443", nil); err == nil {
		t.Error("where its own addresses cannot be told, an address passes")
	}
}

// TestTransport asks for what is on this machine, by its address and by its name.
func TestTransport(t *testing.T) {
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	client := &http.Client{Transport: Transport()}
	for _, address := range []string{s.URL, "http://localhost" + s.URL[len("http://127.0.0.1"):], "http://[::1]:1"} {
		_, err := client.Get(address)
		var refused *Error
		if !errors.As(err, &refused) || asked {
			t.Errorf("%s: %v, asked %v", address, err, asked)
		}
	}
	if !LeadsInside(t.Context(), "127.0.0.1") || !LeadsInside(t.Context(), "LocalHost") || LeadsInside(t.Context(), "93.184.216.34") {
		t.Error("what leads inside is not known")
	}
	if !Outright("10.0.0.1") || !Outright("localhost") || Outright("vm") {
		t.Error("what says where it leads is not known")
	}
}
