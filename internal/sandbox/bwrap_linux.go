package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"codemode/internal/sandbox/stage2"
)

// prepareBwrap has the system's bubblewrap build the namespaces and mounts, and runs the second stage
// inside it for the rest. Its tmpfs cannot be noexec; Landlock forbids to execute there.
func (l *launch) prepareBwrap() error {
	bwrap, err := bwrapPath()
	if err != nil {
		return err
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("opening codemode's own executable: %w", err)
	}
	// By descriptor, so that codemode's executable is no file of the guest's.
	stage := "/proc/self/fd/" + strconv.Itoa(l.pass(exe))
	files, err := l.bwrapFiles()
	if err != nil {
		return err
	}
	info, infoW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	l.info = info
	l.undo.add(func() { info.Close() })
	infoFD := strconv.Itoa(l.pass(infoW))
	binds := guestBinds(l.py, l.dir)
	id := strconv.Itoa(guestID)
	args := []string{
		bwrap, "--info-fd", infoFD,
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", id, "--gid", id, "--hostname", "sandbox",
		"--new-session", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
		"--proc", "/proc", "--dev", "/dev",
	}
	args = append(args, tmpfs("/tmp", l.spec.Policy.TmpSize)...)
	args = append(args, tmpfs("/workspace", l.spec.Policy.WorkSize)...)
	args = append(args, tmpfs("/dev/shm", 16<<20)...)
	args = append(args, l.coverDevices()...)
	for _, b := range binds {
		args = append(args, "--ro-bind", b.Host, b.Inside)
	}
	for _, s := range host().symlinks {
		args = append(args, "--symlink", s.Target, s.Inside)
	}
	args = append(args, files...)
	args = append(args, "--remount-ro", "/", "--chdir", "/workspace", stage, stage2.Name)

	l.cmd = &exec.Cmd{
		Path: bwrap,
		Args: args,
		// Its own process stays beside the guest with this environment, where the guest can read it.
		Env:         []string{"PATH=/usr/bin:/bin", "GOGC=off"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if os.Geteuid() == 0 {
		l.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: guestID, Gid: guestID}
	}
	l.config.Argv = l.argv(l.py.Exe, GuestDir)
	l.config.Dir = "/workspace"
	l.config.Landlock = landlockRules(binds)
	l.site = l.py.SitePackages
	return nil
}

func tmpfs(dir string, size int64) []string {
	if size == 0 {
		return []string{"--tmpfs", dir}
	}
	return []string{"--size", strconv.FormatInt(size, 10), "--tmpfs", dir}
}

// bwrapFiles hands bubblewrap the files of the root, each in a pipe.
func (l *launch) bwrapFiles() ([]string, error) {
	var args []string
	for _, f := range rootFiles() {
		r, w, err := blockingPipe()
		if err != nil {
			return nil, err
		}
		fd := l.pass(r)
		_, err = w.WriteString(f.Content) // much less than a pipe holds
		w.Close()
		if err != nil {
			return nil, fmt.Errorf("writing %s for bubblewrap: %w", f.Inside, err)
		}
		args = append(args, "--ro-bind-data", strconv.Itoa(fd), f.Inside)
	}
	return args, nil
}
