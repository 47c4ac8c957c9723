package publicnet

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestControl(t *testing.T) {
	for address, public := range map[string]bool{
		"127.0.0.1:80": false, "10.1.2.3:80": false, "[::1]:80": false, "[::ffff:192.168.1.1]:80": false,
		"169.254.169.254:80": false, "100.64.0.1:443": false, "0.0.0.0:80": false, "[fd00::1]:80": false,
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true,
	} {
		if err := Control(t.Context(), "tcp", address, nil); (err == nil) != public {
			t.Errorf("%s: %v", address, err)
		}
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
