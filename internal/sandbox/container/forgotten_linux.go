package container

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endForgotten ends what is left of a container that podman has removed without knowing that it was begun: one whose
// `podman run` was killed after it had started conmon, and before it had written that down (4.3.1, November 2026).
// There conmon waits for ever for the word to start the container's first process. With that process conmon ends, too.
func (e *engine) endForgotten(ctx context.Context, container string) {
	if e.name != Podman || !e.local {
		return
	}
	for _, pid := range monitors(container) {
		for began := processStart(pid); began != "" && processStart(pid) == began; {
			for _, child := range childrenOf(pid) {
				if program(child) != Podman { // which conmon has clean up after a container that has ended
					_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended
				}
			}
			select {
			case <-time.After(removePause):
			case <-ctx.Done():
				_ = syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		}
	}
}

// monitors are the processes of conmon beside the container of a name or an ID.
func monitors(container string) (pids []int) {
	for pid, names := range conmons() {
		if slices.Contains(names, container) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// monitored are the names of containers that have a conmon, whether podman knows of them or not.
func (e *engine) monitored() (names []string) {
	if e.name != Podman || !e.local {
		return nil
	}
	for _, of := range conmons() {
		names = append(names, of...)
	}
	return names
}

// conmons are this user's processes of conmon, each with the name and the ID of its container. A process may say
// anything of itself, so that those of others are not believed.
func conmons() map[int][]string {
	found := map[int][]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		if filepath.Base(args[0]) != "conmon" {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(file, &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		for _, option := range []string{"-n", "-c"} {
			if i := slices.Index(args, option); i >= 0 && i+1 < len(args) {
				found[pid] = append(found[pid], args[i+1])
			}
		}
	}
	return found
}

func childrenOf(pid int) (children []int) {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			children = append(children, child)
		}
	}
	return children
}

// program is what a process runs, by the name of its file.
func program(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(text))
}
