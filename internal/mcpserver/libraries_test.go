package mcpserver

import (
	"context"
	"errors"
	"testing"

	"codemode/internal/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What code can import is what the sandbox has.
func TestLibraries(t *testing.T) {
	installed := func(names ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return names, nil }
	}
	many := []string{"numpy", "pandas"}
	for range 30 {
		many = append(many, "of_thirty_")
	}
	for _, c := range []struct {
		sandbox  config.Sandbox
		packages func(context.Context) ([]string, error)
		want     string
	}{
		{config.Sandbox{Runtime: "auto"}, nil, "standard library only"},
		{config.Sandbox{Runtime: "docker", Image: "python:3.14-slim"}, nil, "standard library only"},
		{config.Sandbox{Runtime: "docker", Image: "science:1"}, nil, "what the image science:1 has"},
		{config.Sandbox{Runtime: "auto"}, installed(), "standard library only"},
		{config.Sandbox{Runtime: "native"}, installed("polars"), "standard library, polars"},
		{config.Sandbox{Runtime: "podman", Image: "python:3.14"}, installed("polars"), "standard library, polars"},
		{config.Sandbox{Python: "/venv"}, installed("numpy", "pandas"), "standard library, numpy, pandas"},
		{
			config.Sandbox{Python: "/venv"}, installed(many...), "standard library, numpy, pandas, of_thirty_, of_thirty_ and 28 more",
		},
		{
			config.Sandbox{Python: "/venv"},
			func(context.Context) ([]string, error) { return nil, errors.New("no") },
			"the packages of /venv",
		},
	} {
		b := New(nil, Options{Config: config.Config{Sandbox: c.sandbox}, Packages: c.packages})
		want(t, b.libraries(), c.want)
		contains(t, b.definition().Description, "Sandboxed Python: "+c.want+", no network")
		read, err := b.readCapabilities(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{}})
		if err != nil {
			t.Fatal(err)
		}
		contains(t, read.Contents[0].Text, "`run_python` runs Python ("+c.want+"; top-level `await`)")
	}
}
