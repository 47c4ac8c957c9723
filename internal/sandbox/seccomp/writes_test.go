package seccomp

import "testing"

// TestWritesOut holds that no guest has the machine write out what others have written, but for what is in files that
// it may write to.
func TestWritesOut(t *testing.T) {
	for goarch, a := range arches {
		type answers struct{ all, file uint32 }
		for opts, want := range map[Options]answers{
			{}: {aEPERM, errno(0)}, {Alone: 4711}: {aEPERM, errno(0)},
			{Writes: true}: {aEPERM, retAllow}, {Program: true}: {retAllow, retAllow},
		} {
			prog, err := Filter(goarch, opts)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]uint32{
				"sync": want.all, "syncfs": want.all,
				"fsync": want.file, "fdatasync": want.file, "sync_file_range": want.file, "msync": want.file,
			} {
				call := data{nr: number(t, goarch, name), arch: a.audit}
				if got, err := run(prog, call); got != want || err != nil {
					t.Errorf("%s, %+v: %s: %#x, %v; want %#x", goarch, opts, name, got, err, want)
				}
			}
		}
	}
}

// TestMoves holds that no guest has itself moved between processors, which it is told has worked.
func TestMoves(t *testing.T) {
	for goarch, a := range arches {
		for opts, want := range map[Options]uint32{
			{}: errno(0), {Alone: 4711}: errno(0), {Writes: true}: errno(0), {Program: true}: retAllow,
		} {
			prog, err := Filter(goarch, opts)
			if err != nil {
				t.Fatal(err)
			}
			call := data{nr: number(t, goarch, moves), arch: a.audit}
			if got, err := run(prog, call); got != want || err != nil {
				t.Errorf("%s, %+v: %#x, %v; want %#x", goarch, opts, got, err, want)
			}
		}
	}
}
