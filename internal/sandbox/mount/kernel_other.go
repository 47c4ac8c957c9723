//go:build !linux

package mount

// kernelBelow finds nothing: elsewhere no file system shows the kernel.
func kernelBelow(string) error { return nil }

func mountedBelow(string) []string { return nil }
