package upstream

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// reference is ${VAR}, ${VAR:-default}, ${env:VAR}, or ${input:…}, VS Code's, which asks its user. Other
// text in braces, a shell's ${1} or ${a%b}, stays as it is.
var reference = regexp.MustCompile(`\$\{(?:input:([^}]*)|(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?)\}`)

// expander expands the strings of an entry. It keeps the first error, and makes secrets of what it puts
// in.
type expander struct {
	lookup  func(string) (string, bool)
	secrets *redactor
	err     error
}

func (x *expander) expand(s string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		name, hasDefault, fallback := m[2], m[3] != "", m[4]
		if name == "" {
			x.fail("%s can only be asked for by VS Code; write a value or ${VAR}", ref)
			return ""
		}
		value, ok := x.lookup(name)
		switch {
		case hasDefault && value == "": // as in a shell, ":-" is for empty variables, too
			return fallback
		case !ok:
			x.fail("the environment variable %s is not set", name)
		}
		if !isBase(name) {
			x.secrets.add(value)
		}
		return value
	})
}

// home expands a leading ~.
func (x *expander) home(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~`+string(filepath.Separator)) {
		return path
	}
	home, ok := homeDir(x.lookup)
	if !ok {
		x.fail("%q needs a home directory, and there is none", path)
	}
	return home + path[1:]
}

func (x *expander) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
}

// isBase says whether a variable is one that every server sees, so no secret.
func isBase(name string) bool {
	for _, n := range baseNames {
		if n == name {
			return true
		}
	}
	return false
}
