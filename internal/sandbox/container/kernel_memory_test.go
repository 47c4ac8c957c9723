//go:build linux

package container

import (
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// TestKernelMemory: a guest is ended that has the kernel keep much which no process holds: locks, whose table is read
// no further than is too much; and files by their number, where there is no cgroup that counts them.
func TestKernelMemory(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		report, err := r.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, code := range map[string]string{
			"files": `
for n in range(200_000):
    os.symlink("x", "/tmp/%d" % n)
`,
			"locks": `
import fcntl, struct
for _ in range(8):
    if os.fork() == 0:
        break
files = [os.open("/tmp/%d.%d" % (os.getpid(), n), os.O_RDWR | os.O_CREAT) for n in range(100)]
for at in range(0, 600, 2):
    for f in files:
        fcntl.fcntl(f, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, at, 1, 0))
`,
		} {
			if name == "files" && report.Memory != byWatchdog {
				continue
			}
			t.Run(name, func(t *testing.T) {
				sb := start(t, r, code+"import time\ntime.sleep(20)\n", func(s *sandbox.Spec) { s.Policy.Memory = 64 << 20 })
				select {
				case <-sb.Done():
				case <-time.After(time.Minute):
					t.Fatal("it goes on")
				}
				if exit := sb.Exit(); exit.Cause != sandbox.ExitMemory {
					t.Errorf("it ended as %+v", exit)
				}
			})
		}
	})
}
