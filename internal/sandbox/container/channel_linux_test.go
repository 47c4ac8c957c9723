package container

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChannelEnds: when the engine's command has died, the guest may live on, as a docker without its daemon has it.
// What it has said by then is read, and nothing more.
func TestChannelEnds(t *testing.T) {
	a, err := openSocket(thisProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.accepting = true
	go a.accept()
	guest, err := net.Dial("unix", filepath.Join(a.inner, socketName))
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if _, err := guest.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	<-a.ready
	a.end()
	if said, err := io.ReadAll(a); string(said) != "last words" || err != nil {
		t.Errorf("read %q, %v", said, err)
	}
}

// TestChannelSweep: a codemode that was killed leaves the directory of a start, which the next takes away; nobody
// else's.
func TestChannelSweep(t *testing.T) {
	self, base := thisProcess(), t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		owner{self.host, dead.Process.Pid, self.start}.String() + ".1": false,
		self.String() + ".1": true,
		owner{"ffffffffffff", dead.Process.Pid, self.start}.String() + ".1": true,
		"123456": true, // of another version, and young
	} {
		dir := filepath.Join(base, socketPrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		sweep(base, self)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) == want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
}
