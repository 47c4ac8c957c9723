package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/policy"
)

// A ValueError is a setting whose value cannot be used.
type ValueError struct {
	Where string // the variable, the flag, or file:line:column and the key
	Value string // as the user wrote it
	Forms string // what is accepted
	Flag  bool   // it was given on the command line

	line int // in a file
}

func (e *ValueError) Error() string {
	shown := userOfURL().ReplaceAllString(e.Value, "//***@")
	shown = restOfURL().ReplaceAllString(shown, "$1***")
	return fmt.Sprintf("%s %.200q cannot be used: write %s", e.Where, shown, e.Forms)
}

// userOfURL is what may be a name and a password in an address, also in one that is none.
var userOfURL = lazyregexp.New(`(?s)//.*@`)

// restOfURL is what follows an address's path, where some services take a token.
var restOfURL = lazyregexp.New(`(?s)(//[^?#]*[?#]).*`)

// Hint says how a folder gets a name that looks like a mode, or what a pattern could mean.
func (e *ValueError) Hint() []string {
	if could := policy.Readings(e.Value); e.Forms == policy.GrantForms && could != nil {
		return []string{"each dot may be the one between the server and the tool: write " + strings.Join(could, " or ")}
	}
	if i := strings.LastIndexByte(e.Value, ':'); e.Forms == mountForms && badMode().MatchString(e.Value) {
		return []string{fmt.Sprintf(
			"%s is neither ro nor rw; as a name it is followed by one: %s:ro", e.Value[i+1:], e.Value,
		)}
	}
	return nil
}

// An UnknownKeyError is a key of config.toml that does not exist.
type UnknownKeyError struct {
	File         string
	Line, Column int
	Key          string
	Known        []string // the keys it could have been
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("%s: unknown key %.200q", reading(e.File, e.Line, e.Column), e.Key)
}

// Hint is the key that was meant, or those there are.
func (e *UnknownKeyError) Hint() []string { return hint.NearestOrAll(e.Key, e.Known) }

// An UnknownVariableError is an environment variable that is named like codemode's and is none.
type UnknownVariableError struct {
	Name  string
	Known []string // the variables it could have been
}

func (e *UnknownVariableError) Error() string {
	return fmt.Sprintf("environment variable %q means nothing to codemode", e.Name)
}

// Hint is the variable that was meant.
func (e *UnknownVariableError) Hint() []string { return hint.Nearest(e.Name, e.Known) }

// An UnknownTenantError is a tenant that config.toml does not have.
type UnknownTenantError struct {
	Name  string
	Where string   // the variable, the flag, or file:line:column and the key
	Known []string // the tenants there are
}

func (e *UnknownTenantError) Error() string {
	return fmt.Sprintf("%s %q cannot be used: config.toml has no tenant of that name", e.Where, e.Name)
}

// Hint is the tenant that was meant, or those there are.
func (e *UnknownTenantError) Hint() []string { return hint.NearestOrAll(e.Name, e.Known) }

// A FileError is a config.toml that cannot be read, or an entry in it that cannot be used.
type FileError struct {
	File   string
	Line   int // 0 when the whole file is meant
	Column int // 0 when the whole line is meant
	Err    error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %v", reading(e.File, e.Line, e.Column), e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Hint is of a file that may not be read.
func (e *FileError) Hint() []string {
	if errors.Is(e.Err, fs.ErrPermission) {
		return []string{"if HOME is the home of another user, as after su or sudo, set it to yours"}
	}
	return nil
}

// A ProjectError is a key in a project's file that is not applied, because such a file is not trusted with it.
type ProjectError struct {
	File         string
	Line, Column int
	Key          string
	Limit        string // what it may at most be; empty when it may not be there at all
}

func (e *ProjectError) Error() string {
	where := reading(e.File, e.Line, e.Column)
	if e.Limit == "" {
		return fmt.Sprintf("%s: %.200q is not applied: a file that comes with a project may not set it", where, e.Key)
	}
	return fmt.Sprintf(
		"%s: %.200q is not applied: a file that comes with a project may only lower it, and it is %s", where, e.Key,
		e.Limit,
	)
}

// Hint is where the key may stand.
func (e *ProjectError) Hint() []string {
	return []string{"if you want it, set it in your own config.toml; see: codemode config path"}
}

// A CeilingError is a default deadline above the longest one allowed.
type CeilingError struct {
	Timeout, Max             string
	TimeoutFrom, CeilingFrom string // where each was set
}

func (e *CeilingError) Error() string {
	return fmt.Sprintf("%s %s exceeds the limit of %s that %s sets", e.TimeoutFrom, e.Timeout, e.Max, e.CeilingFrom)
}

// Hint is how to raise the limit.
func (e *CeilingError) Hint() []string {
	if strings.HasPrefix(e.CeilingFrom, olderPrefix) || strings.HasPrefix(e.CeilingFrom, ownPrefix) {
		return []string{"raise the limit: " + e.CeilingFrom}
	}
	return []string{"raise the limit with CODEMODE_RUN_MAX_TIMEOUT, or run.max_timeout in config.toml"}
}

func reading(file string, line, column int) string {
	switch {
	case line == 0:
		return fmt.Sprintf("reading %q", file)
	case column == 0:
		return fmt.Sprintf("reading %q: line %d", file, line)
	}
	return fmt.Sprintf("reading %q: line %d, column %d", file, line, column)
}

// byLine puts errors into the order of the file they are about; those about no file come first, as they are.
func byLine(errs []error) {
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
}

func lineOf(err error) int {
	var (
		value   *ValueError
		unknown *UnknownKeyError
		file    *FileError
		project *ProjectError
	)
	switch {
	case errors.As(err, &value):
		return value.line
	case errors.As(err, &unknown):
		return unknown.Line
	case errors.As(err, &file):
		return file.Line
	case errors.As(err, &project):
		return project.Line
	}
	return 0
}
