package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"syscall"

	"codemode/internal/sandbox/helper"
	"codemode/internal/sandbox/stage2"
)

// prepareBwrap has the system's bubblewrap build the namespaces and mounts, and runs the second stage
// inside it for the rest. Its tmpfs cannot be noexec; Landlock forbids to execute there.
func (l *launch) prepareBwrap() error {
	bwrap, err := bwrapPath()
	if err != nil {
		return err
	}
	exe, err := helper.Open()
	if err != nil {
		return fmt.Errorf("opening the second stage's executable: %w", err)
	}
	// By descriptor, so that the executable is no file of the guest's.
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
	if l.config.Mounted, err = l.mounted(); err != nil {
		return err
	}
	v := l.view
	args := []string{
		bwrap, "--info-fd", infoFD,
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", strconv.Itoa(v.uid), "--gid", strconv.Itoa(v.gid), "--hostname", "sandbox",
		"--new-session", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
		"--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts", // all new terminals share the machine's few thousand
	}
	args = append(args, v.bwrapArgs()...)
	args = append(args, files...)
	args = append(args, "--remount-ro", "/", "--chdir", v.dir, stage, stage2.Name)

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
	if v.guest != nil {
		l.site, l.layers = v.guest.py.SitePackages, v.guest.py.Layers
	}
	return nil
}

// bwrapArgs are bubblewrap's words for what is seen.
func (v *view) bwrapArgs() (args []string) {
	if !v.network {
		args = append(args, "--unshare-net")
	}
	for _, d := range v.dirs {
		args = append(args, tmpfs(d.Inside, d.Size)...)
		if d.Sub != "" {
			args = append(args, "--dir", path.Join(d.Inside, d.Sub))
		}
	}
	args = append(args, tmpfs("/dev/shm", v.shm)...)
	if !slices.Contains(v.devices, zero) { // bubblewrap's /dev is always the same
		args = append(args, "--dev-bind", "/dev/null", zero)
	}
	for _, b := range v.binds {
		if b.Cover && b.Dir {
			args = append(args, "--tmpfs", b.Inside, "--remount-ro", b.Inside)
			continue
		}
		how := "--ro-bind"
		if b.Write {
			how = "--bind"
		}
		args = append(args, how, b.Host, b.Inside)
	}
	for _, s := range v.symlinks {
		args = append(args, "--symlink", string(s.Target), string(s.Inside))
	}
	return args
}

func tmpfs(dir string, size int64) []string {
	if size == 0 {
		return []string{"--tmpfs", dir}
	}
	return []string{"--size", strconv.FormatInt(size, 10), "--tmpfs", dir}
}

// mounted tells the second stage what the mounts are to be of: bubblewrap takes paths, and not all versions of it
// descriptors.
func (l *launch) mounted() (list []stage2.Mounted, err error) {
	for _, b := range l.view.binds {
		if !b.Real {
			continue
		}
		inode, err := InodeOf(b.Host)
		if err != nil {
			failure := stage2.Failure{Step: fmt.Sprintf("opening mount %q", b.Host), Text: err.Error()}
			if errno, ok := err.(syscall.Errno); ok {
				failure.Errno = int(errno)
			}
			return nil, diagnoseStage2(l, &stage2Error{failure}, nil)
		}
		list = append(list, stage2.Mounted{
			Host: stage2.Bytes(b.Host), Inside: stage2.Bytes(b.Inside), Device: inode.Device, Number: inode.Number,
		})
	}
	return list, nil
}

// bwrapFiles hands bubblewrap the files of the root, each in a pipe.
func (l *launch) bwrapFiles() ([]string, error) {
	var args []string
	for _, f := range l.view.files {
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
