package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// private is what a process holds that no other has, in kB.
func private(pid int) int64 { return memory(pid, "Private_Clean") + memory(pid, "Private_Dirty") }

// memory is a line of what a process holds, in kB.
func memory(pid int, line string) (kb int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for l := range strings.Lines(string(data)) {
		if name, rest, _ := strings.Cut(l, ":"); name == line {
			var n int64
			fmt.Sscan(rest, &n)
			kb += n
		}
	}
	return kb
}

// children are the processes that a process has started and that run.
func children(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(data)) {
			var child int
			fmt.Sscan(word, &child)
			all = append(all, child)
		}
	}
	return all
}

func commandOf(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}
