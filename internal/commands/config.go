package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/atomicfile"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func configCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show every setting and where it is from",
		Description: "A setting comes from its default, config.toml, the project's\n" +
			".codemode/config.toml, the tenant, the environment or a flag; the later wins.",
		Flags: append([]cli.Flag{jsonFlag()}, append(settingFlags("tenant"), configFlag())...),
		Metadata: examples(
			"codemode config",
			"codemode config --tenant work --json",
			"$EDITOR $(codemode config path) && codemode config check",
		),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			configPathCommand(env),
			configInitCommand(env, ui),
			configCheckCommand(env),
			configSchemaCommand(env),
			configApproveCommand(env, ui),
			configRevokeCommand(env, ui),
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return showConfig(env, ui, cmd)
		},
	}
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON", Local: true} }

func configPathCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:        "path",
		Usage:       "print the path of your config.toml, be it there or not",
		Description: "With --json, also the project's file and the folders codemode keeps things in.",
		Flags:       append([]cli.Flag{jsonFlag()}, append(settingFlags("tenant"), configFlag())...),
		Metadata:    examples("codemode config path", "$EDITOR $(codemode config path)"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			return printConfigPath(env, cmd)
		},
	}
}

func configInitCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "write a config.toml in which every setting is a comment",
		Description: "It never writes over a file. What it writes changes nothing until you take a #\n" +
			"away.",
		Flags:    []cli.Flag{configFlag()},
		Metadata: examples("codemode config init", "codemode config init --config team.toml"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			name, err := configFile(env, cmd)
			if err != nil {
				return err
			}
			if err := writeNew(name, config.Sample(), "edit it, or name another file with --config"); err != nil {
				return fmt.Errorf("writing %q: %w", name, err)
			}
			ui.note("config", "every setting is a comment in "+quote(name))
			return nil
		},
	}
}

func configCheckCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "look for mistakes; ends with 1 when there are any",
		Description: "It reads config.toml with all its tenants, the project's file and the\n" +
			"environment, and starts nothing.",
		Flags:    []cli.Flag{jsonFlag(), configFlag()},
		Metadata: examples("codemode config check", "codemode config check --config team.toml"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			return checkConfig(env, cmd)
		},
	}
}

func configSchemaCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:     "schema",
		Usage:    "print the JSON Schema of config.toml, for editors",
		Metadata: examples("codemode config schema > config.schema.json"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			_, err := env.Stdout.Write(config.Schema())
			return err
		},
	}
}

// configFile is the user's config.toml, which may be broken or not be there.
func configFile(env Env, cmd *cli.Command) (string, error) {
	e, _ := config.Explain(settingsSource(env, cmd)) // what is wrong inside is for others to say
	if e.File == "" {
		return "", errNoConfigDir
	}
	return e.File, nil
}

var errNoConfigDir = hint.New("there is no folder for config.toml: neither HOME nor XDG_CONFIG_HOME names one",
	"set HOME or XDG_CONFIG_HOME to an absolute path, or name a file with --config")

func printConfigPath(env Env, cmd *cli.Command) error {
	if !cmd.Bool("json") {
		name, err := configFile(env, cmd)
		if err != nil {
			return err
		}
		_, err = io.WriteString(env.Stdout, name+"\n") // as it is, for $(…)
		return err
	}
	e, err := config.Explain(settingsSource(env, cmd))
	if err != nil {
		return err
	}
	paths := config.FindPaths(env.Lookup, runtime.GOOS)
	return newSheet(env).json(struct {
		Config  string `json:"config,omitempty"`
		Project string `json:"project,omitempty"`
		Tenant  string `json:"tenant"`
		State   string `json:"state,omitempty"`
		Cache   string `json:"cache,omitempty"`
	}{e.File, e.ProjectFile, e.Tenant, paths.TenantState(e.Tenant), paths.TenantCache(e.Tenant)})
}

// isThereError is a file that is not written over.
type isThereError struct{ instead string } // what to do

