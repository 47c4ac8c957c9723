package testscripts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of every process whose own has ended, instead of init, which
// is how orphans sees them.
func adoptOrphans(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatalf("becoming the parent of orphans: %v", err)
	}
}

// orphans describes the children of this process that a script has left behind. What scripts start
// themselves stays in our process group; codemode starts nothing there that outlives it, except what
// carries the script's WORK in its environment.
func orphans(work string, keep map[int]bool) (left []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		// proc(5): pid (comm) state ppid pgrp …; comm may hold anything
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		state, parent, group := fields[0], fields[1], fields[2]
		if parent != strconv.Itoa(os.Getpid()) || state == "Z" || state == "X" || keep[pid] {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		ours := bytes.Contains(append([]byte{0}, environ...), []byte("\x00WORK="+work+"\x00"))
		if group == strconv.Itoa(unix.Getpgrp()) && !ours {
			continue // another script's command
		}
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		left = append(
			left,
			fmt.Sprintf("%d %s", pid, strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))),
		)
	}
	return left
}
