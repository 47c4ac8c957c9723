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
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
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
	for _, line := range e.LastWords() {
		hints = append(hints, "its last words: "+line)
	}
	if restriction := e.SandboxHint(); restriction != "" {
		hints = append(hints, restriction)
	}
	if repair := e.repair(); repair != "" {
		hints = append(hints, repair)
	}
	if hints == nil && !e.lacks() {
		hints = []string{"see its entry: codemode servers show " + hint.Word(e.Server)}
	}
	return hints
}

// LastWords are the last lines of what it wrote that say something, at most five.
func (e *StartError) LastWords() []string {
	lines := slices.DeleteFunc(strings.Split(e.Stderr, "\n"), saysNothing)
	return lines[max(0, len(lines)-5):]
}

// saysNothing is of lines that runtimes write behind what went wrong: frames of JavaScript's stacks, what remains of a
// printed object, the version of Node.js.
func saysNothing(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Trim(line, "{}[]()^~;, ") == "" || strings.HasPrefix(line, "at ") ||
		strings.HasPrefix(line, "Node.js v")
}

// halfInstalled finds the folder of an installation of npx's in which Node misses a module.
var halfInstalled = lazyregexp.New(`(?s)Cannot find (?:package|module) .*?(?:file://)?(/[^'"\n]*/_npx/[0-9a-f]+)/`)

// repair is how a package is installed anew of which npx has, when it was ended, left a part: it takes that for the
// whole from then on (npm 11, seen 2026-11).
func (e *StartError) repair() string {
	m := halfInstalled().FindStringSubmatch(e.Stderr)
	if m == nil {
		return ""
	}
	return fmt.Sprintf("npx was ended while it installed this; remove %q, and it installs all of it anew", m[1])
}

// Way is what the user can do about it, for a caller that can only pass it on; empty where nothing is known.
func (e *StartError) Way() string {
	var refused *refusedError
	switch restriction := e.SandboxHint(); {
	case errors.As(e.Err, &refused) && refused.hint != "":
		return "for the user: " + refused.hint
	case restriction != "":
		return restriction
	case e.repair() != "":
		return "for the user: " + e.repair()
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
	Unclear      bool   // what the server has answered is no result, no error and no refusal: it may have done it
	Err          error
	Stderr       string // the server's last lines, redacted; only when it crashed
}

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

// IsError says whether a result is an error by its isError. That is to be a boolean: anything else but null counts as
// true, here and in the guest.
func IsError(result []byte) bool {
	is := gjson.GetBytes(result, "isError")
	return is.Type != gjson.Null && is.Type != gjson.False // Null is none, too
}
