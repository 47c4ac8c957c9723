package commands

import (
	"errors"
	"os"
)

// openConsole opens the console by the names that Windows has for it: Microsoft's "Console Handles", read 2026-11.
func openConsole() (in, out *os.File, err error) {
	in, err = os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, outErr := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, errors.Join(err, outErr)
}
