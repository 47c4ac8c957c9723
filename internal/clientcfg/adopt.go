package clientcfg

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/lazyregexp"
	"codemode/internal/redact"
)

// ReadEntries reads the servers of one file of a client, and judges them by themselves alone. project is the folder of
// which it is, and empty for a file of the user's.
func ReadEntries(c *Client, scope Scope, project, path string, data []byte, env Env) ([]Entry, []Problem) {
	f := &file{client: c, scope: scope, key: c.Key, project: project, path: path, env: &env}
	f.parse(data)
	for i := range f.entries {
		f.entries[i].Server = withTransport(f.entries[i].Server)
	}
	return f.entries, f.problems
}

// ReadOwn reads a file as those of codemode's own folder are read.
func ReadOwn(path string, data []byte, env Env) ([]Entry, []Problem) {
	return ReadEntries(&Client{ID: folderID, Key: mcpServers}, User, "", path, data, env)
}

// SameServer says whether two entries start the same, with the same references, wherever that is.
func SameServer(a, b Entry) bool {
	x, _ := identity(a, Env{})
	y, _ := identity(b, Env{})
	return x == y
}

// entryTexts are the texts of an entry in which references may be.
func entryTexts(s config.Server) []string {
	texts := append([]string{s.Command, s.Cwd, s.EnvFile, s.URL}, s.Args...)
	for _, table := range []map[string]string{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			texts = append(texts, table[name])
		}
	}
	return texts
}

// refs are the references in an entry that matter to its start.
func refs(s config.Server) []Ref { return refsIn(s, entryTexts(s)) }

// allRefs are those of its sign-in, too.
func allRefs(s config.Server) []Ref {
	texts := entryTexts(s)
	if s.OAuth != nil {
		texts = append(append(texts, s.OAuth.ClientID, s.OAuth.Secret), s.OAuth.Scopes...)
	}
	return refsIn(s, texts)
}

func refsIn(s config.Server, texts []string) (list []Ref) {
	for _, text := range texts {
		d := s.Dialect
		if of, _ := d.Client(); of == config.DialectLeadingDollar && !strings.HasPrefix(text, "$") {
			d = d.Literal()
		}
		replaceRefs(d, text, func(r Ref) string {
			list = append(list, r)
			return ""
		})
	}
	return list
}

