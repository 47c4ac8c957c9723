// Command codemode-sandbox is what codemode executes, where it lies beside it, to build a sandbox and to watch over it:
// both are in the init functions of these packages, by the name that the program is given. See docs/architecture.md.
package main

import (
	"fmt"
	"os"

	_ "codemode/internal/sandbox/reaper"
	_ "codemode/internal/sandbox/stage2"
)

func main() {
	fmt.Fprintln(os.Stderr, "codemode-sandbox: a part of codemode, which executes it; there is nothing else to do with it")
	os.Exit(2)
}
