package install

import (
	"fmt"
	"strings"

	"codemode/internal/clientcfg"
)

// asking is how clients show what policy.confirm asks, tried in their terminals, or read in VS Code's source, in
// November 2026.
const asking = `
## How they ask

What policy.confirm names is asked by a form of MCP's elicitation, with one field. Of a tool that changes nothing, with
arguments that are all shown, it is filled with "this call": who accepts as it stands allows that. For all else it is filled
with "no", since a client may accept a form by itself, a person from habit: who allows the call chooses so. All clients that
are known to ask show the field, so none is left without a way to say yes; to one that shows none, policy.approved is left.
How they showed a form filled with "this call" in November 2026; filled with "no", that is what their first keys choose, and
"this call" is chosen as the wider ones are:

| client | the question | this call | wider | no |
|---|---|---|---|---|
| Claude Code 2.1.197 | the text, "Allow: this call", Accept and Decline | ↓ and Enter | → opens the choices, Space takes one | Decline, or Esc |
| Codex 0.169.0 | the text and four choices; before that it asks about run_python itself | Enter | 2 or 3, Enter | 4 and Enter, or Esc |
| Codex 0.169.0, codex exec | nobody is asked | | | always |
| VS Code (mcpElicitationService.ts, main) | the text in the chat, Respond and Cancel; then a list with "once" marked | Respond, Enter | run, session | Cancel, deny, or Esc |
| Gemini CLI 0.61.0, OpenCode 1.18.33 | offer no elicitation: the call is denied, and the model is told which setting allows it | | | always |
`

// Manual is docs/clients.md: every client of the table, where codemode is put, and what to know.
func Manual() string {
	var b strings.Builder
	b.WriteString(`# Clients

What codemode knows of each AI client, from the table in internal/clientcfg. This page is made of it: edit the table, then
` + "`go test . -run Docs -fix`" + `.

` + "`codemode install CLIENT`" + ` puts codemode into a client's file, ` + "`codemode uninstall CLIENT`" + ` takes it out. Where several files
are named the first that holds servers is taken, else the first that is there, unless it says "each". What begins with ~ is in
your home folder; {config} is ~/.config on Linux, ~/Library/Application Support on macOS and %APPDATA% on Windows; {xdg} is
$XDG_CONFIG_HOME or ~/.config; {local} is %LOCALAPPDATA%. An asterisk stands for any name.

| client | your own file | a project's file | form | variables |
|---|---|---|---|---|
`)
	for _, c := range clientcfg.Clients() {
		if c.Install.None != "" {
			continue
		}
		fmt.Fprintf(
			&b,
			"| `%s` %s | %s | %s | %s | %s |\n",
			c.ID,
			c.Title,
			filesOf(c, clientcfg.User),
			filesOf(c, clientcfg.Project),
			formOf(c),
			passOf(c),
		)
	}
	b.WriteString("\nNames for more than one:")
	for _, name := range []string{"claude"} {
		fmt.Fprintf(&b, " `%s` is `%s`, whichever are here.\n", name, strings.Join(clientcfg.Aliases[name], "` and `"))
	}
	b.WriteString(
		"\n\"strict\" clients reject comments and trailing commas, so codemode does not write into a file of theirs that has some. The last column is\nwhat `--env-pass NAME` writes; clients in **bold** give their servers no variables but a few and those.\n\n## What to know\n\n",
	)
	for _, c := range clientcfg.Clients() {
		b.WriteString(notesOf(c))
	}
	b.WriteString(asking)
	b.WriteString("\n## Where this is from\n\n")
	for _, c := range clientcfg.Clients() {
		fmt.Fprintf(&b, "- `%s`: %s\n", c.ID, c.Facts)
	}
	return b.String()
}

// notesOf is what to know of a client, a line each.
func notesOf(c clientcfg.Client) string {
	var b strings.Builder
	for _, n := range c.Install.Notes {
		fmt.Fprintf(&b, "- **%s**: %s\n", c.Title, n)
	}
	if c.Install.Rewrites {
		fmt.Fprintf(
			&b,
			"- **%s** writes its file from memory now and then: codemode looks again %s later whether its entry is still there.\n",
			c.Title, "two seconds",
		)
	}
	if c.Install.WSL {
		fmt.Fprintf(
			&b, "- **%s**: inside WSL it is the one of Windows, and its entry starts codemode by wsl.exe.\n",
			c.Title,
		)
	}
	return b.String()
}

func filesOf(c clientcfg.Client, scope clientcfg.Scope) string {
	var paths []string
	for _, p := range c.Install.Places {
		if p.Scope != scope {
			continue
		}
		text := "`" + strings.ReplaceAll(p.Path, "{name}", DefaultName) + "`"
		switch {
		case p.OS == "windows":
			text += " (Windows)"
		case p.OS != "":
			text += " (others)"
		}
		paths = append(paths, text)
	}
	text := strings.Join(paths, ", ")
	if c.Install.Every && scope == clientcfg.User {
		text = "each of " + text
	}
	if text == "" {
		return "none"
	}
	return text
}

func formOf(c clientcfg.Client) string {
	format := string(formatOf(&c, c.Install.Places[0].Path))
	if c.Strict {
		format = "json, strict"
	}
	return format + " `" + strings.Join(c.Key, ".") + "`"
}

func passOf(c clientcfg.Client) string {
	set, err := pass(&c, nil, []string{"NAME"}, nil)
	if err != nil {
		return "none"
	}
	text := set[0].Key
	if form, ok := references[c.Dialect]; ok && text != "env_vars" && text != "env_keys" {
		text += ": " + form[0] + "NAME" + form[1]
	}
	text = "`" + text + "`"
	if c.Install.Strips {
		text = "**" + text + "**"
	}
	return text
}
