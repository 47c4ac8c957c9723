package container

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const hostIsLinux = true

// thisProcess is codemode as an owner. Process numbers mean something in one pid namespace only, and starts in one time
// namespace, by whose offset they are told: both are part of the host. Numbers mean something since the last boot only,
// so that it is part of the start.
func thisProcess() owner {
	id, _ := os.ReadFile("/etc/machine-id") // a container may have none; its host name is its own then
	name, _ := os.Hostname()
	pids, _ := os.Readlink("/proc/self/ns/pid")
	times, _ := os.Readlink("/proc/self/ns/time") // kernels before 5.6 have none
	sum := sha256.Sum256([]byte(strings.Join([]string{strings.TrimSpace(string(id)), name, pids, times}, "\n")))
	return owner{hex.EncodeToString(sum[:6]), os.Getpid(), processStart(os.Getpid())}
}

// running tells whether the owner is there still, or may be: another user's can be hidden (proc(5), hidepid).
func (o owner) running() bool {
	start := processStart(o.pid)
	return sameStart(start, o.start) || start == "" && errors.Is(unix.Kill(o.pid, 0), unix.EPERM)
}

// sameStart compares what processStart says. Whoever may not read which boot it is (proc(5), subset) says none.
func sameStart(a, b string) bool {
	bootA, ticksA, _ := strings.Cut(a, "-")
	bootB, ticksB, _ := strings.Cut(b, "-")
	return a != "" && ticksA == ticksB && (bootA == bootB || bootA == "" || bootB == "")
}

// processStart says when a process began, "" when there is none of that number.
func processStart(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The command's name, in parentheses, may hold anything. The state is the third field, the start the 22nd.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" {
		return ""
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	first, _, _ := strings.Cut(string(boot), "-")
	return first + "-" + f[19]
}

// here finds out what a podman of this machine can limit, and tells whether that worked. As root it uses the
// groups it wants; an ordinary user has none in version 1, and in version 2 what was delegated, which podman knows.
func (e *engine) here() bool {
	var fs unix.Statfs_t
	if unix.Statfs("/sys/fs/cgroup", &fs) != nil {
		return false
	}
	e.local, e.rootless = true, os.Geteuid() != 0
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil {
		e.processes = int64(min(limit.Max, manyProcesses))
	}
	v2 := fs.Type == unix.CGROUP2_SUPER_MAGIC
	if e.rootless && v2 {
		return false
	}
	var controllers []string
	if v2 {
		b, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
		if err != nil {
			return false
		}
		controllers = strings.Fields(string(b))
	} else if !e.rootless {
		for _, c := range []string{"memory", "pids", "cpu"} {
			if _, err := os.Stat("/sys/fs/cgroup/" + c + "/tasks"); err == nil {
				controllers = append(controllers, c)
			}
		}
	}
	e.limitBy(!e.rootless, controllers)
	return true
}
