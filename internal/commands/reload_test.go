package commands

import (
	"path/filepath"
	"reflect"
	"slices"
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

// TestKeepTaken has the file of a server become unreadable whose name another one would have without it.
func TestKeepTaken(t *testing.T) {
	a, b := config.Server{Name: "m", Source: "a"}, config.Server{Name: "m@b", Source: "b"}
	before := &tenancy{usable: []config.Server{a, b}}
	now := config.Server{Name: "m", Source: "b", Doubted: map[string]string{"m": "m@b"}, Unread: "x"}
	next := &tenancy{usable: []config.Server{now}, found: clientcfg.Found{
		Entries:  []clientcfg.Entry{{Server: now, Status: clientcfg.Ready}},
		Problems: []clientcfg.Problem{{File: "a", Err: syscall.EIO, Unread: true}},
	}}
	next.keepUnread(before)
	if want := []config.Server{b, a}; !reflect.DeepEqual(next.usable, want) {
		t.Errorf("the servers are %+v\nwant %+v", next.usable, want)
	}
}

// TestKeepNames has a file become unreadable in which servers may have other names: what was known of those holds, if
// they are as they were and no other name has become known.
func TestKeepNames(t *testing.T) {
	const why = `"mcp.json" is empty`
	before := &tenancy{usable: []config.Server{
		{Name: "same", Also: []string{"alias"}, Sandbox: &config.Restrictions{}},
		{Name: "changed", Command: "old", Also: []string{"alias"}},
		{Name: "named"},
		{Name: "withheld", Also: []string{"alias"}},
		{Name: "excluded", Also: []string{"hidden"}},
		{Name: "doubted", Unread: why},
		{Name: "withheld too", Unread: why},
	}}
	next := &tenancy{usable: []config.Server{
		{Name: "same", Unread: why},
		{Name: "changed", Command: "new", Unread: why},
		{Name: "named", Also: []string{"other"}, Unread: why},
		{Name: "doubted", Unread: why},
		{Name: "added", Unread: why},
	}}
	want := slices.Concat(before.usable[:1], next.usable[1:], before.usable[3:4])
	for _, name := range []string{"withheld", "excluded", "withheld too"} {
		next.found.Entries = append(
			next.found.Entries, clientcfg.Entry{Server: config.Server{Name: name}, Status: withheld},
		)
	}
	// An entry with a mistake that has come since may be one with either, by a name that is known of one alone.
	for _, was := range []config.Server{{Name: "kept", Also: []string{"prod"}}, {Name: "new"}} {
		before.usable = append(before.usable, was)
		next.found.Entries = append(next.found.Entries, clientcfg.Entry{
			Server: config.Server{Name: was.Name}, Status: withheld, Perhaps: []clientcfg.Mistaken{{Name: "prod"}},
		})
	}
	want = append(want, config.Server{Name: "kept", Also: []string{"prod"}})
	next.config.Policy.Deny = []string{"prod.*"}
	next.config.Servers.Exclude = []string{"hidden"}
	next.keepUnread(before)
	if !reflect.DeepEqual(next.usable, want) {
		t.Errorf("the servers are %+v\nwant %+v", next.usable, want)
	}
	read := &tenancy{usable: []config.Server{{Name: "same", Sandbox: &config.Restrictions{}}}}
	read.keepUnread(before)
	if read.usable[0].Also != nil {
		t.Errorf("a name that is read to be gone is kept: %+v", read.usable)
	}
}
