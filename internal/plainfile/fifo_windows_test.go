package plainfile_test

import "testing"

// fifo has nothing to make: a folder has none here.
func fifo(t *testing.T, name string) { t.Skip("a folder has no FIFOs here") }
