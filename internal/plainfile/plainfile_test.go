package plainfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/plainfile"
)

// By whichever way a file is named, what is no plain file of bounded size is refused, and nobody waits for it.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, size := range map[string]int{"fits": 1024, "large": 1025, "empty": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := os.WriteFile(outside, nil, 0o600)
	if err == nil {
		err = os.Symlink(outside, filepath.Join(dir, "out"))
	}
	if err != nil {
		t.Fatal(err)
	}
	fifo(t, filepath.Join(dir, "queue"))
	for _, c := range []struct{ name, within, anywhere string }{
		{"fits", "", ""},
		{"empty", "", ""},
		{"large", "it is larger than 1 KiB", "it is larger than 1 KiB"},
		{".", "it is a directory", "it is a directory"},
		{"queue", "it is not a regular file", "it is not a regular file"},
		{"nothing", "no such file", "no such file"},
		{"out", "it leads out of the project", ""},
		{"../" + filepath.Base(filepath.Dir(outside)) + "/outside", "it leads out of the project", ""},
	} {
		path := filepath.Join(dir, c.name)
		_, err := plainfile.Read(path, 1024)
		check(t, "Read "+c.name, err, c.anywhere)
		_, err = plainfile.ReadWithin(dir, c.name, 1024)
		check(t, "ReadWithin "+c.name, err, c.within)
		_, err = plainfile.ReadWithin(dir, path, 1024)
		check(t, "ReadWithin "+path, err, c.within)
	}
	if data, err := plainfile.Read(filepath.Join(dir, "fits"), 1024); len(data) != 1024 {
		t.Errorf("%d bytes: %v", len(data), err)
	}
}

func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "", err != nil && want == "":
		t.Errorf("%s: %v, and it should be %q", what, err, want)
	case err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "/")):
		t.Errorf("%s: %v, and it should be %q, without a path", what, err, want)
	}
}
