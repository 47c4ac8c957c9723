//go:build linux

package container

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/seccomp"
)

// TestDescriptors: a guest is ended that has too many entries of epolls, also those that only its threads have, which
// wait for them; too many files of /proc and /sys; and too many pipes of processes whose first thread has ended. One
// that has few, and ones that come and go, goes on.
func TestDescriptors(t *testing.T) {
	const epolls = `
import select, threading, time
files = [os.pipe()[0] for _ in range(20)]
def fill(epoll, count):
    for number in range(200, 200 + count // 20):
        for file in files:
            os.dup2(file, number)
            epoll.register(number, 0)
        os.close(number)
`
	const kernel = `
import stat, time
def read(path, count):
    files = [os.open(path, os.O_RDONLY) for _ in range(count)]
    for file in files:
        if stat.S_ISREG(os.fstat(file).st_mode):
            os.read(file, 1)
    return files
def readable():
    for folder, _, names in os.walk("/sys"):
        for name in names:
            try:
                read(folder + "/" + name, 1)
                return folder + "/" + name
            except OSError:
                pass
    return "/proc/self/status"
`
	eachContainer(t, func(t *testing.T, r *Runtime) {
		for name, test := range map[string]struct {
			code string
			want sandbox.ExitCause
		}{
			"entries": {epolls + `
os.fork(), os.fork(), os.fork()
kept = [select.epoll() for _ in range(3)]
for epoll in kept:
    fill(epoll, 1000)
time.sleep(60)
`, sandbox.ExitWatches},
			"waiting": {epolls + `
kept = []
for _ in range(60):
    epoll = select.epoll()
    kept.append(epoll)
    fill(epoll, 1000)
    waiter = select.poll()
    waiter.register(epoll, 0)
    threading.Thread(target=waiter.poll, args=(60_000,), daemon=True).start()
    time.sleep(0.4)
    os.dup2(0, epoll.fileno())
`, sandbox.ExitWatches},
			"ended": {`
import ctypes, threading, time
for _ in range(3):
    if os.fork() == 0:
        break
kept = [os.pipe() for _ in range(100)]
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
`, sandbox.ExitPipes},
			"kernel": {kernel + `
os.fork(), os.fork()
kept = read("/proc/self/status", 60) + read(readable(), 20)
time.sleep(60)
`, sandbox.ExitKernelFiles},
			"folders": {`
import time
for _ in range(12):
    if os.fork() == 0:
        break
kept = [os.open("/", os.O_RDONLY) for _ in range(200)]
time.sleep(60)
`, sandbox.ExitFolders},
			"few of the kernel": {kernel + `
os.fork(), os.fork()
kept = read("/proc/self/status", 60), read("/proc/self", 60), read("/proc/self/fd/%d" % os.open("/etc/passwd", 0), 60)
time.sleep(5)
`, sandbox.ExitSelf},
			"few": {epolls + `
os.fork(), os.fork()
kept = [select.epoll() for _ in range(3)]
for epoll in kept:
    fill(epoll, 1000)
def wait():
    for _ in range(30):
        with select.epoll() as epoll:
            epoll.register(files[0], 0)
            epoll.poll(0.1)
threads = [threading.Thread(target=wait) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
`, sandbox.ExitSelf},
		} {
			t.Run(name, func(t *testing.T) {
				if exit := endOf(t, start(t, r, test.code)); exit.Cause != test.want {
					t.Errorf("it ended as %+v", exit)
				}
			})
		}
	})
}

// TestUnreadable: a guest is ended in which a process keeps its descriptors from the init, for it executes a program
// that it may not read. One whose processes come and go, and may be looked at as they end, goes on.
func TestUnreadable(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		r.opts.Image = withUnreadable(t, r)
		for name, test := range map[string]struct {
			code string
			want sandbox.ExitCause
		}{
			"unreadable": {`
import subprocess, time
subprocess.run(["/usr/bin/unreadable", "-c", "import time; time.sleep(30)"])
`, sandbox.ExitUnreadable},
			"readable": {`
import subprocess, time
end = time.monotonic() + 5
held = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(4)"])
gone = subprocess.Popen(["true"])
while time.monotonic() < end:
    subprocess.run(["true"], check=True)
held.wait(), gone.wait()
`, sandbox.ExitSelf},
		} {
			t.Run(name, func(t *testing.T) {
				if exit := endOf(t, start(t, r, test.code)); exit.Cause != test.want {
					t.Errorf("it ended as %+v", exit)
				}
			})
		}
	})
}

