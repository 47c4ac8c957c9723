package policy

import (
	"path"
	"slices"
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
	wide   reach = true  // its Python names, too, a server's plain one, and a tool's in any case
)

// Matches says whether one of these patterns names the tool of a call by its real names, or what is said of it.
func (c Call) Matches(patterns []string) bool {
	_, ok := first(patterns, c, narrow)
	return ok
}

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
	servers, tools := []string{c.Server}, []string{c.Tool} // a server may call a tool ""
	if as == wide {
		servers = append(servers, PlainName(c.Server))
		if c.ServerAlias != "" {
			servers = append(servers, c.ServerAlias)
		}
		if c.ToolAlias != "" {
			tools = append(tools, c.ToolAlias)
		}
	}
	return parted(pattern, func(server, tool string) bool {
		return matches(server, servers) &&
			(matches(tool, tools) || as == wide && matches(strings.ToLower(tool), []string{strings.ToLower(c.Tool)}))
	})
}

// parted reports whether a pattern is so parted into that of a server and that of a tool. Both names may have dots, so
// each dot may be the one between them. A * does not reach across it: "github.*" is about no server called
// "github.evil".
func parted(pattern string, so func(server, tool string) bool) bool {
	for i, char := range []byte(pattern) {
		if char == '.' && so(pattern[:i], pattern[i+1:]) {
			return true
		}
	}
	return false
}

// PlainName is a server's name without the "@client" that discovery adds to the second of a name.
func PlainName(server string) string {
	if i := strings.LastIndexByte(server, '@'); i > 0 {
		return server[:i]
	}
	return server
}

// Idle are those of patterns that fit no tool of these servers, whatever it is called.
func Idle(patterns, servers []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
		return words[p] != nil || slices.ContainsFunc(servers, func(name string) bool {
			return parted(p, func(server, _ string) bool { return matches(server, []string{name, PlainName(name)}) })
		})
	})
}

// matches is path.Match for names in which a slash is a character like any other: "io.github.someone/tool".
func matches(pattern string, names []string) bool {
	pattern = strings.ReplaceAll(pattern, "/", "\x00")
	for _, name := range names {
		if ok, _ := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00")); ok {
			return true
		}
	}
	return false
}
