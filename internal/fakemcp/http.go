package fakemcp

import (
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler is what [Main] serves with -http, for tests in their own process. The arguments are Main's.
func Handler(args ...string) http.Handler {
	o, err := parse(args)
	if err != nil {
		panic(err)
	}
	return handler(o)
}

// handler is the server by URL: /mcp is Streamable HTTP, /json answers with JSON instead of streams, /stateless keeps
// no sessions, /sse is the older transport. With a token, all of them want it.
func handler(o options) http.Handler {
	one := newServer(o) // for all sessions: making one takes milliseconds, and the newest revision asks at each call
	server := func(*http.Request) *mcp.Server { return one }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(server, nil))
	mux.Handle("/json", mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	stateless := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Stateless: true})
	mux.Handle("/stateless", newTasks(o).before(stateless))
	mux.Handle("/sse", mcp.NewSSEHandler(server, nil))
	if o.oauth {
		return newOAuth(o).protect(mux)
	}
	if o.token == "" {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+o.token {
			w.Header().Set("WWW-Authenticate", `Bearer realm="fake"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveHTTP serves on a free port of this machine until it is killed. The file gets the address, whole; one that it has
// already, of a server that was killed, is served again.
func serveHTTP(o options) error {
	address := "127.0.0.1:0"
	if before, err := os.ReadFile(o.http); err == nil {
		address = strings.TrimPrefix(string(before), "http://")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	err = os.WriteFile(o.http+".new", []byte("http://"+l.Addr().String()), 0o600)
	if err == nil {
		err = os.Rename(o.http+".new", o.http)
	}
	if err != nil {
		return err
	}
	return http.Serve(l, handler(o))
}
