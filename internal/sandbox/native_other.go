//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
)

// native is the native runtime of a system whose kernel it does not know.
type native struct {
	log       *slog.Logger
	isolation Isolation
}

func newNative(NativeOptions) Runtime { return native{} }

func (native) Name() string { return nativeName }

func (native) Probe(context.Context) (Report, error) { return Report{}, notLinux() }

func (native) Start(context.Context, Spec) (Sandbox, error) { return nil, notLinux() }

func (native) Close() error { return nil }

// Ahead is nothing: there is no native runtime that it could be for.
type Ahead struct{}

// StartAhead starts nothing.
func StartAhead() *Ahead { return nil }

// Close does nothing.
func (*Ahead) Close() {}

func notLinux() error {
	return &UnavailableError{
		Runtime: nativeName,
		Code:    "not-linux",
		Step:    "starting a sandbox on " + runtime.GOOS,
		Err:     errors.New("it needs the Linux kernel"),
		Remedy: []string{
			"Run codemode in a Linux virtual machine, or in WSL 2.",
		},
	}
}
