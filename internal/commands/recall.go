package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/atomicfile"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/mcpserver"
	"codemode/internal/plainfile"
	"codemode/internal/servers"
)

// recalled is what serve keeps of the servers that it has found: the few names that its answer to initialize tells,
// and what they were found from. A serve that starts from the same answers with them, and judges the servers behind
// that answer. Nothing else goes by them: what code is given is judged each time.
//
// It holds neither what an entry says nor the value of a variable, which may be secret.
type recalled struct {
	Names     mcpserver.Names
	Files     string            // stampFiles of clientcfg.Places, of the settings' files and of Programs
	Programs  []string          // files that were looked for
	Variables map[string]string // that entries refer to: "unset", "empty" or "set"
}

const (
	// Judging fewer takes less than a millisecond or two.
	manyServers = 100

	maxRecalled = 64 << 10 // bytes
	maxTried    = 256      // Programs
	maxKept     = 32       // of one tenant: one for each folder and environment that serve is started in

	// A file that was changed this short before it was read may have been changed again since, at what its file
	// system takes for the same time: two seconds on FAT, a tick of the kernel's clock elsewhere.
	sameMoment = 2 * time.Second
)

// basis is what discover has gone by, beside files of servers.
type basis struct {
	began     time.Time
	variables map[string]string
	programs  []string
}

// lookup is a lookup whose names are noted.
func (b *basis) lookup(lookup func(string) (string, bool)) func(string) (string, bool) {
	b.variables = map[string]string{}
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		b.variables[name] = stateOf(value, ok)
		return value, ok
	}
}

func stateOf(value string, ok bool) string {
	switch {
	case !ok:
		return "unset"
	case value == "":
		return "empty"
	}
	return "set"
}

// recall is what a serve like this one has kept, if it would find the same; nil if not.
func (t *tenancy) recall() *mcpserver.Names {
	if _, err := os.Stat(t.recalledDir()); err != nil || len(t.requests()) > 0 { // folders go by what servers start
		return nil
	}
	text, err := plainfile.Read(t.recalledFile(), maxRecalled)
	var r recalled
	if err != nil || json.Unmarshal(text, &r) != nil || !plausible(r.Names) {
		return nil
	}
	for name, was := range r.Variables {
		if stateOf(t.env.Lookup(name)) != was {
			return nil
		}
	}
	if stamp, _ := stampFiles(t.foundFrom(r.Programs)); stamp == "" || stamp != r.Files {
		return nil
	}
	return &r.Names
}

// plausible says whether these can be names of serve's own.
func plausible(n mcpserver.Names) bool {
	return n.All >= manyServers && len(n.First) <= n.All && !slices.ContainsFunc(n.First, func(name string) bool {
		return servers.Aliases([]config.Server{{Name: name}})[name] != name
	})
}

// remember keeps what has been found for recall, unless that is told already, or may differ the next time for what
// is not looked at then. What cannot be kept costs only time.
func (t *tenancy) remember(found *servers.Set, told *mcpserver.Names) {
	file := t.recalledFile()
	if file == "" || len(found.All) < manyServers || len(t.basis.programs) > maxTried ||
		slices.ContainsFunc(t.found.Entries, goesByMore) {
		return
	}
	r := recalled{Names: mcpserver.NamesOf(found.Alias), Programs: t.basis.programs, Variables: t.basis.variables}
	if told != nil && told.All == r.Names.All && slices.Equal(told.First, r.Names.First) {
		return
	}
	var newest time.Time
	if r.Files, newest = stampFiles(t.foundFrom(r.Programs)); r.Files == "" {
		return
	}
	if !newest.Before(t.basis.began.Add(-sameMoment)) {
		return
	}
	text, err := json.Marshal(r)
	if err != nil || len(text) > maxRecalled || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	kept := inside(filepath.Dir(file))
	for _, other := range kept[:max(0, len(kept)-maxKept)] { // whichever they are
		_ = os.Remove(other)
	}
	_ = atomicfile.Write(file, ".new-*", text)
}

// goesByMore says whether an entry goes by files that foundFrom does not name: those of a project's approval.
func goesByMore(e clientcfg.Entry) bool {
	return e.Server.EnvFile != "" || e.Scope == clientcfg.Project && e.Counts()
}

// foundFrom are the files that decide which servers there are.
func (t *tenancy) foundFrom(programs []string) []string {
	list := clientcfg.Places(t.discovery())
	for _, dir := range config.ProjectFolders(t.env.Dir, t.paths.Home) {
		list = append(list, filepath.Join(dir, ".codemode", "config.toml"))
	}
	return slices.Concat(list, []string{t.file, t.approvalsFile(), t.secretStore().File, t.env.Self}, programs)
}

// recalledDir is where it is kept; empty is nowhere.
func (t *tenancy) recalledDir() string { return join(t.paths.TenantCache(t.config.Tenant), "found") }

// recalledFile is named by the rest of what decides: settings, folders, and this codemode. Empty is none.
func (t *tenancy) recalledFile() string {
	dir := t.recalledDir()
	if dir == "" {
		return ""
	}
	settings := t.config.Servers
	settings.Own, settings.Project = nil, nil // which may hold secrets, and are in files that are looked at
	text, err := json.Marshal([]any{
		readVersion(), t.env.Self, t.config.Tenant, settings, t.config.Discovery, t.paths, t.env.Dir,
		t.env.get("PATH"), t.env.get("PATHEXT"), t.allProjects,
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
}

// stampFiles changes when one of those files does; newest is when one last did. It is empty where that cannot be told.
func stampFiles(files []string) (stamp string, newest time.Time) {
	var text strings.Builder
	for _, file := range files {
		changed, line, ok := stampFile(file)
		if !ok {
			return "", newest
		}
		if changed.After(newest) {
			newest = changed
		}
		fmt.Fprintf(&text, "%q %s\n", file, line)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:]), newest
}
