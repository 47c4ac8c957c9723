//go:build !linux && !darwin && !windows

package clientcfg

// createdAt would be when a folder was made.
func createdAt(string) string { return "" }
