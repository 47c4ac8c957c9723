package commands

import (
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/atomicfile"
	"codemode/internal/plainfile"
)

// What is kept of the lines that were typed.
const (
	maxHistory     = 1000
	maxHistoryLine = 4 << 10
	maxHistoryFile = 16 << 20
)

// history is what was typed into repls, in a file that all of a tenant's append to. Where that cannot be read or
// written, it is of this one alone.
type history struct {
	path  string   // empty: none is kept
	lines []string // the oldest first
}

// openHistory reads a file, and shortens one that has grown to more than twice of what is kept.
func openHistory(path string) *history {
	h := &history{path: path}
	data, err := plainfile.Read(path, maxHistoryFile)
	if err != nil {
		return h
	}
	h.lines = strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	n := len(h.lines)
	h.lines = h.lines[max(0, n-maxHistory):]
	if n > 2*maxHistory {
		_ = atomicfile.Write(path, ".history-*", []byte(strings.Join(h.lines, "\n")+"\n")) // next time, then
	}
	return h
}

// Add keeps a line, as shells do: not one that begins with a space, nor the same again.
func (h *history) Add(line string) {
	if line == "" || line[0] == ' ' || len(line) > maxHistoryLine || h.Len() > 0 && h.At(0) == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" {
		return
	}
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString(line + "\n")
		_ = f.Close()
	}
}

func (h *history) Len() int        { return len(h.lines) }
func (h *history) At(n int) string { return h.lines[len(h.lines)-1-n] }
