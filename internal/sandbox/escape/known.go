package escape

import "codemode/internal/sandbox"

// Known are the attempts that succeed on a runtime, with the reason: what docs/security.md calls known and accepted.
func Known(r sandbox.Report, p sandbox.Policy) map[string]string {
	known := ofMethod(r, p)
	if r.Landlock == 0 && r.Proc && r.Runtime != "kubernetes" { // in a pod the init sees to it
		known["proc_settings"] = "without Landlock, a process can change its own settings in /proc"
	}
	return known
}

func ofMethod(r sandbox.Report, p sandbox.Policy) map[string]string {
	switch {
	case r.Method == "container":
		return ofEngine(r)
	case r.Method == "bwrap":
		return map[string]string{
			"dlopen_noexec": "bubblewrap's tmpfs cannot be noexec, and Landlock does not mediate mmap",
			"ldso_noexec":   "bubblewrap's tmpfs cannot be noexec, and Landlock does not mediate mmap",
			"inode_fill":    "bubblewrap's tmpfs cannot limit inodes",
			"proc_leaks":    "bubblewrap's /proc is whole",
			"mount_sources": "bubblewrap's mounts are binds, whose sources the kernel tells",
		}
	case p.Isolation == sandbox.IsolationReduced:
		return map[string]string{
			"stat_probe":       "Landlock does not hide that a file exists",
			"workspace_fill":   "a directory of the host's disk has no quota",
			"tmp_fill":         "a directory of the host's disk has no quota",
			"inode_fill":       "a directory of the host's disk has no quota",
			"namespaces":       "there are none",
			"read_only_mounts": "Landlock makes files read-only, and not mounts",
			"bounding_set":     "it takes a namespace to be allowed to empty it",
			"memory_tmpfs":     "files are on the host's disk, and not in memory",
		}
	}
	return map[string]string{}
}

func ofEngine(r sandbox.Report) map[string]string {
	known := map[string]string{
		"sysfs":         "engines mount /sys, read-only; what tells of the machine is covered",
		"proc_leaks":    "engines cover only part of /proc",
		"mount_sources": "mounts are of the engine's storage, and the kernel tells where that is",
	}
	if r.Memory != "watchdog" {
		known["sessions_many"] = "the kernel shares out the processors by its cgroup, and not by sessions"
	}
	switch r.Runtime {
	case "podman":
		known["inode_fill"] = "podman cannot limit the files of a tmpfs"
	case "kubernetes":
		known["inode_fill"] = "a pod's volume in memory has no limit of files"
		known["dlopen_noexec"] = "a pod's volume cannot be noexec, and Landlock does not mediate mmap"
		known["ldso_noexec"] = "a pod's volume cannot be noexec, and Landlock does not mediate mmap"
		known["namespaces"] = "on a node with version 1 of cgroups, a pod's container sees their names"
	}
	if r.Memory == "watchdog" {
		known["memory_dev_zero"] = "engines give every container a /dev/zero, and no process has what is in it once it is unmapped"
	}
	return known
}
