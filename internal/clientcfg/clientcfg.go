// Package clientcfg is the files in which people configure MCP servers: it finds and reads them, and
// says what in them cannot be used.
//
// It never starts a process, never prints and never follows what an entry says. One bad entry costs only
// itself, one bad file only itself: what is wrong comes back as [Problem] values beside what is right.
// Everything here is a function of its arguments and the files; nothing needs closing.
package clientcfg

import (
	"fmt"

	"codemode/internal/config"
)

// A Problem is a file or an entry that cannot be used, or that is hidden by another of its name.
type Problem struct {
	File   string
	Line   int    // 0 when the whole file is meant
	Column int    // 0 when the whole line is meant
	Server string // empty when the file is meant
	Err    error
}

func (p Problem) Error() string {
	switch {
	case p.Line == 0:
		return fmt.Sprintf("reading servers file %q: %v", p.File, p.Err)
	case p.Column == 0:
		return fmt.Sprintf("reading servers file %q: line %d: %v", p.File, p.Line, p.Err)
	}
	return fmt.Sprintf("reading servers file %q: line %d, column %d: %v", p.File, p.Line, p.Column, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

// A Skipped entry would start codemode, or the program it replaces, again.
type Skipped struct {
	Server config.Server
	Reason string // what gave it away
}

// Found is what the sources hold together.
type Found struct {
	Servers  []config.Server // in the order of the sources, names unique, disabled ones included
	Problems []Problem
	Skipped  []Skipped
}
