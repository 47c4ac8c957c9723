package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// What an answer shows. Three whole entries and the names of the next are more often right than five entries, and
// cost no more.
const (
	wholeMatches  = 3
	namedMatches  = 12
	answerTokens  = 330
	maxAnswerCall = 170 // bytes of a call, behind the first one
	maxAsked      = 60  // bytes of a query that is told back
)

// An Answer is what a search says: the matches that code gets, and the text that a model reads.
type Answer struct {
	Matches []Match
	Text    string
}

// Answer searches for a model. Whole entries are as many as asked for; 0 is as many as usual, within a budget of
// tokens. The names of the next best follow, by server. note is what the policy says of a tool.
func (c *Catalog) Answer(query string, limit int, note func(Match) string) Answer {
	whole, asked := wholeMatches, limit > 0
	if asked {
		whole = limit
	}
	found := c.Search(query, whole+namedMatches)
	if len(found) == 0 {
		return Answer{Text: c.nothing(query)}
	}
	w := answerWriter{note: note}
	shown := 0
	for i, m := range found[:min(whole, len(found))] {
		if entry := w.entry(i, m); i == 0 || asked || w.tokens+Tokens(entry) <= answerTokens {
			w.add(entry)
			shown++
		}
	}
	w.names(found[shown:])
	matches := found[:min(len(found), max(whole, 5))]
	if asked {
		matches = found[:min(len(found), limit)]
	}
	return Answer{matches, strings.TrimSuffix(w.text.String(), "\n")}
}

type answerWriter struct {
	text   strings.Builder
	tokens int
	note   func(Match) string
}

func (w *answerWriter) add(line string) {
	w.text.WriteString(line)
	w.tokens += Tokens(line)
}

// entry is the call to write, and below it what it does.
func (w *answerWriter) entry(i int, m Match) string {
	most := maxAnswerCall
	if i == 0 {
		most = maxCall
	}
	text := call(m.ServerAlias, m.Tool, most) + "\n"
	about := m.Tool.Summary()
	if same := m.Also; len(same) > 2 {
		about += fmt.Sprintf(" (the same: %s and %d more)", strings.Join(same[:2], ", "), len(same)-2)
	} else if len(same) > 0 {
		about += " (the same: " + strings.Join(same, ", ") + ")"
	}
	if note := w.note(m); note != "" {
		about += " (" + note + ")"
	}
	if about = strings.TrimSpace(about); about != "" {
		text += "    " + about + "\n"
	}
	return text
}

// names lists what comes next by server, as far as the budget goes.
func (w *answerWriter) names(found []Match) {
	var servers []string
	tools := map[string][]string{}
	spent := Tokens("more: ")
	for _, m := range found {
		name := m.Tool.Alias
		if spent += Tokens(", " + name); tools[m.ServerAlias] == nil {
			spent += Tokens("; mcp_" + m.ServerAlias + ".")
		}
		if w.tokens+spent > answerTokens+20 {
			break
		}
		if tools[m.ServerAlias] == nil {
			servers = append(servers, m.ServerAlias)
		}
		tools[m.ServerAlias] = append(tools[m.ServerAlias], name)
	}
	var groups []string
	for _, s := range servers {
		groups = append(groups, "mcp_"+s+": "+strings.Join(tools[s], ", "))
	}
	if len(groups) > 0 {
		w.add("more: " + strings.Join(groups, "; ") + "\n")
	}
}

// nothing says what to try where nothing was found.
func (c *Catalog) nothing(query string) string {
	text := fmt.Sprintf(
		"nothing found for %s: try the words of a tool's description, or `await runtime.query_tool_docs('<server>')`",
		"'"+strings.Map(printable, cut(oneLine(query), maxAsked))+"'",
	)
	var names []string
	for _, s := range c.servers {
		names = append(names, s.Alias)
	}
	if len(names) == 0 {
		return "nothing found: no MCP server is configured; the user can: codemode servers add"
	}
	slices.Sort(names)
	if more := len(names) - namedMatches; more > 0 {
		return fmt.Sprintf("%s; servers: %s and %d more", text, strings.Join(names[:namedMatches], ", "), more)
	}
	return text + "; servers: " + strings.Join(names, ", ")
}

// printable leaves out what no line should have.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == utf8.RuneError {
		return -1
	}
	return r
}

// Tokens estimates what a text of this package costs a model, in o200k tokens: rather too much than too little.
func Tokens(text string) int {
	tokens, run := 0, 0
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			if run++; run%7 == 1 {
				tokens++
			}
			continue
		case r == ' ': // belongs to what follows
		case r >= 0x2e80:
			tokens++
		case r >= '0' && r <= '9', r == '\n', r > ' ':
			tokens++
		}
		run = 0
	}
	return tokens
}
