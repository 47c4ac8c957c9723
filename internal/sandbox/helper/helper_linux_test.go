package helper

import (
	"cmp"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFind holds that codemode executes no helper which it would have to trust more than itself.
func TestFind(t *testing.T) {
	built := filepath.Join(t.TempDir(), "built")
	build := exec.Command("go", "build", "-tags", "build.test", "-o", built, "codemode/cmd/codemode-sandbox")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	good, err := buildinfo.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	unknown, other := *good, *good
	unknown.Settings = []debug.BuildSetting{{Key: "-tags", Value: "rebuild.test"}}
	other.Settings = append([]debug.BuildSetting{{Key: "vcs.modified", Value: "false"}}, good.Settings...)
	uid := os.Geteuid()
	for _, tt := range []struct {
		name   string
		mode   os.FileMode // of the helper; 0 is 0755
		change func(t *testing.T, name string) error
		own    func(*unix.Stat_t)
		build  *debug.BuildInfo // of codemode; nil is the helper's
		refuse string
	}{
		{name: "fine"},
		{name: "absent", change: func(_ *testing.T, name string) error { return os.Remove(name) }, refuse: ErrAbsent.Error()},
		{name: "of others' writing", mode: 0o757, refuse: "can write"},
		{name: "of the group's writing", mode: 0o775, refuse: "can write"},
		{name: "as codemode itself", mode: 0o775, own: func(s *unix.Stat_t) { s.Mode |= 0o020 }},
		{name: "set-id", mode: 0o755 | os.ModeSetuid, refuse: "set-id"},
		{name: "of the owner's executing", mode: 0o744, refuse: "fewer users"},
		{name: "not codemode's owner's", own: func(s *unix.Stat_t) { s.Uid++ }, refuse: map[bool]string{false: "neither"}[uid == 0]},
		{name: "a stranger's", change: func(t *testing.T, name string) error {
			if uid != 0 {
				t.Skip("only root gives files away")
			}
			return os.Chown(name, 12345, -1)
		}, refuse: "neither"},
		{name: "a link", change: func(_ *testing.T, name string) error {
			return errors.Join(os.Rename(name, name+".real"), os.Symlink(name+".real", name))
		}, refuse: "a link"},
		{name: "a folder", change: func(_ *testing.T, name string) error {
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o755))
		}, refuse: "no regular file"},
		{name: "a FIFO", change: func(_ *testing.T, name string) error {
			return errors.Join(os.Remove(name), unix.Mkfifo(name, 0o755), os.Chmod(name, 0o755))
		}, refuse: "no regular file"},
		{name: "no program", change: func(_ *testing.T, name string) error {
			return os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755)
		}, refuse: "no program of Go"},
		{name: "another build", build: &other, refuse: "another build"},
		{name: "an unknown build", build: &unknown, refuse: "not of a commit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), Name)
			copyFile(t, built, name, cmp.Or(tt.mode, 0o755))
			own := unix.Stat_t{Mode: unix.S_IFREG | 0o755, Uid: uint32(uid)}
			if tt.own != nil {
				tt.own(&own)
			}
			if tt.change != nil {
				if err := tt.change(t, name); err != nil {
					t.Fatal(err)
				}
			}
			codemode := tt.build
			if codemode == nil {
				codemode = good
			}
			p, err := find(name, &own, codemode)
			if p != nil {
				defer p.file.Close()
			}
			if (tt.refuse == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.refuse) {
				t.Errorf("%v, want %q", err, tt.refuse)
			}
		})
	}
}

// TestWritten holds that a helper whose file was written to is not executed any more, and one that was replaced is.
func TestWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), Name)
	write := func(name, text string) error { return os.WriteFile(name, []byte(text), 0o755) }
	for _, tt := range []struct {
		name   string
		change func() error
		refuse bool
	}{
		{"as it was", func() error { return nil }, false},
		{"replaced", func() error { return errors.Join(write(name+".new", "new"), os.Rename(name+".new", name)) }, false},
		{"written to", func() error { return write(name, "longer") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := write(name, "old"); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p := &program{file: f}
			err = errors.Join(unix.Fstat(int(f.Fd()), &p.Stat_t), tt.change())
			if err != nil {
				t.Fatal(err)
			}
			if err := p.isWritten(); (err != nil) != tt.refuse {
				t.Error(err)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.WriteFile(to, data, mode), os.Chmod(to, mode))
	}
	if err != nil {
		t.Fatal(err)
	}
}
