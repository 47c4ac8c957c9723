package bridge

import (
	"fmt"

	"codemode/internal/visible"
)

// Bounds of what a result says besides output. The guest keeps to smaller ones by itself, but the user's code
// shares its process.
const (
	maxText       = 32 << 10  // bytes of an error, or of a value's repr
	maxValue      = 256 << 10 // bytes of a value as JSON
	maxDepth      = 100       // levels of it: clients that parse by recursion give up at some
	maxNotes      = 32
	maxNoted      = 1000     // notes that are counted
	maxNote       = 2 << 10  // bytes of a note
	maxImages     = 64       // of one run
	maxImageBytes = 20 << 20 // of all of them: what a model can take in is far less
	maxTools      = 64       // counted by name in a receipt
)

// clipNotes makes each note a short line, and leaves out those that are too many.
func clipNotes(notes []string) []string {
	var clipped []string
	for i, n := range notes {
		if i == maxNotes {
			return append(clipped, fmt.Sprintf("… and %d more", len(notes)-i))
		}
		clipped = append(clipped, visible.Line(visible.Clip(n, maxNote)))
	}
	return clipped
}
