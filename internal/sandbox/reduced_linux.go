package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"codemode/internal/plainfile"
	"codemode/internal/sandbox/stage2"
)

// prepareReduced does without namespaces: one process on the host, confined by Landlock and by a
// stricter system call filter. It sees that files exist, writes to two directories of the host's disk,
// and shares the host's pids and network namespace, of which the filter leaves it nothing.
func (l *launch) prepareReduced() error {
	sweepReduced()
	base, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", reducedPrefix, os.Getpid()))
	if err != nil {
		return fmt.Errorf("making the guest's directories: %w", err)
	}
	base = plainfile.Resolve(base)
	l.undo.add(func() { _ = removeTree(base) })
	l.cmd = secondStage()
	if os.Geteuid() == 0 {
		l.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: guestID, Gid: guestID}
	}
	tmp, work := filepath.Join(base, "tmp"), filepath.Join(base, "workspace")
	own := []string{tmp, work}
	if l.view.out {
		own = append(own, filepath.Join(work, outName))
	}
	if err := makeReducedDirs(base, own); err != nil {
		return fmt.Errorf("making the guest's directories: %w", err)
	}
	l.alone = true
	l.config.RequireLandlock = true
	l.config.Dir = work
	py, dir := l.view.guest.py, l.view.guest.dir
	l.config.Path = py.HostPath(py.Exe)
	l.config.Argv = l.view.guest.argv(l.config.Path, dir)
	l.config.Env = stage2.ToBytes(
		replaceEnv(l.view.env, map[string]string{"HOME": work, "TMPDIR": tmp, "MPLCONFIGDIR": tmp})...,
	)
	var read, execute []string
	write := []string{tmp, work}
	for _, b := range guestBinds(py, dir) {
		if !b.Real {
			b.Host = plainfile.Resolve(b.Host)
		}
		execute = append(execute, b.Host)
	}
	for _, m := range l.view.guest.mounts { // there is nothing to mount by: what holds is Landlock alone
		if err := os.Symlink(m.Host, filepath.Join(work, m.Name)); err != nil {
			return fmt.Errorf("making the guest's directories: %w", err)
		}
		if m.Write {
			write = append(write, m.Host)
		} else {
			read = append(read, m.Host)
		}
	}
	l.config.Landlock = stage2.Landlock{
		Read: stage2.ToBytes(read...), Execute: stage2.ToBytes(execute...), Write: stage2.ToBytes(write...),
		Devices: stage2.ToBytes(l.view.devices...), Real: true,
	}
	for _, p := range py.SitePackages {
		l.site = append(l.site, py.HostPath(p))
	}
	if py.Layers != "" {
		l.layers = py.HostPath(py.Layers)
	}
	return nil
}

// makeReducedDirs makes directories below base that are, as it is, the guest's own.
func makeReducedDirs(base string, dirs []string) error {
	for _, d := range dirs {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		return nil // the guest runs as this user
	}
	for _, d := range append(dirs, base) {
		if err := os.Chown(d, guestID, guestID); err != nil {
			return err
		}
	}
	return nil
}

// reducedPrefix begins the names of directories of guests; codemode's pid follows.
const reducedPrefix = "codemode-guest-"

// sweepReduced removes the directories of a codemode that was killed before it could.
func sweepReduced() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), reducedPrefix+"*-*")) // the pattern is sound
	for _, d := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d), reducedPrefix), "-")
		if processGone(pid) {
			_ = removeTree(d) // it may be somebody else's
		}
	}
}

// replaceEnv gives variables of env other values.
func replaceEnv(env []string, values map[string]string) []string {
	out := make([]string, len(env))
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if v, ok := values[name]; ok {
			e = name + "=" + v
		}
		out[i] = e
	}
	return out
}
