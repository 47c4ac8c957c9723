package install

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
)

// keepsMeaning is an error if the file that a server would move to says something else of it than its client does.
func (i *Installer) keepsMeaning(path string, text []byte, e clientcfg.Entry) error {
	there, _ := clientcfg.ReadOwn(path, text, i.Env)
	if len(there) != 1 {
		return errors.New("it would not be read there")
	}
	was, is := e.Server, there[0].Server
	if was.Command != is.Command || was.URL != is.URL || !slices.Equal(was.Args, is.Args) ||
		!maps.Equal(was.Env, is.Env) || !maps.Equal(was.Headers, is.Headers) {
		return errors.New("JSON has its dates and numbers otherwise: put them in quotes")
	}
	return nil
}

// namesSecret says whether any text of an entry would refer to a secret among codemode's own entries. It means nothing
// to the client whose entry it is.
func namesSecret(entry any) bool { return hasText(entry, "${secret:") }

// hasText says whether a text is in any of a value's.
func hasText(value any, text string) bool {
	has := func(v any) bool { return hasText(v, text) }
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, has)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), has)
	}
	return false
}

// restricts is a member of an entry that says in files of codemode's own what a server may use; it means nothing to the
// client whose entry it is, so nobody has seen it. Some clients have a server's members in an object of their own.
func restricts(entry any) string {
	members, ok := entry.(map[string]any)
	if !ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if strings.HasPrefix(strings.ToLower(name), "sand") {
			return name
		}
	}
	for _, object := range []string{"transport", "command"} {
		if name := restricts(members[object]); name != "" {
			return name
		}
	}
	return ""
}
