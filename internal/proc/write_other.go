//go:build !linux

package proc

// WriteNow writes nothing: it is not known here what a pipe would take at once.
func (p *Process) WriteNow([]byte) (written bool) { return false }
