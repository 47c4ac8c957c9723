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
	seen := files{}
	for at, kind := range mountpoints {
		if slices.Contains(kernelSystems, kind) && seen.related(real, at) {
			return hint.New(fmt.Sprintf("the kernel's %s is mounted at %s", kind, at), narrower)
		}
	}
	return nil
}

// mountedBelow are the places in a folder where something is mounted.
func mountedBelow(real string) (list []string) {
	for at := range mountpoints {
		if strings.HasPrefix(at, strings.TrimSuffix(real, "/")+"/") {
			list = append(list, at)
		}
	}
	return list
}

// mountpoints are where file systems are mounted, and of which kind. Without /proc there are none.
func mountpoints(yield func(at, kind string) bool) {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) >= 5 && len(kind) > 0 && !yield(octal.Replace(fields[4]), kind[0]) {
			return
		}
	}
}
