package commands

import (
	"io"
	"os"

	"codemode/internal/sandbox"
)

// Env is the process's edges. No other package touches them.
type Env struct {
	Args    []string // the program's name first
	Stdin   *os.File
	Stdout  io.Writer
	Stderr  io.Writer
	Lookup  func(string) (string, bool)
	Environ []string // NAME=VALUE
	Dir     string   // where the program was started
	Self    string   // the program's own file: an entry that starts it is no server. Empty is unknown

	ahead  *sandbox.Ahead // of the guest that a command will start; nil is none
	isBare bool           // variables that decide about servers are left out
}

// ProcessEnv is the environment of this process.
func ProcessEnv() Env {
	dir, _ := os.Getwd()       // one that is gone leaves relative paths relative
	self, _ := os.Executable() // without it, codemode is still known by its name
	return Env{
		Args:    os.Args,
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Lookup:  os.LookupEnv,
		Environ: os.Environ(),
		Dir:     dir,
		Self:    self,
	}
}

// get returns a variable, empty when it is not set.
func (e Env) get(name string) string {
	v, _ := e.Lookup(name)
	return v
}
