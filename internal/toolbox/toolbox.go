// Package toolbox keeps the functions that a tenant's code has saved for later sessions.
//
// It owns one directory of the state, with a file for each tool; any number of processes may use it at once, because
// every change is made under a lock and every file is written aside and renamed into place. It never executes or parses
// a tool, and knows nothing of Python: what is saved has been checked by whoever saves it. Nothing needs closing.
package toolbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/filelock"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/quota"
)

// Tool is one saved function.
type Tool struct {
	Name      string    `json:"name"`
	Source    string    `json:"source"`
	Async     bool      `json:"async,omitempty"`
	Signature string    `json:"signature"` // "weekly_report(week: int = 1) -> str"
	Doc       string    `json:"doc,omitempty"`
	Params    []Param   `json:"params,omitempty"`
	Needs     []string  `json:"needs,omitempty"` // other saved tools that it calls by their names
	Uses      []Use     `json:"uses,omitempty"`
	Saved     time.Time `json:"saved"`
}

// Param is one parameter of a tool.
type Param struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // its annotation, "Any" where it has none
	Required bool   `json:"required,omitempty"`
}

// Use is a tool of a server that a saved tool names.
type Use struct {
	Server string `json:"server"`           // by its real name where it was known
	Tool   string `json:"tool"`             // by its real name where it was known
	Schema string `json:"schema,omitempty"` // hash of what it took and returned; empty when that was not known
}

// Hash names what a tool does: two of one hash are the same.
func (t Tool) Hash() string {
	sum := sha256.Sum256([]byte(t.Source))
	return hex.EncodeToString(sum[:])
}

// Bounds of a toolbox.
const (
	MaxSource = 64 << 10 // bytes of one tool
	maxTools  = 256
)

// Box is a directory of saved tools.
type Box struct {
	dir  string
	disk *quota.Budget
}

// New returns the toolbox in a directory, which is made when there is something to keep. What is saved takes its room
// from a budget; nil is none.
func New(dir string, disk *quota.Budget) *Box { return &Box{dir, disk} }

// Change is what saving a tool did.
type Change string

// What saving can do.
const (
	Added    Change = "saved"
	Replaced Change = "replaced"
	Same     Change = "unchanged"
)

// DiskError is what is wrong with the files of tools, or with their folder. Its text names them; What does not, and is
// all that code may be told.
type DiskError struct {
	What string
	Err  error
}

func (e *DiskError) Error() string { return e.What + ": " + e.Err.Error() }
func (e *DiskError) Unwrap() error { return e.Err }

// ErrNone is a tool that is not there.
var ErrNone = errors.New("there is no such saved tool")

// ExistsError is another tool of the same name, or one that only differs in case, which some file systems cannot keep
// beside it.
type ExistsError struct{ Name, Other string }

func (e *ExistsError) Error() string {
	if e.Other != e.Name {
		return fmt.Sprintf(
			"there is a saved tool %q, whose name differs from %q only in case; nothing was saved", e.Other, e.Name,
		)
	}
	return fmt.Sprintf("there is another saved tool %q; nothing was saved", e.Name)
}

// Hint is how to replace a tool of that very name.
func (e *ExistsError) Hint() []string {
	if e.Other != e.Name {
		return nil
	}
	return []string{"codemode tools show " + hint.Word(e.Name), "to replace it: --force"}
}

// Save keeps a tool. What is there already is replaced only on request; when it returns without an error the tool
// survives whatever happens to the process, and to the machine.
func (b *Box) Save(ctx context.Context, t Tool, replace bool) (Change, error) {
	switch {
	case !nameOK(t.Name):
		return "", fmt.Errorf("%q is no name for a saved tool", t.Name)
	case len(t.Source) > MaxSource:
		return "", fmt.Errorf("the tool %q has %d bytes; at most %d are kept", t.Name, len(t.Source), MaxSource)
	}
	change := Added
	err := b.locked(ctx, func() error {
		names, err := b.names()
		if err != nil {
			return err
		}
		for _, other := range names {
			if strings.EqualFold(other, t.Name) && other != t.Name {
				return &ExistsError{t.Name, other}
			}
		}
		old, err := b.Load(t.Name)
		switch {
		case err == nil && old.Hash() == t.Hash():
			change = Same // written again all the same: what it uses may have changed
		case errors.Is(err, ErrNone) && len(names) >= maxTools:
			return fmt.Errorf("there are %d saved tools already, as many as are kept; nothing was saved", maxTools)
		case errors.Is(err, ErrNone):
		case !replace:
			return &ExistsError{t.Name, t.Name}
		default:
			change = Replaced
		}
		return b.write(ctx, t)
	})
	if err != nil {
		return "", err
	}
	return change, nil
}

