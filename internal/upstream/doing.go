package upstream

import (
	"path/filepath"
	"slices"
	"strings"
)

// fetchers are programs that may have to fetch a server before they start it, with the flags that name what they fetch.
var fetchers = map[string][]string{
	"npx": {"-p", "--package"}, "bunx": {"-p", "--package"}, "uvx": {"--from"}, "pipx": {"--spec"},
}

// doing is what a server's start is about, in words that hold no secret: of its entry, the program's name, and the
// package's where the program fetches one.
func (s *server) doing() string {
	if s.isRemote() {
		return "connecting"
	}
	name := s.program()
	if !s.fetches() {
		return "starting " + name
	}
	what := fetched(s.config.Args, fetchers[name])
	if what == "" {
		return name + " is installing or starting it"
	}
	return name + " is installing or starting " + s.entrySecrets(s.config).Redactor().Text(what)
}

// program is the name of what is started, without a folder.
func (s *server) program() string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.config.Command), ".exe"), ".cmd")
}

// fetches says whether that is one of the fetchers.
func (s *server) fetches() bool { return fetchers[s.program()] != nil }

// fetched is the package that a command line names: by a flag, else by its first word.
func fetched(args, named []string) string {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case slices.Contains(named, flag) && joined:
			return value
		case slices.Contains(named, flag) && i+1 < len(args):
			return args[i+1]
		case !strings.HasPrefix(arg, "-") && arg != "run":
			return arg
		}
	}
	return ""
}
