package clientcfg

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"codemode/internal/config"
)

// source is one place where servers are configured.
type source struct {
	name string // for documentation
	read func(config.Servers) ([]config.Server, []Problem)
}

// sources is every place, in the order of precedence: what the user named for this very start, then
// what is codemode's own, then what is found.
var sources = []source{
	{"--servers-file and MCP_SERVERS_CONFIG", func(c config.Servers) ([]config.Server, []Problem) { return readFiles(c.Files) }},
	{"[servers.NAME] of config.toml", ownServers},
	{"~/MCPs/*.json", folder},
}

// Discover reads every source. Of one name the first counts; a later one is a Problem. Entries that would
// start codemode again are skipped unless c allows them.
func Discover(c config.Servers) Found {
	var found Found
	from := map[string]string{}
	for _, src := range sources {
		servers, problems := src.read(c)
		found.Problems = append(found.Problems, problems...)
		for _, s := range servers {
			if reason := selfReference(s); reason != "" && !c.AllowSelf {
				found.Skipped = append(found.Skipped, Skipped{s, reason})
				continue
			}
			if first, ok := from[s.Name]; ok {
				found.Problems = append(found.Problems, Problem{
					File: s.Source, Server: s.Name,
					Err: fmt.Errorf("server %q is hidden by the one of that name in %q", s.Name, first),
				})
				continue
			}
			from[s.Name] = s.Source
			if s.URL != "" && !s.Disabled { // listed all the same, so that calling it explains itself
				found.Problems = append(found.Problems, Problem{
					File: s.Source, Server: s.Name,
					Err: fmt.Errorf("server %q has a %q; only servers with a %q can be used yet", s.Name, "url", "command"),
				})
			}
			found.Servers = append(found.Servers, s)
		}
	}
	return found
}

// ownServers are those of config.toml, by name because a TOML table has no order.
func ownServers(c config.Servers) ([]config.Server, []Problem) {
	return slices.SortedFunc(maps.Values(c.Own), func(a, b config.Server) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// folder reads the *.json files of one folder by name. The folder need not exist.
func folder(c config.Servers) ([]config.Server, []Problem) {
	if c.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []Problem{{File: c.Dir, Err: cause(err)}}
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" && !e.IsDir() {
			names = append(names, filepath.Join(c.Dir, e.Name()))
		}
	}
	return readFiles(names)
}

func readFiles(names []string) (servers []config.Server, problems []Problem) {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			problems = append(problems, Problem{File: name, Err: cause(err)})
			continue
		}
		s, p := ReadServers(name, data)
		servers, problems = append(servers, s...), append(problems, p...)
	}
	return servers, problems
}

// cause drops the path from a file error: the Problem names it.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
