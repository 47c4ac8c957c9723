//go:build linux

package container

import (
	"fmt"
	"strings"
	"testing"

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
`, sandbox.ExitMemory},
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
`, sandbox.ExitMemory},
			"ended": {`
import ctypes, threading, time
for _ in range(3):
    if os.fork() == 0:
        break
kept = [os.pipe() for _ in range(100)]
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
`, sandbox.ExitMemory},
			"kernel": {kernel + `
os.fork(), os.fork()
kept = read("/proc/self/status", 60) + read(readable(), 20)
time.sleep(60)
`, sandbox.ExitMemory},
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
