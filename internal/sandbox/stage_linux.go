package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"codemode/internal/sandbox/helper"
	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

// A stage is a second stage that has been started and waits for its configuration.
type stage struct {
	cmd     *exec.Cmd
	pidfd   int
	control *net.UnixConn // see stage2.ControlFD
	ended   chan struct{} // closed when it has ended, as whatever it has become
}

// startStage starts cmd, with more descriptors from stage2.FirstFD on. It returns when the child runs, or could not be
// started.
func startStage(cmd *exec.Cmd, more []*os.File) (*stage, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, its := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer closeFiles(ours, its)
	control, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	s := &stage{cmd: cmd, control: control.(*net.UnixConn), ended: make(chan struct{})}
	// In the place of the guest's own, so that nothing else comes to have their numbers.
	cmd.ExtraFiles = append([]*os.File{its, its, its, its}, more...)
	if cmd.Path == "" { // bubblewrap has one
		helper.Execute(cmd)
	}
	cmd.SysProcAttr.PidFD = &s.pidfd
	if err := s.start(); err != nil {
		s.control.Close()
		return nil, err
	}
	return s, nil
}

// start starts the child on a thread that lives as long as the child: its death signal is sent when its parent's thread
// ends (golang/go#27505).
func (s *stage) start() error {
	started := make(chan error)
	go func() { // ends with the child, which close, or the sandbox that it has become, waits for
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(s.ended)
		if s.cmd.Args[0] != stage2.Name {
			endGroup(s.cmd.Process.Pid)
		}
		_ = s.cmd.Wait() // its state says more than the error
	}()
	return <-started
}

// endGroup waits for the end of a process that leads a group, and ends who is left of the group.
// A bubblewrap that is killed while it starts leaves a child that waits for it for ever. The number is the
// group's for certain as long as nobody has taken the leader's exit status.
func endGroup(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGKILL) // nobody is left, as a rule
}

// maxSent is how many descriptors a message takes at most (SCM_MAX_FD).
const maxSent = 253

// configure sends the configuration, and the descriptors that it counts. The second stage waits for the end, which
// comes where something could not be sent, too.
func (s *stage) configure(config []byte, files []*os.File) error {
	err := s.send(config, files)
	return cmp.Or(err, s.control.CloseWrite())
}

func (s *stage) send(config []byte, files []*os.File) error {
	for len(files) > 0 {
		n := min(len(files), maxSent)
		fds := make([]int, n)
		for i, f := range files[:n] {
			fds[i] = int(f.Fd())
		}
		files = files[n:]
		// With a space before the configuration.
		if _, _, err := s.control.WriteMsgUnix([]byte{' '}, unix.UnixRights(fds...), nil); err != nil {
			return err
		}
	}
	_, err := s.control.Write(config)
	return err
}

// maxAnswer is more than a second stage says, in bytes.
const maxAnswer = 64 << 10

// answer is what the second stage says until it has ended, or has become the guest, and a listener where it sends one.
func (s *stage) answer() (b []byte, listener *os.File, err error) {
	part, rights := make([]byte, maxAnswer), make([]byte, unix.CmsgSpace(4))
	for len(b) < maxAnswer {
		n, rn, _, _, err := s.control.ReadMsgUnix(part, rights)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			closeFiles(listener)
			return nil, nil, err
		}
		if rn > 0 && listener == nil {
			listener = firstFile(rights[:rn])
		}
		b = append(b, part[:n]...)
	}
	return bytes.TrimPrefix(b, []byte{stage2.Listener}), listener, nil
}

// firstFile is the descriptor of a message, for the runtime's poller; nil without one.
func firstFile(rights []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return nil
	}
	_ = unix.SetNonblock(fds[0], true) // it is this process's
	return os.NewFile(uintptr(fds[0]), "listener")
}

// forget closes what is only of use until the child is a guest.
func (s *stage) forget() {
	s.control.Close()
	unix.Close(s.pidfd)
}

// close ends a stage that becomes nothing.
func (s *stage) close() {
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.forget()
}

// Ahead is a second stage that is started before it is known what for, while that is found out: it takes as long as
// all else before the start of a guest. It has no part of a guest yet, and dies with codemode.
type Ahead struct {
	mu    sync.Mutex
	stage chan *stage // of one, which is nil where it could not be started; nil when it is taken
}

// StartAhead starts one for the first guest of the native runtime that is given it. The caller closes it.
func StartAhead() *Ahead {
	c := make(chan *stage, 1)
	go func() { // ends when it has started, which take or Close waits for
		s, err := startStage(usernsStage(guestID, guestID, givesUpRoot()), nil)
		if err != nil {
			s = nil // the guest's own start finds out what is wrong
		}
		c <- s
	}()
	return &Ahead{stage: c}
}

// take returns what was started, to one caller.
func (a *Ahead) take() *stage {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stage == nil {
		return nil
	}
	s := <-a.stage
	a.stage = nil
	if s == nil {
		return nil
	}
	select {
	case <-s.ended: // somebody has killed it
		s.forget()
		return nil
	default:
		return s
	}
}

// Close ends it unless it has become a guest.
func (a *Ahead) Close() {
	if s := a.take(); s != nil {
		s.close()
	}
}

// usernsStage is a second stage in namespaces of its own, without a network, as that user.
func usernsStage(uid, gid int, asNobody bool) *exec.Cmd {
	cmd := secondStage()
	attr := cmd.SysProcAttr
	attr.Cloneflags = namespaces
	hostUID, hostGID := os.Geteuid(), os.Getegid()
	if asNobody {
		// Setgroups is enabled for just that.
		hostUID, hostGID = guestID, guestID
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: hostUID, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: hostGID, Size: 1}}
	// The guest's user is not root in its namespace either, so capabilities would not survive the
	// execve of the second stage, which needs these.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE}
	return cmd
}

// stage is the one that was started ahead, where it is as this launch's own would be, or this launch's own.
func (n *native) stage(l *launch) (*stage, error) {
	if l.enforced.Method == methodUserns && !l.view.program && !l.cmd.SysProcAttr.UseCgroupFD {
		if s := n.ahead.take(); s != nil {
			l.cmd = s.cmd
			return s, nil
		}
	}
	s, err := startStage(l.cmd, l.extra)
	if err != nil {
		return nil, diagnoseSpawn(l, err)
	}
	return s, nil
}
