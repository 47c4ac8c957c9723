package commands

import (
	"path/filepath"
	"syscall"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// TestKeepUnread has a folder be unreadable for a moment, as when descriptors have run out: its servers stay, others'
// go.
func TestKeepUnread(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "MCPs")
	before := &tenancy{usable: []config.Server{
		{Name: "mine", Source: filepath.Join(folder, "servers.json")},
		{Name: "removed", Source: filepath.Join(folder, "..", "elsewhere.json")},
	}}
	next := &tenancy{found: clientcfg.Found{Problems: []clientcfg.Problem{{File: folder, Err: syscall.EMFILE}}}}
	next.keepUnread(before)
	if len(next.usable) != 1 || next.usable[0].Name != "mine" {
		t.Errorf("the servers are %+v", next.usable)
	}
}
