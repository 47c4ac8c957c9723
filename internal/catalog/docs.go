package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// What documentation may be long, in bytes. A search answer of five tools and the document of one then cost a model at
// most 900 tokens.
const (
	maxSummary   = 120
	maxCall      = 300
	maxDocstring = 1200
	maxArgument  = 120 // of the description of one argument

	maxOptionalType = 40 // of the name and the type of an argument that may be left out
)

// Call is the call to write: await mcp_github.create_issue(owner=..., title=...), and after it the names of the
// arguments that may be left out.
func (m Match) Call() string { return Call(m.ServerAlias, m.Tool) }

// Call is how a tool of the server with this alias is called.
func Call(serverAlias string, t Tool) string { return call(serverAlias, t, maxCall) }

// call is Call with as much behind it as fits: the types of required arguments that are no texts, and the names of
// those that may be left out, with theirs.
func call(serverAlias string, t Tool, most int) string {
	var required, optional, remarks []string
	for _, p := range t.Params {
		if p.Required {
			required = append(required, p.Name+"=...")
		} else {
			optional = append(optional, typed(p, maxOptionalType))
		}
	}
	caller := t.Caller
	if caller == "" {
		caller = "await mcp_" + serverAlias + "." + t.Alias
	}
	text := caller + "(" + strings.Join(required, ", ") + ")"
	length := len(text)
	for _, p := range t.Params {
		if text := typed(p, most-length); p.Required && text != p.Name {
			remarks = append(remarks, text)
			length += len(text) + len("; ")
		}
	}
	if names := someOf(optional, most-length); names != "" {
		remarks = append(remarks, "optional: "+names)
	}
	if len(remarks) == 0 {
		return text
	}
	return text + "  # " + strings.Join(remarks, "; ")
}

// typed is a parameter's name and, where a text would not do and there is room, its type.
func typed(p Param, room int) string {
	kind := strings.TrimSuffix(p.Type, " | None")
	if kind == "str" || kind == "Any" || len(p.Name)+len(kind) > room {
		return p.Name
	}
	return p.Name + ": " + kind
}

// someOf lists names as far as they fit, and counts the others.
func someOf(names []string, room int) string {
	text := ""
	for i, name := range names {
		if len("  # optional: ")+len(text)+len(name) > room {
			return fmt.Sprintf("%s%d more", text, len(names)-i)
		}
		text += name
		if i < len(names)-1 {
			text += ", "
		}
	}
	return text
}

// Doc is a tool as text: its signature, and below it its docstring.
func (t Tool) Doc() string {
	doc := "async def " + t.Signature
	if s := t.Docstring(); s != "" {
		doc += "\n    " + strings.ReplaceAll(s, "\n", "\n    ")
	}
	return doc
}

// Summary is a tool's description in one short line.
func (t Tool) Summary() string {
	first, _ := sentence(t.Description)
	return cut(oneLine(first), maxSummary)
}

// Docstring is a tool's documentation as text: what it does, its arguments, and what its results have looked like
// where the server does not say. It is at most maxDocstring bytes; arguments matter more than the rest of a long
// description.
func (t Tool) Docstring() string {
	var parts []string
	if args := t.arguments(maxDocstring * 2 / 3); args != "" {
		parts = append(parts, args)
	}
	if t.Observed != nil {
		parts = append(parts, "Returns: "+t.Returns+" (observed, not promised)"+cut(t.observed(), maxDocstring/4))
	}
	rest := strings.Join(parts, "\n\n")
	about := cut(paragraphs(t.Description), maxDocstring-len(rest)-len("\n\n"))
	if about != "" {
		parts = slices.Insert(parts, 0, about)
	}
	return strings.Join(parts, "\n\n")
}

// arguments lists those that are described, required ones first, as many as fit.
func (t Tool) arguments(budget int) string {
	text := ""
	for i, p := range t.Params {
		if p.Description == "" {
			continue
		}
		line := "\n    " + p.Name + ": " + cut(oneLine(p.Description), maxArgument)
		if len(text)+len(line) > budget {
			text += fmt.Sprintf("\n    (%d more)", len(t.Params)-i)
			break
		}
		text += line
	}
	if text == "" {
		return ""
	}
	return "Args:" + text
}

// observed names the members that results had.
func (t Tool) observed() string {
	s := t.Observed
	where := ""
	if s.Items != nil && s.Properties == nil {
		s, where = s.Items, " each"
	}
	if len(s.Properties) == 0 {
		return ""
	}
	var members []string
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			name += "?"
		}
		members = append(members, name+": "+annotate(p.schema(), p.schema()))
	}
	slices.Sort(members)
	return where + " with " + strings.Join(members, ", ")
}

// cut shortens a text to so many bytes, at a word where it can.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if most < len("…") {
		return ""
	}
	text = text[:most-len("…")]
	for {
		r, size := utf8.DecodeLastRuneInString(text)
		if r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	if i := strings.LastIndexAny(text, " \n"); i > len(text)/2 {
		text = text[:i]
	}
	return strings.TrimRight(text, " \n.,;:") + "…"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// paragraphs takes a text's indentation and empty lines away, which in descriptions often come from source code.
func paragraphs(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
