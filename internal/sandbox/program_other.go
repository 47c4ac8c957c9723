//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"runtime"

	"codemode/internal/proc"
)

// Starter returns what refuses to start a program: there are no restrictions on this system.
func (p *Programs) Starter(Restrictions) proc.Starter {
	return func(context.Context, proc.Spec, [3]*os.File) (proc.Family, error) {
		return nil, &UnavailableError{
			Runtime: nativeName,
			Code:    "not-linux",
			Step:    "starting a program in a sandbox on " + runtime.GOOS,
			Err:     errors.New("only Linux has one"),
			Remedy: []string{
				`Take sandbox = "native" out of the server's entry, and its name out of mcp.sandbox, if it may run without.`,
			},
		}
	}
}
