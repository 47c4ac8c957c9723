package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/stage2"
)

// guestID is the user and group of every guest, as it sees itself: nobody.
const guestID = 65534

// systemPaths are what programs of the host need to run: a shell, the dynamic loader, libraries. Users'
// own (/usr/local, /opt, /home) are not among them.
var systemPaths = []string{
	"/bin", "/lib", "/lib32", "/lib64",
	"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64",
	"/usr/share/zoneinfo",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
	"/etc/fonts", "/etc/matplotlibrc", // Debian's matplotlib does not start without the latter
	"/nix/store", "/run/current-system",
}

// A Bind is a host file or directory and the path at which it is seen, read-only.
type Bind struct {
	Host, Inside string
	Write        bool // it may be written to
	Real         bool // Host leads through no link, and must not when it is mounted
	Shift        bool // ID-mapped where codemode is root and gives that up: root's files appear as the sandbox user's
	Overlay      bool // if it is a directory, an overlay of it, where the kernel can, with locks of its own
	NoExec       bool // nothing in it can be executed
	Cover        bool // it covers what is there of another bind, if that still is a file, or with Dir a folder
	Dir          bool // with Cover
}

// A hostView is a part of the host.
type hostView struct {
	binds    []Bind
	symlinks []stage2.Symlink
}

// host is what every guest sees. It looks once: a system does not move its libraries while it runs.
var host = sync.OnceValue(func() hostView { return look(systemPaths) })

// look finds those of the paths that are there.
func look(paths []string) hostView {
	var v hostView
	for _, p := range paths {
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			// An overlay takes some 0.1 ms to mount. What is shown of /etc are links and what programs only read.
			v.binds = append(v.binds, Bind{Host: p, Inside: p, Overlay: !strings.HasPrefix(p, "/etc/")})
			continue
		}
		// Merged /usr: the link is made anew, its target is one of the others.
		if target, err := os.Readlink(p); err == nil {
			v.symlinks = append(v.symlinks, stage2.Symlink{Target: stage2.Bytes(target), Inside: stage2.Bytes(p)})
		}
	}
	return v
}

// guestBinds are the host's paths, the interpreter's and the guest's files.
func guestBinds(py *python.Interpreter, dir string) []Bind {
	binds := append(slices.Clone(host().binds), Bind{Host: dir, Inside: GuestDir, Overlay: true})
	for _, b := range py.Binds {
		// What is shown of an interpreter of the user's has been looked at: its paths lead through no link. They change
		// it while sessions go on, and of a name that was missed an overlay says on that there is none.
		users := !py.Embedded && !b.Hidden
		binds = append(binds, Bind{Host: b.Host, Inside: b.Inside, Overlay: !users, Real: users})
	}
	return needed(binds)
}

// needed are binds in the order in which they are attached, without those that another shows already.
func needed(binds []Bind) []Bind {
	slices.SortStableFunc(binds, func(a, b Bind) int {
		if c := strings.Compare(a.Inside, b.Inside); c != 0 || a.Write == b.Write {
			return c
		}
		if a.Write {
			return -1
		}
		return 1
	})
	var kept []Bind
	for _, b := range binds {
		if !slices.ContainsFunc(kept, func(k Bind) bool { return shows(k, b) }) {
			kept = append(kept, b)
		}
	}
	return kept
}

// cutDir returns what follows dir in path, and whether path is dir or lies below it.
func cutDir(path, dir string) (rest string, ok bool) {
	rest, err := filepath.Rel(dir, path)
	return rest, err == nil && filepath.IsLocal(rest)
}

// shows tells whether k makes b superfluous.
func shows(k, b Bind) bool {
	rest, ok := cutDir(b.Inside, k.Inside)
	return ok && filepath.Join(k.Host, rest) == b.Host && (k.Write || !b.Write)
}

const zero = "/dev/zero"

// guestDevices are the host's that a guest may use. A shared mapping of /dev/zero is memory that outlasts its pages'
// unmapping, which no watchdog would see.
func guestDevices(e Enforcement) []string {
	devices := []string{"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"}
	if e.Memory != meansWatchdog {
		devices = append(devices, zero)
	}
	return devices
}

// rootFiles are made anew, so that nothing of the host's users shows.
func rootFiles() []stage2.File {
	return []stage2.File{
		{Inside: "/etc/passwd", Content: fmt.Sprintf("sandbox:x:%d:%d::/workspace:/bin/sh\n", guestID, guestID)},
		{Inside: "/etc/group", Content: fmt.Sprintf("sandbox:x:%d:\n", guestID)},
		{Inside: "/etc/hosts", Content: "127.0.0.1 localhost\n"},
	}
}

// guestEnv is the whole environment of a guest; nothing of codemode's own is in it. Settings that begin
// with PYTHON are for child processes: the guest itself is isolated from them.
func guestEnv(py *python.Interpreter, added []string) []string {
	env := []string{
		"PATH=/usr/bin:/bin:/run/current-system/sw/bin",
		"HOME=/workspace",
		"TMPDIR=/tmp",
		"LANG=C.UTF-8",
		"PYTHONUNBUFFERED=1",
		"PYTHONIOENCODING=utf-8",
		"PYTHONDONTWRITEBYTECODE=1",
		"MPLBACKEND=Agg",
		"MPLCONFIGDIR=/tmp",
		// glibc reserves address space per thread, which counts against the memory limit.
		"MALLOC_ARENA_MAX=2",
		// OpenBLAS starts a thread per core, which counts against the process limit.
		fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", min(runtime.NumCPU(), 8)),
	}
	return slices.Concat(env, py.Env, added)
}
