package clientcfg

import (
	"regexp"
	"slices"
	"strings"

	"codemode/internal/config"
)

// switchOff is that a file of a client says elsewhere than in their entries which of the client's servers are off.
type switchOff struct {
	by    string // the file
	means func(*Entry) bool
}

// switchOffs reads what a file says of its client's servers beside their entries. What is meant may be in another file
// of the client's, whose settings it puts over one another.
func (f *file) switchOffs(entries []Entry) {
	if d, _ := f.client.Dialect.Client(); d == config.DialectDollar {
		f.geminiLists(entries)
	}
	switch f.client.ID {
	case "oh-my-pi": // github.com/can1357/oh-my-pi, docs/mcp-config.md, read 2026-11
		f.offByName(f.root, "", "disabledServers")
	case "witsy": // github.com/nbonamy/witsy, src/main/mcp.ts, read 2026-11
		f.offByName(f.root, "", "mcp", "disabledMcpServers")
		f.witsyStates(entries)
	case "amp":
		f.ampRules()
	}
}

// offByName reads a list of names of servers; scope is that of those that are meant, and empty any.
func (f *file) offByName(in node, scope Scope, key ...string) {
	v, _ := in.at(key...)
	if names, _ := v.texts(); len(names) > 0 {
		f.switchOff(func(e *Entry) bool {
			return slices.Contains(names, e.Written) && (scope == "" || scope == e.Scope)
		})
	}
}

func (f *file) switchOff(means func(*Entry) bool) { f.off = append(f.off, switchOff{f.path, means}) }

// geminiLists switches off what mcp.allowed and mcp.excluded leave out, and the lists of older files.
func (f *file) geminiLists(entries []Entry) {
	for _, list := range []struct{ allowed, excluded []string }{
		{[]string{"mcp", "allowed"}, []string{"mcp", "excluded"}},
		{[]string{"allowMCPServers"}, []string{"excludeMCPServers"}},
	} {
		allowed, _ := f.root.at(list.allowed...)
		excluded, _ := f.root.at(list.excluded...)
		allow, limited := allowed.texts()
		deny, _ := excluded.texts()
		f.offByName(f.root, "", list.excluded...)
		left := func(e *Entry) bool { return limited && !slices.Contains(allow, e.Written) && e.Status == Ready }
		f.switchOff(left)
		for i := range entries {
			switch e := &entries[i]; {
			case slices.Contains(deny, e.Written):
				e.Server.Disabled, e.Reason = true, `"`+strings.Join(list.excluded, ".")+`" names it`
			case left(e):
				e.Server.Disabled, e.Reason = true, `"`+strings.Join(list.allowed, ".")+`" does not name it`
			}
		}
	}
}

// witsyStates reads what Witsy keeps of each server beside the entries that it shares with other programs.
func (f *file) witsyStates(entries []Entry) {
	extra, _ := f.root.at("mcp", "mcpServersExtra")
	f.switchOff(func(e *Entry) bool {
		state, ok := extra.at(e.Written, "state")
		return ok && state.value != nil && state.value != "enabled"
	})
	for i := range entries {
		selection, _ := extra.at(entries[i].Written, "toolSelection")
		if tools, ok := selection.texts(); ok {
			entries[i].Server.ToolsAllow = tools
		}
	}
}

// anythingLLM reads what AnythingLLM has of its own in an entry: whether it starts the server
// (github.com/Mintplex-Labs/anything-llm, server/utils/MCP/hypervisor, read 2026-11). suppressedTools, which it is said
// to have, was not seen there; a list of that name can only leave tools out.
func anythingLLM(e *Entry, r *fields) {
	_, v, ok := r.find("anythingllm")
	if _, isTable := v.value.(*object); !ok || !isTable {
		return
	}
	its := &fields{server: r.server, entry: v}
	e.Server.Disabled = e.Server.Disabled || !its.boolean("autoStart", true)
	e.Server.ToolsDeny = append(e.Server.ToolsDeny, its.denied("suppressedTools")...)
	if r.err == nil {
		r.err, r.at = its.err, its.at
	}
}

// ampRules reads which servers Amp blocks: the first rule that fits one says it (ampcode.com/news/mcp-permissions, read
// 2026-11).
func (f *file) ampRules() {
	v, _ := f.root.get("amp.mcpPermissions")
	rules, ok := v.value.(*list)
	if !ok {
		return
	}
	f.switchOff(func(e *Entry) bool {
		for _, rule := range rules.items {
			action, _ := rule.get("action")
			if rejects := action.value == "reject"; ampRuleFits(rule, e.Server, rejects) {
				return rejects
			}
		}
		return false
	})
}

// ampRuleFits says whether a rule is about a server. A command is compared alone and with its arguments: rules are
// written either way. What else a rule asks for is taken to be so where it rejects.
func ampRuleFits(rule node, s config.Server, rejects bool) bool {
	matches, _ := rule.get("matches")
	o, ok := matches.value.(*object)
	if !ok {
		return rejects
	}
	args := strings.Join(s.Args, " ")
	for _, m := range o.members {
		var is []string
		switch m.name {
		case "command":
			if s.Command != "" {
				is = []string{s.Command, strings.TrimSpace(s.Command + " " + args)}
			}
		case "args":
			is = append(slices.Clone(s.Args), args)
		case "url":
			if s.URL != "" {
				is = []string{s.URL}
			}
		default:
			if !rejects {
				return false
			}
			continue
		}
		fits := func(pattern string) bool {
			return slices.ContainsFunc(is, func(text string) bool { return ampPatternFits(pattern, text, rejects) })
		}
		if !slices.ContainsFunc(m.value.allTexts(), fits) {
			return false
		}
	}
	return true
}

// ampPatternFits compares a text with what may have a * for any characters, or is a regular expression in slashes.
func ampPatternFits(pattern, text string, unsure bool) bool {
	expression := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
	if len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
		expression = pattern[1 : len(pattern)-1]
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return unsure
	}
	return re.MatchString(text)
}
