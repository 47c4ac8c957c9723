package fakemcp

import "os/exec"

// spawnChild starts a process that outlives this one.
func spawnChild() error { return exec.Command("ping", "-n", "1000", "127.0.0.1").Start() }
