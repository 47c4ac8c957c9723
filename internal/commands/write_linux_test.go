package commands

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestSwappedWhileWritten has a folder that the user names for files be swapped for a link, time and again: nothing is
// written where the link leads.
func TestSwappedWhileWritten(t *testing.T) {
	home := t.TempDir()
	private, project := filepath.Join(home, "private"), filepath.Join(home, "project")
	for _, dir := range []string{private, filepath.Join(project, "out")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(private, filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return home, name == "HOME" }
	env := Env{Dir: home, Lookup: lookup, Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}
	of := &tenancy{env: env}
	over, swapping := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapping)
		for {
			select {
			case <-over:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, project+"/out", unix.AT_FDCWD, project+"/link", unix.RENAME_EXCHANGE)
			}
		}
	}()
	wrote := 0
	for n := 0; n < 500 || wrote == 0 && n < 50_000; n++ { // beside other work nearly every one may be too late
		if err := of.write("project/out/file", strings.NewReader("x"), true, 0o644); err == nil {
			wrote++
		}
		real, err := of.follow("project/out")
		if err != nil {
			continue
		}
		pictures, err := newImages(env, "out", real, imageRoom{max: 1 << 20})
		if err != nil {
			continue
		}
		if _, err := pictures.write("image/png", []byte("x")); err == nil {
			wrote++
		}
		pictures.close()
		if saved, err := openOut(real, 1<<20, &ui{out: io.Discard}); err == nil {
			if err := saved.save(sandbox.OutFile{Name: "saved", Size: 1, Content: strings.NewReader("x")}); err == nil {
				wrote++
			}
			saved.close()
		}
	}
	close(over)
	<-swapping
	if left, _ := os.ReadDir(private); len(left) > 0 || wrote == 0 {
		t.Errorf("it was written %d times, and %d files are where the link leads", wrote, len(left))
	}
}
