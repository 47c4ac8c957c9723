// Package upstream is the user's MCP servers while they run: it starts, shares, calls and stops them.
//
// It owns the server processes and the MCP sessions with them, one of each per server however many
// ask. It never decides whether a tool may be called (bridge does) and never interprets a result: what
// a server answers to tools/call and tools/list is handed on byte for byte. A [Pool] is closed by whoever
// made it; when Close returns no server process is left.
package upstream

import (
	"errors"
	"fmt"
	"strings"

	"codemode/internal/config"
	"codemode/internal/hint"
)

// StartError says why a server could not be used.
type StartError struct {
	Server       string
	Step         string // "starting" (also while it is left alone after failures), "initialize", "tools/list"
	Err          error
	Stderr       string               // the last lines it wrote, redacted
	Restrictions *config.Restrictions // those it runs behind; nil is none
	Source       string               // file its entry came from; empty is none
}

func (e *StartError) Error() string {
	return fmt.Sprintf("server %q: %s: %v", e.Server, e.Step, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Hint is what makes its sandbox available, where that was missing, else the server's last words and what they mean.
func (e *StartError) Hint() (hints []string) {
	if hints = hint.Of(e.Err); hints != nil {
		return hints
	}
	if e.Stderr != "" {
		words := strings.TrimRight(e.Stderr, "\n")
		hints = append(hints, "its last words: "+words[strings.LastIndexByte(words, '\n')+1:])
	}
	if restriction := e.SandboxHint(); restriction != "" {
		hints = append(hints, restriction)
	}
	switch {
	case hints != nil || e.lacks():
	case notSent(e.Err): // to its URL: nothing is started
		hints = []string{"see its entry: codemode servers show " + hint.Word(e.Server)}
	default:
		hints = []string{"see what is started: codemode servers show " + hint.Word(e.Server)}
	}
	return hints
}

// Way is what its user can do, for whoever can only tell them; empty where nothing is known.
func (e *StartError) Way() string {
	var refused *refusedError
	switch restriction := e.SandboxHint(); {
	case errors.As(e.Err, &refused) && refused.hint != "":
		return "for the user: " + refused.hint
	case restriction != "":
		return restriction
	case notSent(e.Err):
		return "the user can see to it that it runs and that its URL is right: codemode servers show " +
			hint.Word(e.Server)
	case e.Source == "":
		return ""
	case e.lacks() && !errors.Is(e.Err, ErrNoCommand) && hint.Of(e.Err) != nil:
		return "for the user: " + strings.Join(hint.Of(e.Err), "; ")
	case e.lacks():
		return fmt.Sprintf("the user can change that, or its entry in %q", e.Source)
	}
	return "the user can see more with: codemode servers refresh " + hint.Word(e.Server)
}

// lacks reports whether the server has not come so far as to be started: something that it needs is not there.
func (e *StartError) lacks() bool { return e.Step == "starting" && e.Stderr == "" }

// ErrNoCommand is why a server does not start whose command is not there.
var ErrNoCommand = errors.New("no such command")

type noCommandError string

func (e noCommandError) Error() string { return string(e) }

// Hint is what a server without its program lacks.
func (e noCommandError) Hint() []string {
	return []string{"install that program, or correct the entry's command: codemode servers shows where it is"}
}

func (e noCommandError) Is(target error) bool { return target == ErrNoCommand }

// CallError says why a call brought no result. A result whose isError is true is not a CallError.
type CallError struct {
	Server, Tool string
	Code         int64  // the server's JSON-RPC error code, 0 when there was none
	Data         []byte // the server's JSON-RPC error data
	Crashed      bool   // the server went away while the call was under way
	Err          error
	Stderr       string // the server's last lines, redacted; only when it crashed
}

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }
