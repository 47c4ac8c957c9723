package policy

import (
	"path"
	"strings"
)

// Forms says what a pattern may be, for people.
const Forms = "patterns SERVER.TOOL with * ? [a-z], or readonly, destructive, openworld, each also with a ! before it"

// words are the patterns that go by what a server says of a tool.
var words = map[string]func(Hints) bool{
	"readonly":     func(h Hints) bool { return h.ReadOnly },
	"!readonly":    func(h Hints) bool { return !h.ReadOnly },
	"destructive":  func(h Hints) bool { return h.Destructive },
	"!destructive": func(h Hints) bool { return !h.Destructive },
	"openworld":    func(h Hints) bool { return h.OpenWorld },
	"!openworld":   func(h Hints) bool { return !h.OpenWorld },
}

// Valid reports whether a pattern can be meant.
func Valid(pattern string) bool {
	if words[pattern] != nil {
		return true
	}
	_, err := path.Match(pattern, "")
	return err == nil && pattern[:min(len(pattern), 1)] != "!" && strings.Contains(strings.Trim(pattern, "."), ".")
}

// Name is the pattern that fits one tool alone.
func Name(server, tool string) string {
	quote := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	return quote.Replace(server) + "." + quote.Replace(tool)
}

// reach says under which names a call is looked for.
type reach bool

const (
	narrow reach = false // its real ones: a Python name depends on what else is configured
	wide   reach = true  // its Python names, too, and a server's without the "@client" that discovery adds
)

// first returns the first pattern that fits a call.
func first(patterns []string, c Call, as reach) (string, bool) {
	for _, p := range patterns {
		if fits(p, c, as) {
			return p, true
		}
	}
	return "", false
}

func fits(pattern string, c Call, as reach) bool {
	if hinted := words[pattern]; hinted != nil {
		return hinted(c.Hints)
	}
	servers, tools := []string{c.Server}, []string{c.Tool}
	if as == wide {
		servers, tools = append(servers, c.ServerAlias), append(tools, c.ToolAlias)
		if i := strings.LastIndexByte(c.Server, '@'); i > 0 {
			servers = append(servers, c.Server[:i])
		}
	}
	// Both names may have dots, so each dot of the pattern may be the one between them. A * does not reach across it:
	// "github.*" is about no server called "github.evil".
	for i, char := range []byte(pattern) {
		if char == '.' && matches(pattern[:i], servers) && matches(pattern[i+1:], tools) {
			return true
		}
	}
	return false
}

// matches is path.Match for names in which a slash is a character like any other: "io.github.someone/tool".
func matches(pattern string, names []string) bool {
	pattern = strings.ReplaceAll(pattern, "/", "\x00")
	for _, name := range names {
		if ok, _ := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00")); ok && name != "" {
			return true
		}
	}
	return false
}
