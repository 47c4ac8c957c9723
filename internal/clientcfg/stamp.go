package clientcfg

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
)

// Files are what an entry refers to, as EnvFile, as {file:…} or by a secret, be it there or not.
func Files(s config.Server, env Env) (files []string) {
	look := func(text string) {
		replaceRefs(s.Dialect, text, func(ref Ref) string {
			switch {
			case ref.File != "":
				files = append(files, referenced(ref.File, env.Home, s.Source))
			case ref.Secret != "" && !slices.Contains(files, env.Secrets):
				files = append(files, env.Secrets)
			}
			return ""
		})
	}
	for _, text := range slices.Concat([]string{s.Command, s.Cwd, s.URL}, s.Args) {
		look(text)
	}
	for _, table := range []map[string]string{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			look(table[name])
		}
	}
	if s.EnvFile != "" {
		x := &expansion{server: s, from: Resolver{OS: env.OS, Home: env.Home, Lookup: env.Lookup}}
		files = append(files, referenced(x.text(s.EnvFile), env.Home, s.Source))
	}
	return files
}

// Stamp is a text that changes when one of an entry's Files does: a server that was started with what was in it is to
// be started again. No file is opened for it, so it is no proof that nothing has changed: for a project's EnvFile there
// is EnvHash. It is empty where there is none.
func Stamp(s config.Server, env Env) string {
	if s.EnvHash != "" {
		s.EnvFile = ""
	}
	var stamp strings.Builder
	for _, name := range Files(s, env) {
		info, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(&stamp, "%q none\n", name)
			continue
		}
		fmt.Fprintf(&stamp, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	return stamp.String()
}

// referenced is the path that a reference in the file source means.
func referenced(path, home, source string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(filepath.Dir(source), path)
	}
	return path
}
