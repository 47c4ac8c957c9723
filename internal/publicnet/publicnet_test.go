package publicnet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
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

// TestTwoAddresses: who has a name lead to this machine and elsewhere is elsewhere, and a name that led here is not
// followed elsewhere.
func TestTwoAddresses(t *testing.T) {
	defer func(before *net.Resolver) { net.DefaultResolver = before }(net.DefaultResolver)
	for _, c := range []struct {
		answers []string
		inside  bool
	}{
		{[]string{"127.0.0.1"}, true},
		{[]string{"10.0.0.1", "127.0.0.1"}, true},
		{[]string{"93.184.216.34", "127.0.0.1"}, false},
		{[]string{"127.0.0.1", "93.184.216.34"}, false},
		{nil, false},
	} {
		net.DefaultResolver = answering(t, c.answers)
		if got := LeadsInside(t.Context(), "server.example"); got != c.inside {
			t.Errorf("%v: %t", c.answers, got)
		}
	}
	net.DefaultResolver = answering(t, []string{"93.184.216.34"})
	_, err := (&http.Client{Transport: Inside("server.example")}).Get("http://Server.example:1/")
	if err == nil || !strings.Contains(err.Error(), "now to 93.184.216.34") {
		t.Errorf("a name that leads elsewhere by now: %v", err)
	}
}

// answering is a resolver whose server has those addresses for each name.
func answering(t *testing.T, addresses []string) *net.Resolver {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12 // of the question: RFC 1035 section 4.1
			for end < n && buf[end] != 0 {
				end += int(buf[end]) + 1
			}
			end += 5
			reply := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buf[12:end]...)
			for _, a := range addresses {
				if ip := netip.MustParseAddr(a).As4(); buf[end-3] == 1 { // a question for A
					reply[7]++
					reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ip[0], ip[1], ip[2], ip[3])
				}
			}
			_, _ = server.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
