package registry

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
)

// An Error is a registry that does not answer as one.
type Error struct {
	Address string
	Status  int // of HTTP, where that is what is wrong
	json    bool
	what    string
	wait    string // how long it wants to be left alone
}

func (e *Error) Error() string { return fmt.Sprintf("the MCP registry %q: %s", e.Address, e.what) }

// Hint is where another is named.
func (e *Error) Hint() []string {
	if e.Status == http.StatusTooManyRequests {
		return []string{"ask again " + e.wait}
	}
	return []string{
		"for another registry: registry.address in config.toml, or CODEMODE_REGISTRY_ADDRESS",
		"proxies are those of HTTPS_PROXY and NO_PROXY",
	}
}

func (e *Error) because(what string) *Error {
	e.what = what
	return e
}

// status says what an answer means that is no success.
func (e *Error) status(resp *http.Response, data []byte) *Error {
	e.Status = resp.StatusCode
	var answer struct{ Detail, Error, Title string }
	e.json = json.Unmarshal(data, &answer) == nil
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.wait = "in a minute"
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 && n < 1e6 {
			e.wait = fmt.Sprintf("in %v", time.Duration(n)*time.Second)
		}
		return e.because("it is asked too often now")
	case !e.json:
		return e.because("it answered " + described(resp, data))
	}
	for _, text := range []string{answer.Detail, answer.Error, answer.Title} {
		if text != "" {
			return e.because(fmt.Sprintf("it answered %q: %s", resp.Status, clipped(text)))
		}
	}
	return e.because(fmt.Sprintf("it answered %q", resp.Status))
}

var titled = lazyregexp.New(`(?is)<title[^>]*>(.*?)</title>`)

// described is an answer that is no JSON: mostly a page, of a proxy or of what else is at the address.
func described(resp *http.Response, data []byte) string {
	text := fmt.Sprintf("%q", resp.Status)
	if m := titled().FindSubmatch(data); m != nil {
		return text + " with a page titled " + strconv.Quote(clipped(html.UnescapeString(string(m[1]))))
	}
	if kind := resp.Header.Get("Content-Type"); kind != "" {
		text += " with " + clipped(kind)
	}
	return text
}

// clipped is a stranger's text in one line that nobody minds.
func clipped(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > 100 {
		letters = append(letters[:99], '…')
	}
	return string(letters)
}

// UnknownError is a name that a registry has no server of.
type UnknownError struct{ Name, Address string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the MCP registry %q has no server %q; nothing was written", e.Address, e.Name)
}

// Hint is how to look for it.
func (e *UnknownError) Hint() []string {
	_, last, _ := strings.Cut(e.Name, "/")
	return []string{"codemode servers find " + last}
}

// EntryError is a server that no entry is made of. It quotes what the registry says.
type EntryError struct {
	Name, What string
	Then       string // what to do about it; empty is nothing
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("server %q of the MCP registry %s; nothing was written", e.Name, e.What)
}

// Hint is what to do about it.
func (e *EntryError) Hint() []string {
	if e.Then == "" {
		return nil
	}
	return []string{e.Then}
}

// LackError is a server that nothing here can start.
type LackError struct {
	Name     string
	Programs []string
	Kind     string
}

func (e *LackError) Error() string {
	programs := strings.Join(e.Programs, " or ")
	return fmt.Sprintf("server %q needs %s, which is not in PATH; nothing was written", e.Name, programs)
}

// Hint is what to do with it all the same.
func (e *LackError) Hint() []string {
	return []string{
		"install it, and say this again",
		fmt.Sprintf("to write the entry now: codemode servers add %s --from %s", e.Name, e.Kind),
	}
}

// InputError is a server that needs values which were not given.
type InputError struct {
	Name  string
	Needs []Need
}

func (e *InputError) Error() string {
	var names []string
	for _, n := range e.Needs {
		names = append(names, fmt.Sprintf("%q", n.Name))
	}
	return fmt.Sprintf("server %q needs to be told %s; nothing was written", e.Name, strings.Join(names, ", "))
}

// Hint is how to tell it.
func (e *InputError) Hint() (hints []string) {
	command := "codemode servers add " + e.Name
	for _, n := range e.Needs {
		command += " --set " + hint.Word(n.Name+"=VALUE")
		if n.About != "" {
			hints = append(hints, n.Name+": "+n.About)
		}
	}
	return append(hints, command)
}
