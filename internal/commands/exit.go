package commands

import (
	"errors"
	"slices"

	"codemode/internal/config"
)

// Exit codes. exec otherwise ends as the program it ran did; its own codes follow timeout(1) and
// docker-run(1).
const (
	exitFailed   = 1
	exitUsage    = 2   // as python3 has it, too
	exitPartly   = 3   // install: some of it was done
	exitRefused  = 4   // install: nothing was written
	exitDeadline = 124 // exec: the deadline
	exitNotRun   = 125 // exec: codemode could not run the program
	exitSignal   = 128 // and the signal's number
)

// exitError is an error that ends the process with a code of its own. An empty message is not printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// exit ends the process with a code and nothing more to say.
func exit(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code, errQuiet}
}

func exitCode(err error) int {
	var usage *usageError
	var exit *exitError
	switch {
	case errors.As(err, &usage), slices.ContainsFunc(separate(err), isFlagError):
		return exitUsage
	case errors.As(err, &exit):
		return exit.code
	}
	return exitFailed
}

// isFlagError reports whether a flag has a value that cannot be used, which is a usage error.
func isFlagError(err error) bool {
	var value *config.ValueError
	return errors.As(err, &value) && value.Flag
}
