package commands

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestUnaskedIsNotShown holds that what a server sends behind its answer, which net/http writes to Go's own log, is
// shown by no command.
func TestUnaskedIsNotShown(t *testing.T) {
	defer log.SetOutput(log.Writer())
	var shown bytes.Buffer
	log.SetOutput(&shown)
	run("version")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		<-time.After(50 * time.Millisecond) // until the client keeps the connection
		_, _ = io.WriteString(c, "Authorization: Bearer SECRET")
		_, _ = io.Copy(io.Discard, c) // until it has closed it
	}()
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	<-sent
	if strings.Contains(shown.String(), "SECRET") {
		t.Errorf("shown is %q", shown.String())
	}
}