// Variables are the variables of the environment that an entry refers to.
func Variables(s config.Server) []string {
	var names []string
	for _, r := range allRefs(s) {
		if r.Variable != "" {
			names = append(names, r.Variable)
		}
	}
	names = slices.AppendSeq(append(names, s.EnvPass...), maps.Values(s.HeadersFrom))
	if s.BearerFrom != "" {
		names = append(names, s.BearerFrom)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SecretNames are the secrets of codemode's own that an entry refers to.
func SecretNames(s config.Server) (names []string) {
	for _, r := range allRefs(s) {
		if r.Secret != "" {
			names = append(names, r.Secret)
		}
	}
	return names
}

// ClientSecret is the name of the secret of the client that an entry names for its sign-ins, however it is written.
const ClientSecret = "clientSecret"

// IsClientSecret says whether entries call that so.
func IsClientSecret(name string) bool {
	return slices.Contains(clientSecrets, name) || slices.Contains(flatClientSecrets, name)
}

// Tokens are the secret values of an entry's environment, headers and sign-in, by the names of these. One that refers
// to something is none: it stands elsewhere already; nor is what is plainly a path or a URL.
func Tokens(s config.Server) map[string]string {
	tokens := map[string]string{}
	if s.OAuth != nil && s.OAuth.Secret != "" && len(refsIn(s, []string{s.OAuth.Secret})) == 0 {
		tokens[ClientSecret] = s.OAuth.Secret
	}
	f := finderOf(s.Dialect)
	for _, table := range []map[string]string{s.Env, s.Headers} {
		for name, shown := range f.Table(table) {
			value := table[name]
			alone := config.Server{Dialect: s.Dialect, Env: map[string]string{name: value}}
			if shown != value && len(refs(alone)) == 0 && !plainPlace(name, value) {
				tokens[name] = value
			}
		}
	}
	return tokens
}

// HasSecretHeader says whether the headers of an entry by URL have what its server may want to know it by: a secret, or
// what comes from somewhere else.
func HasSecretHeader(s config.Server) bool {
	f := finderOf(s.Dialect)
	for name, shown := range f.Table(s.Headers) {
		value := s.Headers[name]
		if shown != value || redact.Named(name) || len(refsIn(s, []string{value})) > 0 {
			return true
		}
	}
	return len(s.HeadersFrom) > 0 || s.BearerFrom != ""
}

var (
	plainPath    = lazyregexp.New(`^(?:~|\.{1,2})?/[^:;=,]*$|^[A-Za-z]:[\\/][^:;=,]*$`)
	plainAddress = lazyregexp.New(`^[a-z][a-z0-9+.-]*://[\w.-]+(?::\d+)?(?:/[\w./-]*)?$`)
)

// plainPlace says whether a value is a path or a URL and no token: the path is there, or nothing in either looks like a
// token and its name does not say that it is one.
func plainPlace(name, value string) bool {
	if filepath.IsAbs(value) {
		if _, err := os.Lstat(value); err == nil {
			return true
		}
	}
	place := plainPath().MatchString(value) || plainAddress().MatchString(value)
	parts := append(strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }), value)
	return place && !redact.Named(name) &&
		!slices.ContainsFunc(parts, func(part string) bool { return (&redact.Finder{}).Text(part) != part })
}

// WithSecrets is an entry as it would be if its secrets stood in it; a secret that cannot be had stays as it is.
func WithSecrets(e Entry, secret func(name string) (string, error)) Entry {
	fill := func(table map[string]string) map[string]string {
		filled := maps.Clone(table)
		for name, value := range table {
			filled[name] = replaceAdopted(config.DialectNone, value, func(r Ref) string {
				if text, err := secret(r.Secret); err == nil {
					return text
				}
				return r.Text
			})
		}
		return filled
	}
	e.Server.Env, e.Server.Headers = fill(e.Server.Env), fill(e.Server.Headers)
	return e
}

// filesOfProject is why an entry of a project stays that has files read: as the user's own it could have any.
const filesOfProject = "it has a file read, and may have those of its project alone"

// Bound says why an entry cannot be moved to another file: it has a relative path, or a reference that only its own
// program resolves. It is empty where it can be moved.
func Bound(e Entry) string {
	s := e.Server
	for _, r := range allRefs(s) {
		switch {
		case r.Asks != "":
			text := r.Text
			if strings.HasPrefix(r.Asks, "$(") {
				text = "$(…)"
			}
			return fmt.Sprintf("only its own program can find out %s", text)
		case r.File != "" && e.Scope == Project:
			return filesOfProject
		case r.File != "" && !strings.HasPrefix(r.File, "~/") && !filepath.IsAbs(r.File):
			return "it refers to a file beside its own"
		case strings.HasPrefix(r.Folder, "workspace"):
			return fmt.Sprintf("it is for whichever project is open: %s", r.Text)
		}
	}
	relative := func(path string) bool {
		return path != "" && !strings.HasPrefix(path, "~") && !strings.ContainsAny(path, "${%") &&
			!filepath.IsAbs(path) &&
			!drive().MatchString(path)
	}
	switch {
	case s.EnvFile != "" && e.Scope == Project:
		return filesOfProject
	case relative(e.envFile):
		return "its file of variables is relative to its own"
	case relative(e.explicit):
		return "its folder is relative to its file's"
	case strings.ContainsAny(s.Command, `/\`) && relative(s.Command):
		return "its command is relative to a folder"
	}
	return ""
}
