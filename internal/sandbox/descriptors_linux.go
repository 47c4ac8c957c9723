package sandbox

import (
	"bytes"
	"iter"
	"os"

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

	fdinfo int // the folder
	name   string
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
			d := description{string(target[:max(n, 0)]), int(fdinfo.Fd()), name}
			if !yield(descriptor{pid, name}, d) {
				return
			}
		}
	}
}

// count counts the entries of an epoll, and the locks that the descriptor's process has on parts of its file, hardly
// further than is too much for a guest. An entry is of a file and the number it had: the number may be another file's
// by now, and so entries can be many more than files.
func (d description) count() (watches, locks int) {
	f, err := unix.Openat(d.fdinfo, d.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0 // it has just been closed
	}
	defer unix.Close(f)
	var buf [4096]byte
	var rest int // bytes of a line that was begun
	for watches <= MaxWatches && locks <= MaxLocks {
		got, err := unix.Read(f, buf[rest:])
		if err == unix.EINTR {
			continue
		}
		text := buf[:rest+max(got, 0)]
		end := bytes.LastIndexByte(text, '\n') + 1
		watches += bytes.Count(text[:end], []byte("tfd:"))
		locks += bytes.Count(text[:end], []byte(": POSIX "))
		rest = copy(buf[:], text[end:])
		if got <= 0 || rest == len(buf) {
			break
		}
	}
	return watches, locks
}