func (e *isThereError) Error() string {
	return "there is such a file already, which was left as it is"
}

// Hint is what to do instead.
func (e *isThereError) Hint() []string { return []string{e.instead} }

// writeNew writes a file that must not be there yet; instead is what to do where it is. What is there afterwards is
// whole, or not there at all.
func writeNew(name, text, instead string) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fileerr.Cause(err)
	}
	err = atomicfile.Create(name, "."+filepath.Base(name)+".codemode-*", []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return &isThereError{instead}
	}
	return fileerr.Cause(err)
}

// checkConfig tells everything that is wrong, of every tenant.
func checkConfig(env Env, cmd *cli.Command) error {
	src := settingsSource(env, cmd)
	e, err := config.Explain(src)
	var problems []error
	add := func(errs ...error) {
		for _, err := range errs {
			if err != nil && !slices.ContainsFunc(problems, func(p error) bool { return p.Error() == err.Error() }) {
				problems = append(problems, err)
			}
		}
	}
	check := func(e config.Explained, err error) {
		if err != nil {
			add(separate(err)...)
		}
		for _, name := range e.Discovery.Sources {
			add(clientcfg.CheckSources([]string{name}))
		}
		add(e.Problems...)
	}
	check(e, err)
	for _, tenant := range e.Tenants {
		src.Flags["tenant"] = tenant
		check(config.Explain(src))
	}
	for _, unknown := range config.UnknownVariables(env.Environ) {
		add(unknown)
	}
	switch {
	case cmd.Bool("json"):
		return printProblems(env, problems)
	case len(problems) > 0:
		return errors.Join(problems...)
	}
	_, err = io.WriteString(env.Stdout, "the settings have no mistakes\n")
	return err
}

func printProblems(env Env, problems []error) error {
	type problem struct {
		Message string   `json:"message"`
		Hints   []string `json:"hints,omitempty"`
	}
	list := []problem{}
	for _, err := range problems {
		list = append(list, problem{err.Error(), hint.Of(err)})
	}
	err := newSheet(env).json(map[string]any{"problems": list})
	if err == nil && len(problems) > 0 {
		return exit(exitFailed)
	}
	return err
}

// showConfig prints every setting and where it is from.
func showConfig(env Env, ui *ui, cmd *cli.Command) error {
	e, err := config.Explain(settingsSource(env, cmd))
	if err != nil {
		return err
	}
	withAgreed(env, &e)
	p := newSheet(env)
	if cmd.Bool("json") {
		return p.json(configJSON(e, warnings(env, e.Config)))
	}
	for _, w := range warnings(env, e.Config) {
		ui.warn(w.Error(), hint.Of(w)...)
	}
	var rows [][]cell
	add := func(name, value string, from config.Origin) {
		rows = append(rows, configRow(env, p, name, value, from))
	}
	for _, v := range e.Values {
		text := fmt.Sprint(shownSetting(v.Value))
		if list, ok := v.Value.([]string); ok {
			text = strings.Join(list, ",")
		}
		add(v.Name, text, v.Origin)
	}
	for _, f := range e.Entries {
		s := clientcfg.Masked(f.Server)
		text := strings.Join(append([]string{s.Command}, s.Args...), " ")
		if s.Command == "" {
			text = s.URL
		}
		add("servers."+s.Name, text, f.Origin)
	}
	fitValues(p, rows)
	return p.table([]string{"SETTING", "VALUE", "FROM"}, rows)
}

// withAgreed adds what a project's file asks for and its user has approved.
func withAgreed(env Env, e *config.Explained) {
	t := &tenancy{env: env, config: e.Config, paths: config.FindPaths(env.Lookup, runtime.GOOS)}
	r := e.Files.Request
	if r.File == "" || e.Files.Project || !t.agreed(r) {
		return
	}
	for i := range e.Values {
		if v := &e.Values[i]; v.Name == "files.project" {
			v.Value, v.Origin = true, config.Origin{Layer: config.Project, File: r.File, Line: r.Line}
		}
	}
}

