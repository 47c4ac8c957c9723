package escape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"codemode/internal/proc"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/seccomp"

	"golang.org/x/sys/unix"
)

// decoys are what stands outside of a sandbox for its guest to reach: a key, servers, a process, a
// memory segment, a secret in codemode's environment, a descriptor that nobody closes. Nobody but a guest that escaped
// touches them.
type decoys struct {
	home, key      string
	sock, abstract string
	port, udpPort  int
	victim         *proc.Process
	shmKey         int

	reached atomic.Int32 // connections and datagrams that arrived
	before  unix.Stat_t
	undo    []func()
	serving sync.WaitGroup
}

const (
	secret         = "-----BEGIN DECOY-----\n"
	secretVariable = "CODEMODE_TEST_SECRET"

	folderPrefix  = "codemode-decoys-"
	segmentPrefix = 0x636d0000 // of the keys of segments; the rest is of a process id
	segmentSize   = 4096
)

func newDecoys() (*decoys, error) {
	sweep()
	d := &decoys{}
	for _, step := range []func() error{d.makeKey, d.leaveOpen, d.listen, d.startVictim, d.makeSegment, d.keepSecret} {
		if err := step(); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

// close removes the decoys, the last first.
func (d *decoys) close() {
	for i := len(d.undo) - 1; i >= 0; i-- {
		d.undo[i]()
	}
	d.serving.Wait()
}

func (d *decoys) later(undo func()) { d.undo = append(d.undo, undo) }

// makeKey makes a home with a key in it, readable by everybody: what keeps the guest out must be the sandbox.
func (d *decoys) makeKey() error {
	dir, err := os.MkdirTemp(base(), folderPrefix)
	if err != nil {
		return err
	}
	d.later(func() { os.RemoveAll(dir) })
	d.home = filepath.Join(dir, "decoy-home")
	d.key = filepath.Join(d.home, ".ssh", "id_decoy")
	return errors.Join(
		os.MkdirAll(filepath.Dir(d.key), 0o755), os.Chmod(dir, 0o755),
		os.WriteFile(d.key, []byte(secret), 0o666), unix.Lstat(d.key, &d.before))
}

// base is where the home is made.
func base() string {
	if dir := os.TempDir(); len(dir) <= 64 {
		return dir
	}
	return "/tmp" // the address of the socket there has room for 108 bytes
}

// leaveOpen opens the key as careless code does: every child inherits the descriptor, unless somebody sees to it. The
// number is above those that are given to children.
func (d *decoys) leaveOpen() error {
	f, err := os.Open(d.key)
	if err != nil {
		return err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 200)
	if err == nil {
		d.later(func() { unix.Close(fd) })
	}
	return err
}

// listen opens servers of every kind a guest might find.
func (d *decoys) listen() error {
	d.sock = filepath.Join(d.home, "decoy.sock")
	d.abstract = "codemode-decoy-" + strconv.Itoa(os.Getpid())
	for _, l := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"unix", d.sock}, {"unix", "@" + d.abstract},
	} {
		ln, err := net.Listen(l.network, l.address)
		if err != nil {
			return err
		}
		d.later(func() { ln.Close() })
		if a, ok := ln.Addr().(*net.TCPAddr); ok {
			d.port = a.Port
		}
		d.serving.Go(func() { d.accept(ln) }) // ends with the listener
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.later(func() { pc.Close() })
	d.udpPort = pc.LocalAddr().(*net.UDPAddr).Port
	d.serving.Go(func() {
		if _, _, err := pc.ReadFrom(make([]byte, 16)); err == nil {
			d.reached.Add(1)
		}
	})
	return os.Chmod(d.sock, 0o777)
}

func (d *decoys) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		d.reached.Add(1)
		c.Close()
	}
}

// startVictim starts a process of the user who runs the guest on the host, where that can be chosen. It does not
// outlive codemode.
func (d *decoys) startVictim() error {
	path, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	d.victim, err = proc.Start(context.Background(), proc.Spec{Path: path, Args: []string{"3600"}, Dir: "/"})
	if err != nil {
		return err
	}
	d.later(func() { _ = d.victim.Stop(0) }) // it is told to end at once, and asked nothing
	return nil
}

func (d *decoys) makeSegment() error {
	d.shmKey = segmentPrefix | os.Getpid()&0xffff
	id, err := unix.SysvShmGet(d.shmKey, segmentSize, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		return fmt.Errorf("a System V segment: %w", err)
	}
	d.later(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return nil
}

func (d *decoys) keepSecret() error {
	d.later(func() { os.Unsetenv(secretVariable) })
	return os.Setenv(secretVariable, "s3cret")
}

// check names every decoy that was touched.
func (d *decoys) check() error {
	var touched []error
	// What was sent has arrived by now: all of it went through the loopback.
	if n := d.reached.Load(); n > 0 {
		touched = append(touched, fmt.Errorf("%d connections reached servers of the host", n))
	}
	if b, err := os.ReadFile(d.key); err != nil || string(b) != secret {
		touched = append(touched, fmt.Errorf("the key is now %q, %v", b, err))
	}
	var now unix.Stat_t
	if err := unix.Lstat(d.key, &now); err != nil || now.Mode != d.before.Mode || now.Mtim != d.before.Mtim {
		touched = append(
			touched, fmt.Errorf("the key's mode or time changed: %o to %o, %v", d.before.Mode, now.Mode, err),
		)
	}
	if size, err := unix.Listxattr(d.key, make([]byte, 4096)); err == nil && size > 0 {
		touched = append(touched, errors.New("the key has extended attributes"))
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(d.victim.Pid()) + "/stat")
	_, state, _ := bytes.Cut(stat, []byte(") "))
	if err != nil || len(state) == 0 ||
		!bytes.ContainsRune([]byte("SRD"), rune(state[0])) { // it sleeps, or is about to
		touched = append(touched, fmt.Errorf("the process outside has ended or was stopped: %q, %v", stat, err))
	}
	return errors.Join(touched...)
}

// facts tells the scripts what there is to reach for, and what the limits are.
func (d *decoys) facts(p sandbox.Policy) string {
	b, err := json.Marshal(map[string]any{
		"home": d.home, "sock": d.sock, "abstract": d.abstract,
		"port": d.port, "udpPort": d.udpPort, "pid": d.victim.Pid(), "shmKey": d.shmKey,
		"memory": p.Memory, "processes": p.Processes, "openFiles": p.OpenFiles,
		"fileSize": p.FileSize, "tmpSize": p.TmpSize, "workSize": p.WorkSize,
		"namespaces": namespaces(),
		"calls":      seccomp.Numbers(runtime.GOARCH),
	})
	if err != nil {
		panic(err) // of strings and numbers
	}
	return string(b)
}

// namespaces are those of the host that a sandbox has others of. An engine as root shares that of users.
func namespaces() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		if link, err := os.Readlink("/proc/self/ns/" + name); err == nil {
			found[name] = link
		}
	}
	return found
}
