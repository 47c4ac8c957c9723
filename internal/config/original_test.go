package config

import (
	"slices"
	"testing"
)

// TestName holds what a text calls settings: what has set them.
func TestName(t *testing.T) {
	file := writeFile(t, "\nsandbox.memory = '1g'\n")
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"MCP_BRIDGE_RUNTIME": "podman", "MCP_BRIDGE_IMAGE": "x"}[name]
		return v, ok
	}
	c, err := Load(Source{File: file, Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Name([]string{
		"Set `sandbox.image` to another.", "Set `sandbox.runtime = \"podman\"`.", "raise sandbox.memory",
		"Set `sandbox.memory` or sandbox.cpus.",
	})
	want := []string{
		"Set `MCP_BRIDGE_IMAGE` to another.", "Set `MCP_BRIDGE_RUNTIME=podman`.",
		"raise sandbox.memory (config.toml, line 2)",
		"Set `sandbox.memory` (config.toml, line 2) or sandbox.cpus.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if c.Sandbox.Pull != "missing" || c.Sandbox.Order[0] != "podman" {
		t.Errorf("an image that was asked for as the original's: pull %q, order %q", c.Sandbox.Pull, c.Sandbox.Order)
	}
}

// TestOriginalMeansLess holds that what anybody sets himself wins over what the original's variables mean besides.
func TestOriginalMeansLess(t *testing.T) {
	file := writeFile(t, "sandbox.pull = 'never'\nsandbox.order = ['native']\n")
	c, err := Load(Source{File: file, Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"MCP_BRIDGE_IMAGE": "x"}[name]
		return v, ok
	}})
	if err != nil || c.Sandbox.Pull != "never" || !slices.Equal(c.Sandbox.Order, []string{"native"}) {
		t.Errorf("pull %q, order %q, error %v", c.Sandbox.Pull, c.Sandbox.Order, err)
	}
}
