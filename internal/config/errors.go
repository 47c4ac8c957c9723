package config

import "fmt"

// A ValueError is a setting whose value cannot be used.
type ValueError struct {
	Where string // the variable, the flag, or file:line and the key
	Value string // as the user wrote it
	Forms string // what is accepted
	Flag  bool   // it was given on the command line
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s %q cannot be used: write %s", e.Where, e.Value, e.Forms)
}

// An UnknownKeyError is a key of config.toml that does not exist.
type UnknownKeyError struct {
	File  string
	Line  int
	Key   string
	Known []string // the keys it could have been
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("reading %q: line %d: unknown key %q", e.File, e.Line, e.Key)
}

// An UnknownVariableError is an environment variable that is named like codemode's and is none.
type UnknownVariableError struct {
	Name  string
	Known []string // the variables it could have been
}

func (e *UnknownVariableError) Error() string {
	return fmt.Sprintf("environment variable %q means nothing to codemode", e.Name)
}

// A FileError is a config.toml that cannot be read, or an entry in it that cannot be used.
type FileError struct {
	File   string
	Line   int // 0 when the whole file is meant
	Column int // 0 when the whole line is meant
	Err    error
}

func (e *FileError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("reading %q: %v", e.File, e.Err)
	case e.Column == 0:
		return fmt.Sprintf("reading %q: line %d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("reading %q: line %d, column %d: %v", e.File, e.Line, e.Column, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// A CeilingError is a default deadline above the longest one allowed.
type CeilingError struct {
	Timeout, Max             string
	TimeoutFrom, CeilingFrom string // where each was set
}

func (e *CeilingError) Error() string {
	return fmt.Sprintf("%s %s exceeds the limit of %s that %s sets", e.TimeoutFrom, e.Timeout, e.Max, e.CeilingFrom)
}
