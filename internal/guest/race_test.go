//go:build race

package guest

// raced says that the race detector is on, with which a sync.Pool forgets some of what it is given.
const raced = true
