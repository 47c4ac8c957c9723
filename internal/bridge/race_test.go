//go:build race

package bridge

// raced says that the race detector is on, which holds several times the memory of what it watches.
const raced = true