// withUnreadable makes an image that has a Python which may be executed, and not read.
func withUnreadable(t *testing.T, r *Runtime) string {
	t.Helper()
	e := r.engine()
	name := e.newName()
	image := "localhost/" + name
	run := func(args ...string) {
		t.Helper()
		if _, err := e.run(t.Context(), nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = e.remove(context.Background(), name)
		_, _ = e.run(context.Background(), nil, "image", "rm", image)
	})
	run("run", "--name", name, "--pull", "never", "--network", "none", "--user", "0", "--ulimit", "nproc=1000:1000",
		"--ulimit", "nofile=1000:1000", "--entrypoint", "python3", r.opts.Image, "-c", `
import os, shutil, sys
shutil.copyfile(os.path.realpath(sys.executable), "/usr/bin/unreadable")
os.chmod("/usr/bin/unreadable", 0o711)
`)
	run("commit", name, image)
	return image
}

// TestQuotaUsedUp: who uses up the user's quota of pipes for a moment, and is ended for that, takes nobody along that
// has some. Where several guests have it used up for good, though none has too many, it is for one of them to end.
func TestQuotaUsedUp(t *testing.T) {
	const few = `
import time
kept = [os.pipe() for _ in range(100)]
`
	eachEngine(t, func(t *testing.T, r *Runtime) {
		victim := start(t, r, few+"tell(ready=True)\ntime.sleep(8)\n")
		var ready any
		answer(t, victim, &ready)
		for range 3 {
			exit := endOf(t, start(t, r, `
import time
for _ in range(20):
    if os.fork() == 0:
        kept = [os.pipe() for _ in range(110)]
        break
time.sleep(20)
`))
			if exit.Cause != sandbox.ExitPipes {
				t.Errorf("the one ended as %+v", exit)
			}
		}
		if exit := endOf(t, victim); exit.Cause != sandbox.ExitSelf {
			t.Errorf("the other ended as %+v", exit)
		}
		if r.engine().pids == byRlimit {
			return // each guest is another user outside, with a quota of its own
		}
		ended := make(chan sandbox.Exit, 12)
		for range cap(ended) {
			sb := start(t, r, few+"time.sleep(120)\n")
			go func() {
				<-sb.Done()
				ended <- sb.Exit()
			}()
		}
		select {
		case exit := <-ended:
			if exit.Cause != sandbox.ExitPipes {
				t.Errorf("the first ended as %+v", exit)
			}
		case <-time.After(30 * time.Second):
			t.Error("the quota is used up, and nobody is ended for that")
		}
	})
}

// TestWaitingCalls: the numbers of descriptors.py are those of the system call filter.
func TestWaitingCalls(t *testing.T) {
	arguments := map[string]string{
		"poll": "1", "ppoll": "1", "select": "0", "pselect6": "0", "restart_syscall": "1", "epoll_wait": "ONE",
		"epoll_pwait": "ONE", "epoll_pwait2": "ONE", "flock": "ONE", "fcntl": "ONE",
	}
	for arch, machine := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		_, line, _ := strings.Cut(descriptorsCode, fmt.Sprintf("%q: {", machine))
		line, _, _ = strings.Cut(line, "}")
		count := 0
		for call, argument := range arguments {
			number, has := seccomp.Numbers(arch)[call]
			if !has {
				continue
			}
			count++
			if want := fmt.Sprintf(" %d: %s,", number, argument); !strings.Contains(" "+line+",", want) {
				t.Errorf("%s: %q is not in %q", call, want, line)
			}
		}
		if got := strings.Count(line, ":"); got != count {
			t.Errorf("%s has %d calls, want %d", machine, got, count)
		}
	}
}
