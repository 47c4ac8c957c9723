package commands

import (
	"context"
	"fmt"
	"strings"

	"codemode/internal/config"

	"github.com/urfave/cli/v3"
)

// Manual is docs/cli.md: every command, setting and exit code, from the tables the program itself uses.
func Manual() string {
	var b strings.Builder
	b.WriteString("# The command line\n\n" +
		"Generated from the command table; `go test . -run Docs -fix` writes it again.\n")
	b.WriteString(section("codemode", "help"))
	root := table(Env{}, &ui{})
	for _, name := range append(commandNames(root), "completion") {
		b.WriteString(section("codemode "+name, "help", name))
		if name == "completion" {
			continue // its commands are the shells
		}
		for _, sub := range commandNames(root.Command(name)) {
			b.WriteString(section("codemode "+name+" "+sub, "help", name, sub))
		}
	}
	b.WriteString(exitCodeDocs)
	b.WriteString(settingDocs())
	return b.String()
}

// section is what a help command prints.
func section(title string, args ...string) string {
	var out strings.Builder
	env := Env{Args: append([]string{"codemode"}, args...), Stdout: &out, Stderr: &out}
	_ = table(env, &ui{}).Run(context.Background(), env.Args) // writes to memory
	return fmt.Sprintf("\n## %s\n\n```\n%s```\n", title, out.String())
}

func commandNames(root *cli.Command) (names []string) {
	for _, c := range listed(root) {
		names = append(names, c.Name)
	}
	return names
}

const exitCodeDocs = `
## Exit codes

| command | code | meaning |
|---|---|---|
| every | 0 | done |
| every | 1 | failed |
| every | 2 | the command line cannot be meant; nothing was done |
| exec | 0 … 255 | what the program ended with: 1 for an uncaught exception, n for ` + "`sys.exit(n)`" + `, 128+n for signal n |
| exec | 124 | the deadline |
| exec, call | 125 | codemode could not run the program: no sandbox, bad settings, an unknown server, tenant or tool |
| exec | 130, 131, 143 | codemode was interrupted, or told to end |
| install, uninstall | 3 | some of the files were written, others not |
| install, uninstall | 4 | no file was written: each was refused |
| doctor | 0 | nothing failed; there may be warnings |
| doctor | 1 | a check failed |
| serve | 0 | the client went away, or codemode was told to end |

What is not there has a code by what it is:

| unknown | code |
|---|---|
| command, flag, AI client, shell, and the file of a program, which python3 ends so for, too | 2 |
| server, tool of a server, tenant, package that was added, saved tool, artifact, secret | 1; of exec and call 125 |
| server, tool or run in the patterns of audit, which may be gone | 0, and a note |
`

func settingDocs() string {
	var b strings.Builder
	b.WriteString("\n## Settings\n\n" +
		"Each comes from its default, `config.toml`, the project's `.codemode/config.toml`, `[tenants.NAME]`, the environment\n" +
		"and the command line; the later wins, and of two variables the first. `config.toml` is the file that `--config` or\n" +
		"`CODEMODE_CONFIG` names, else `$XDG_CONFIG_HOME/codemode/config.toml` or `~/.config/codemode/config.toml` (macOS:\n" +
		"`~/Library/Application Support/codemode`, Windows: `%APPDATA%\\codemode`). " +
		"An empty variable is as one that is not set.\n" +
		"The last column is what a project's file may do with the setting: set it, only lower it, only add to it, or nothing.\n\n" +
		"| setting | default | what it is | forms | variables | flag | project |\n|---|---|---|---|---|---|---|\n")
	for _, d := range config.Docs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n",
			d.Name, code(d.Default), d.Text, d.Forms, "`"+strings.Join(d.Variables, "` `")+"`", code(d.Flag), d.Project)
	}
	b.WriteString("\nServers of your own are tables of it:\n\n```toml\n[servers.memory]\ncommand = \"npx\"\n" +
		"args = [\"-y\", \"@modelcontextprotocol/server-memory\"]\nenv = { MEMORY_FILE_PATH = \"${HOME}/memory.json\" }\n```\n\n" +
		"They may have " + strings.Join(config.ServerFields, ", ") + ".\n")
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
