package container

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"codemode/internal/atomicfile"
	"codemode/internal/cachedir"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox/seccomp"
)

// writeProfile writes the system call filter where the engine's command reads it, and returns the path. Its
// name is a hash of what it holds; what is there already is compared all the same.
func writeProfile(cache string, opts seccomp.Options) (string, error) {
	if cache == "" {
		return "", errors.New("there is no cache directory")
	}
	profile := seccomp.OCI(opts)
	sum := sha256.Sum256(profile)
	dir := filepath.Join(cache, "seccomp")
	path, err := filepath.Abs(filepath.Join(dir, hex.EncodeToString(sum[:8])+".json"))
	if err != nil {
		return "", err
	}
	if err := cachedir.Make(cache, dir); err != nil { // whoever could write there could exchange it
		return "", err
	}
	if b, err := plainfile.Read(path, int64(len(profile))); err == nil && bytes.Equal(b, profile) {
		return path, nil
	}
	return path, writeWhole(path, profile)
}

// A filter is a program for one kind of machine.
type filter struct {
	machine string // as uname(2) has it
	program []byte
}

// filters are what program returns for each kind of machine, by its Go name.
func filters(program func(goarch string) ([]seccomp.Insn, error)) (all []filter, err error) {
	for machine, goarch := range map[string]string{"x86_64": "amd64", "aarch64": "arm64"} {
		insns, err := program(goarch)
		if err != nil {
			return nil, err
		}
		all = append(all, filter{machine, seccomp.Encode(insns)})
	}
	return all, nil
}

// writeWhole writes a file of the cache, all of it or nothing.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, ".temp-", data)
}
