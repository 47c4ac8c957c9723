//go:build race

package hostile

// raced says that the race detector is on: what it watches is this process, and no sandbox.
const raced = true