// shownSetting is a setting's value, but for the password that an address may have.
func shownSetting(value any) any {
	if text, ok := value.(string); ok && strings.Contains(text, "://") {
		return redacted(text)
	}
	return value
}

// minValue is how wide the column of values is at least, on a terminal.
const minValue = 20

// fitValues cuts values that would leave no room for where they are from.
func fitValues(p sheet, rows [][]cell) {
	if p.width == 0 {
		return
	}
	name, from := 0, 0
	for _, row := range rows {
		name = max(name, utf8.RuneCountInString(row[0].text))
		from = max(from, utf8.RuneCountInString(row[2].text))
	}
	for _, row := range rows {
		row[1].text = cut(row[1].text, max(p.width-name-from-4, minValue))
	}
}

// configRow is a line of the table: for people the place in short, for programs the layer and the place.
func configRow(env Env, p sheet, name, value string, from config.Origin) []cell {
	where := from.Name
	if from.File != "" {
		where = fmt.Sprintf("%s:%d", from.File, from.Line)
	}
	if p.width == 0 {
		return cells(name, value, string(from.Layer), where)
	}
	row := cells(name, value, inShort(env, where))
	switch from.Layer {
	case config.Default:
		row[2] = cell{string(config.Default), dim}
	case config.Tenant:
		row[2].text += " (tenant)"
	}
	return row
}

const dim = "2"

// inShort is a place as people write it: a file of the project as seen from here, one of the user's from home.
func inShort(env Env, where string) string {
	home := config.FindPaths(env.Lookup, runtime.GOOS).Home
	if rest, ok := strings.CutPrefix(where, home+string(filepath.Separator)); ok && home != "" {
		where = "~" + string(filepath.Separator) + rest
	}
	if near, err := filepath.Rel(env.Dir, where); err == nil && filepath.IsAbs(where) && len(near) < len(where) {
		return near
	}
	return where
}

type originJSON struct {
	Layer    config.Layer `json:"layer"`
	Variable string       `json:"variable,omitempty"`
	Flag     string       `json:"flag,omitempty"`
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
}

type settingJSON struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	originJSON
}

// ownServerJSON is a [servers.NAME] table, with its secrets masked.
type ownServerJSON struct {
	Name     string            `json:"name"`
	Command  string            `json:"command,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Cwd      string            `json:"cwd,omitempty"`
	URL      string            `json:"url,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
	originJSON
}

// configJSON is what `codemode config --json` prints.
func configJSON(e config.Explained, problems []error) any {
	out := struct {
		Tenant   string          `json:"tenant"`
		Tenants  []string        `json:"tenants"`
		File     string          `json:"file,omitempty"`
		Project  string          `json:"project,omitempty"`
		Settings []settingJSON   `json:"settings"`
		Servers  []ownServerJSON `json:"servers"`
		Problems []string        `json:"problems"`
	}{e.Tenant, e.Tenants, e.File, e.ProjectFile, []settingJSON{}, []ownServerJSON{}, []string{}}
	for _, v := range e.Values {
		out.Settings = append(out.Settings, settingJSON{v.Name, shownSetting(v.Value), newOriginJSON(v.Origin)})
	}
	for _, f := range e.Entries {
		s := clientcfg.Masked(f.Server)
		out.Servers = append(out.Servers, ownServerJSON{
			s.Name, s.Command, s.Args, s.Env, s.Cwd, s.URL, s.Headers, s.Disabled, newOriginJSON(f.Origin),
		})
	}
	for _, p := range problems {
		out.Problems = append(out.Problems, p.Error())
	}
	return out
}

func newOriginJSON(from config.Origin) originJSON {
	o := originJSON{Layer: from.Layer, File: from.File, Line: from.Line}
	switch from.Layer {
	case config.Environment:
		o.Variable = from.Name
	case config.Flag:
		o.Flag = from.Name
	}
	return o
}
