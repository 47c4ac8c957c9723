package policy

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Forms says what a pattern may be, for people.
const Forms = "patterns SERVER.TOOL with * ? [a-z], or readonly, destructive, openworld, each also with a ! before it"

// GrantForms says what one of a grant may be.
const GrantForms = Forms + `; the server in quotes where a name has a dot: "a.b".c`

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
	if server, tool, is := quoted(pattern); is {
		_, bad := path.Match(server, "")
		_, err := path.Match(tool, "")
		return bad == nil && err == nil && server != ""
	}
	_, err := path.Match(pattern, "")
	return err == nil && pattern[:min(len(pattern), 1)] != "!" && strings.Contains(strings.Trim(pattern, "."), ".")
}

// Readings are the patterns that one could mean whose dots may part a server from a tool in several places, as they are
// written without that doubt; there are none for one that is clear.
func Readings(pattern string) (list []string) {
	if _, _, is := quoted(pattern); is || words[pattern] != nil {
		return nil
	}
	parted(pattern, func(server, tool string) bool {
		if p := inQuotes(server) + "." + tool; Valid(p) {
			list = append(list, p)
		}
		return false
	})
	if len(list) < 2 {
		return nil
	}
	return list
}

// Name is the pattern that fits one tool alone.
func Name(server, tool string) string {
	quote := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	of, name := quote.Replace(server), quote.Replace(tool)
	if strings.ContainsAny(of[:min(len(of), 1)], `"!`) || strings.Contains(of+name, ".") {
		of = inQuotes(of)
	}
	return of + "." + name
}

func inQuotes(server string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(server) // a text never fails
	return strings.TrimSuffix(b.String(), "\n")
}

// quoted parts a pattern whose server is in quotes, a string of JSON, as people are shown one that has a dot.
func quoted(pattern string) (server, tool string, is bool) {
	if !strings.HasPrefix(pattern, `"`) {
		return "", "", false
	}
	d := json.NewDecoder(strings.NewReader(pattern))
	if d.Decode(&server) != nil {
		return "", "", false
	}
	tool, is = strings.CutPrefix(pattern[d.InputOffset():], ".")
	return server, tool, is
}

// reach says under which names a call is looked for.
type reach int

const (
	narrow reach = iota // its real ones: a Python name depends on what else is configured
	wide                // its Python names, too, a server's plain one, and a tool's in any case
	widest              // of its server, any name
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
	servers := append([]string{c.Server}, c.ServerNames...)
	if as == narrow {
		servers = slices.DeleteFunc(servers, func(name string) bool { return slices.Contains(c.Doubted, name) })
	}
	tools := []string{c.Tool} // a server may call a tool ""
	if as >= wide {
		for _, name := range slices.Clone(servers) {
			servers = append(servers, PlainName(name))
		}
		servers = append(servers, c.ServerAliases...)
		tools = append(tools, c.ToolAliases...)
	}
	return parted(pattern, func(server, tool string) bool {
		return (as == widest || matches(server, servers)) &&
			(matches(tool, tools) || as >= wide && matches(strings.ToLower(tool), []string{strings.ToLower(c.Tool)}))
	})
}

// parted reports whether a pattern is so parted into that of a server and that of a tool. Both names may have dots, so
// each dot may be the one between them where the server is not in quotes. A * does not reach across it: "github.*" is
// about no server called "github.evil".
func parted(pattern string, so func(server, tool string) bool) bool {
	if server, tool, is := quoted(pattern); is {
		return so(server, tool)
	}
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

// Permits are those of patterns that may allow a tool of a server by one of these names, as which no namesake counts.
func Permits(patterns, names []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
		return words[p] != nil || !parted(p, func(server, _ string) bool { return matches(server, names) })
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
