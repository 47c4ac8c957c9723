package mount

import (
	"fmt"
	"slices"
	"strings"

	"codemode/internal/hint"
	"codemode/internal/sandbox"
)

// kernelSystems are file systems that show the kernel or its processes.
var kernelSystems = []string{
	"proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "bpf",
	"pstore", "efivarfs", "binfmt_misc", "fusectl", "mqueue", "nsfs",
}

// kernelBelow says whether such a file system is mounted in a folder, or is where it lies: a mount shows what is
// mounted below it, too.
func kernelBelow(real string) error {
	seen := files{}
	for at, kind := range sandbox.Mountpoints {
		if slices.Contains(kernelSystems, kind) && seen.related(real, at) {
			return hint.New(fmt.Sprintf("the kernel's %s is mounted at %s", kind, at), narrower)
		}
	}
	return nil
}

// mountedBelow are the places in a folder where something is mounted.
func mountedBelow(real string) (list []string) {
	for at := range sandbox.Mountpoints {
		if strings.HasPrefix(at, strings.TrimSuffix(real, "/")+"/") {
			list = append(list, at)
		}
	}
	return list
}
