package proctest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type process struct {
	pid     int
	command string
}

// marked lists the processes with the mark that still run.
func marked(mark string) (found []process) {
	entries, _ := os.ReadDir("/proc")
	want := []byte(Variable + "=" + mark)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ") // empty for zombies
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(v, want) {
				command, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
				found = append(found, process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
				break
			}
		}
	}
	return found
}

// gone waits for the process's end.
func (p process) gone(d time.Duration) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	deadline := time.Now().Add(d)
	for {
		n, err := unix.Poll(poll, max(0, int(time.Until(deadline).Milliseconds())))
		if err == nil {
			return n > 0
		}
	}
}

func (p process) kill() { _ = unix.Kill(p.pid, unix.SIGKILL) }
