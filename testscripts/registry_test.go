package testscripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fakeRegistry is an MCP registry on loopback, of the documents in a folder, a file each as the registry answers it.
// Its pages have two of them. A file called "answer" is what it answers to everything: a status, the type of the rest,
// and the rest, separated by line ends.
func fakeRegistry(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fakeregistry FILE FOLDER")
		return 2
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(args[0]+".new", []byte("http://"+l.Addr().String()+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(args[0]+".new", args[0])
	}
	if err == nil {
		err = http.Serve(l, registryHandler(args[1]))
	}
	fmt.Fprintln(os.Stderr, "fakeregistry:", err)
	return 1
}

func registryHandler(folder string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) {
		all := documents(folder, r.FormValue("search"))
		from, _ := strconv.Atoi(r.FormValue("cursor"))
		to, next := min(len(all), from+2), ""
		if to < len(all) {
			next = strconv.Itoa(to)
		}
		page := map[string]any{"servers": all[from:to], "metadata": map[string]any{"nextCursor": next, "count": to - from}}
		_ = json.NewEncoder(w).Encode(page)
	})
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/latest", func(w http.ResponseWriter, r *http.Request) {
		for _, d := range documents(folder, "") {
			if bytes.Contains(d, []byte(`"name": "`+r.PathValue("name")+`"`)) {
				_, _ = w.Write(d)
				return
			}
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"title":"Not Found","status":404,"detail":"Server not found"}`))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(folder, "answer"))
		if err != nil {
			mux.ServeHTTP(w, r)
			return
		}
		status, rest, _ := strings.Cut(string(text), "\n")
		kind, body, _ := strings.Cut(rest, "\n")
		n, _ := strconv.Atoi(status)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(n)
		_, _ = w.Write([]byte(body))
	})
}

// documents are those with a text in them, in the order of their files' names.
func documents(folder, text string) (list []json.RawMessage) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err == nil && strings.Contains(strings.ToLower(string(data)), strings.ToLower(text)) {
			list = append(list, data)
		}
	}
	return list
}