// Load returns a tool as it was saved; ErrNone where there is none.
func (b *Box) Load(name string) (Tool, error) {
	if !nameOK(name) {
		return Tool{}, ErrNone
	}
	return b.read(name)
}

// List returns all tools that can be read, by name, and what is wrong with the others.
func (b *Box) List() (tools []Tool, problems []error) {
	names, err := b.names()
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		t, err := b.read(name)
		switch {
		case err == nil:
			tools = append(tools, t)
		case !errors.Is(err, ErrNone): // else it has just been removed
			problems = append(problems, err)
		}
	}
	slices.SortFunc(tools, func(s, t Tool) int { return cmp.Compare(s.Name, t.Name) })
	return tools, problems
}

// Remove forgets tools; none of them unless all are there. A damaged one can be removed, too.
func (b *Box) Remove(ctx context.Context, names ...string) error {
	known, err := b.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return &NoToolError{name, known}
		}
	}
	return b.locked(ctx, func() error {
		for _, name := range names {
			if err := os.Remove(b.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing the saved tool %q: %w", name, err)
			}
		}
		return syncDir(b.dir)
	})
}

// NoToolError is a tool that was asked for by name and is not there.
type NoToolError struct {
	Name  string
	Known []string
}

func (e *NoToolError) Error() string { return fmt.Sprintf("there is no saved tool %q", e.Name) }

// Hint is the tool that was meant, or where all are.
func (e *NoToolError) Hint() []string {
	if hints := hint.Nearest(e.Name, e.Known); hints != nil {
		return hints
	}
	return []string{"there are: codemode tools list"}
}

// Unwrap makes it an ErrNone.
func (e *NoToolError) Unwrap() error { return ErrNone }

// Stamp changes whenever the tools have changed.
func (b *Box) Stamp() string {
	var stamp strings.Builder
	names, _ := b.names() // what cannot be looked at has no tools to offer
	for _, name := range names {
		if info, err := os.Lstat(b.path(name)); err == nil {
			fmt.Fprintf(&stamp, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}

var namePattern = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

func nameOK(name string) bool { return namePattern().MatchString(name) }

// A tool's file name has a prefix, because Windows reserves names of devices, such as con.json.
const (
	prefix     = "tool-"
	suffix     = ".json"
	tempPrefix = ".new-"
)

func (b *Box) path(name string) string { return filepath.Join(b.dir, prefix+name+suffix) }

// names are the tools there are files of, in the order of the directory, which is by name.
func (b *Box) names() (names []string, err error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &DiskError{"looking for saved tools", err}
	}
	for _, e := range entries {
		name, isTool := strings.CutPrefix(e.Name(), prefix)
		name, isJSON := strings.CutSuffix(name, suffix)
		if isTool && isJSON && nameOK(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// locked makes a change while nobody else does, and takes away what a process left that was killed at that.
func (b *Box) locked(ctx context.Context, change func() error) error {
	const unchanged = "the saved tools stay as they are"
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return &DiskError{unchanged, err}
	}
	lock, err := filelock.Take(ctx, filepath.Join(b.dir, ".lock"))
	if err != nil {
		return &DiskError{unchanged, err}
	}
	defer lock.Close()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return &DiskError{unchanged, err}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			_ = os.Remove(filepath.Join(b.dir, e.Name())) // the next change tries again
		}
	}
	return change()
}
