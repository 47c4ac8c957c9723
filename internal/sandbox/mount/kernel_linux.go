package mount

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"codemode/internal/hint"
)

// kernelSystems are file systems that show the kernel or its processes.
var kernelSystems = []string{
	"proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "bpf",
	"pstore", "efivarfs", "binfmt_misc", "fusectl", "mqueue", "nsfs",
}

// octal are the escapes of mountinfo, proc_pid_mountinfo(5).
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// kernelBelow says whether such a file system is mounted in a folder, or is where it lies: a mount shows what is
// mounted below it, too.
func kernelBelow(real string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil // without /proc there is nothing to compare
	}
	seen := files{}
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) == 0 || !slices.Contains(kernelSystems, kind[0]) {
			continue
		}
		if at := octal.Replace(fields[4]); seen.related(real, at) {
			return hint.New(fmt.Sprintf("the kernel's %s is mounted at %s", kind[0], at), narrower)
		}
	}
	return nil
}
