package sandbox

import (
	"bytes"
	"iter"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A descriptor is one of a process.
type descriptor struct {
	pid  int
	name string
}

// A description is what /proc tells of a descriptor, as long as it is open and its process lives.
type description struct {
	target string // as "pipe:[4711]"

	fd, fdinfo int // the folders
	name       string
}

// A telling is what there is in a descriptor's file of fdinfo.
type telling struct {
	mount          string // the number of the mount that its file is in
	watches, locks int    // entries of an epoll, and locks that the process has on parts of the file
}

// descriptorsOf tells of each descriptor of a process. It opens by folders: a guest may have tens of thousands.
func descriptorsOf(pid int) iter.Seq2[descriptor, description] {
	return func(yield func(descriptor, description) bool) {
		folder, err1 := os.Open(procFile(pid, "fd"))
		fdinfo, err2 := os.Open(procFile(pid, "fdinfo"))
		defer folder.Close()
		defer fdinfo.Close()
		if err1 != nil || err2 != nil {
			return // it has just ended
		}
		names, _ := folder.Readdirnames(-1)
		target := make([]byte, 64) // more than those of files need that have no path
		for _, name := range names {
			n, _ := unix.Readlinkat(int(folder.Fd()), name, target) // of one that has just been closed there is none
			d := description{string(target[:max(n, 0)]), int(folder.Fd()), int(fdinfo.Fd()), name}
			if !yield(descriptor{pid, name}, d) {
				return
			}
		}
	}
}

// tells reads that. It counts entries and locks hardly further than is too much for a guest. An entry is of a file and
// the number it had: the number may be another file's by now, and so entries can be many more than files.
func (d description) tells() (t telling) {
	f, err := unix.Openat(d.fdinfo, d.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t // it has just been closed
	}
	defer unix.Close(f)
	var buf [4096]byte
	var rest int // bytes of a line that was begun
	for t.watches <= MaxWatches && t.locks <= MaxLocks {
		got, err := unix.Read(f, buf[rest:])
		if err == unix.EINTR {
			continue
		}
		text := buf[:rest+max(got, 0)]
		end := bytes.LastIndexByte(text, '\n') + 1
		if _, after, found := bytes.Cut(text[:end], []byte("mnt_id:")); found && t.mount == "" {
			line, _, _ := bytes.Cut(after, []byte("\n"))
			t.mount = string(bytes.TrimSpace(line))
		}
		t.watches += bytes.Count(text[:end], []byte("tfd:"))
		t.locks += bytes.Count(text[:end], []byte(": POSIX "))
		if len(text) < len(buf) {
			break // the kernel has no more: it would have filled that
		}
		if rest = copy(buf[:], text[end:]); rest == len(buf) {
			break
		}
	}
	return t
}

// isFile tells whether a descriptor's file is a regular one. It is asked of the kernel's own files alone: others may
// wait for somebody to answer.
func (d description) isFile() bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, d.name, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// kernelFiles are the file systems whose files the kernel writes as they are read.
var kernelFiles = []string{"proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "selinuxfs"}

// kernelMounts are the numbers of the mounts of those that a process sees.
func kernelMounts(pid int) map[string]bool {
	mounts := map[string]bool{}
	b, _ := os.ReadFile(procFile(pid, "mountinfo")) // of one that has just ended there are none
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		number, _, _ := strings.Cut(before, " ")
		kind, _, _ := strings.Cut(after, " ")
		mounts[number] = slices.Contains(kernelFiles, kind)
	}
	return mounts
}
