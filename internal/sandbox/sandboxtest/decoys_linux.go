package sandboxtest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// decoys are what stands outside of a sandbox for its guest to reach: a key, servers, a process, a
// memory segment. Nobody but a guest that escaped touches them.
type decoys struct {
	home, key      string
	sock, abstract string
	port, udpPort  int
	victim         *exec.Cmd
	shmKey         int

	reached atomic.Int32 // connections and datagrams that arrived
	before  unix.Stat_t
}

const secret = "-----BEGIN DECOY-----\n"

func newDecoys(t *testing.T) *decoys {
	t.Helper()
	t.Setenv("CODEMODE_TEST_SECRET", "s3cret")
	d := &decoys{home: filepath.Join(openDir(t), "decoy-home")}
	d.key = filepath.Join(d.home, ".ssh", "id_decoy")
	if err := os.MkdirAll(filepath.Dir(d.key), 0o755); err != nil {
		t.Fatal(err)
	}
	// Readable by everybody: what keeps the guest out must be the sandbox.
	if err := os.WriteFile(d.key, []byte(secret), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := unix.Lstat(d.key, &d.before); err != nil {
		t.Fatal(err)
	}
	d.listen(t)
	d.startVictim(t)
	d.makeSegment(t)
	return d
}

// openDir is a temporary directory that every user can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listen opens servers of every kind a guest might find.
func (d *decoys) listen(t *testing.T) {
	t.Helper()
	d.sock = filepath.Join(d.home, "decoy.sock")
	d.abstract = "codemode-decoy-" + strconv.Itoa(os.Getpid())
	for _, l := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"unix", d.sock}, {"unix", "@" + d.abstract},
	} {
		ln, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		if a, ok := ln.Addr().(*net.TCPAddr); ok {
			d.port = a.Port
		}
		go d.accept(ln) // ends with the listener
	}
	if err := os.Chmod(d.sock, 0o777); err != nil {
		t.Fatal(err)
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	d.udpPort = pc.LocalAddr().(*net.UDPAddr).Port
	go func() {
		if _, _, err := pc.ReadFrom(make([]byte, 16)); err == nil {
			d.reached.Add(1)
		}
	}()
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

// startVictim starts a process of the user who runs the guest on the host, where that can be chosen.
func (d *decoys) startVictim(t *testing.T) {
	t.Helper()
	d.victim = exec.Command("sleep", "3600")
	if err := d.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.victim.Process.Kill()
		_ = d.victim.Wait()
	})
}

func (d *decoys) makeSegment(t *testing.T) {
	t.Helper()
	d.shmKey = 0x636d0000 | os.Getpid()&0xffff
	id, err := unix.SysvShmGet(d.shmKey, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
}

// check fails the test for every decoy that was touched.
func (d *decoys) check(t *testing.T) {
	t.Helper()
	// What was sent has arrived by now: all of it went through the loopback.
	if n := d.reached.Load(); n > 0 {
		t.Errorf("%d connections reached servers of the host", n)
	}
	b, err := os.ReadFile(d.key)
	if err != nil || string(b) != secret {
		t.Errorf("the key is now %q, %v", b, err)
	}
	var now unix.Stat_t
	if err := unix.Lstat(d.key, &now); err != nil || now.Mode != d.before.Mode || now.Mtim != d.before.Mtim {
		t.Errorf("the key's mode or time changed: %o to %o, %v", d.before.Mode, now.Mode, err)
	}
	if size, err := unix.Listxattr(d.key, make([]byte, 4096)); err == nil && size > 0 {
		t.Error("the key has extended attributes")
	}
	// It would be a zombie, which a signal still finds.
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(d.victim.Process.Pid) + "/stat")
	if err != nil || !bytes.Contains(stat, []byte(") S ")) {
		t.Errorf("the process outside is no longer asleep: %q, %v", stat, err)
	}
}
