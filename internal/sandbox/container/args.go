package container

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/sandbox"
)

// An order is the specification of a container to start: what args (podman, docker) or pod (kubernetes) is made of.
// (sandbox.order is something else, a setting.)
type order struct {
	name    string
	pod     string // by its own name, which is not that of a claim to it
	image   string
	user    string
	profile string // path of the system call filter's profile; empty where the init has the filter
	spec    sandbox.Spec
	means   sandbox.Enforcement
	way     way
	binds   []bind   // of this host
	places  []string // of mounts, in their order
	volumes []string // of the image, which the engine would make writable
	python  []string // what python3 is called with
}

// A bind is a file or folder of the engine's host and where it is in the container, read-only unless write is set. What
// is mounted below it is left out, since the options would not hold there; with podman's own propagation, rprivate, it
// would be there all the same (4.3.1). Without a source it is an empty folder that cannot be opened.
type bind struct {
	source, target string
	write          bool
	options        []string
}

// String is an option of --mount, a line of CSV: a path may hold whatever a path may hold.
func (b bind) String() string {
	var line strings.Builder
	w := csv.NewWriter(&line)
	options := []string{"type=bind", "src=" + b.source, "dst=" + b.target}
	switch {
	case b.source == "":
		options = []string{"type=tmpfs", "dst=" + b.target, "ro", "tmpfs-mode=0000", "tmpfs-size=4096"}
	case !b.write:
		options = append(options, "readonly")
	}
	_ = w.Write(append(options, b.options...))
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

// args is the engine's command line. Nothing in it is secret or large: those go over the channel.
func (e *engine) args(o order) []string {
	if e.name == Kubernetes {
		return e.inPod(o.pod, "python3", "-I", "-S", "-c", handoverCode)
	}
	a := append(e.global, "run", "--rm", "--interactive", "--pull", "never", "--name", o.name,
		"--hostname", "codemode", "--network", "none", "--log-driver", "none", "--no-healthcheck",
		"--stop-signal", "KILL", // the init takes no other: a daemon that ends, or finds it there, would wait for it
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--cgroupns", "private", "--user", o.user, "--workdir", besideDir, "--entrypoint", "python3")
	if o.profile != "" {
		a = append(a, "--security-opt", "seccomp="+o.profile)
	}
	a = append(a, e.labels(o.spec)...)
	a = append(a, e.limits(o)...)
	a = append(a, e.mounts(o)...)
	for _, v := range environment {
		a = append(a, "--env", v)
	}
	switch e.name {
	case Podman:
		a = append(a, "--http-proxy=false", "--read-only-tmpfs=false", "--image-volume", "ignore", "--no-hosts",
			"--sdnotify", "ignore", "--pid", "private", "--cgroups", "enabled", // whatever containers.conf has
			"--passwd=false") // its entry for the user would be a file of the engine's storage
	case Docker:
		// It would copy what this machine's file says. It warns of 127.0.0.1, which this means as well.
		a = append(a, "--dns", "0.0.0.0", "--dns-search", ".", "--dns-option", "ndots:1")
		for _, v := range proxies { // which docker's own configuration may set
			a = append(a, "--env", v+"=", "--env", strings.ToLower(v)+"=")
		}
	}
	if o.way == viaDescriptor {
		a = append(a, "--preserve-fds", "1")
	}
	for _, b := range o.binds {
		if b.source != "" {
			b.options = append(slices.Clip(b.options), "bind-propagation=private", e.alone)
		} else if e.name == Podman {
			b.options = append(slices.Clip(b.options), "notmpcopyup")
		}
		a = append(a, "--mount", b.String())
	}
	return append(append(a, o.image), o.python...)
}

// boot is the init's beginning; its argument is where it finds its channel.
func (w way) boot() []string {
	channel := "0"
	switch w {
	case viaDescriptor:
		channel = "3"
	case viaSocket:
		channel = socketDir + "/" + socketName
	}
	return []string{"-I", "-S", "-u", "-X", "utf8", "-c", bootCode, channel}
}

// besideDir is the working folder of what is started in a container, from which the init takes the guest to its own:
// loaders and programs that are started beside a guest may look for code in theirs.
const besideDir = "/"

var environment = []string{
	"HOME=/workspace", "TMPDIR=/tmp", "LANG=C.UTF-8",
	"PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8", "PYTHONDONTWRITEBYTECODE=1",
}

var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"}

// limits are the policy's. What the engine cannot enforce is not asked of it: it would only warn.
func (e *engine) limits(o order) (a []string) {
	p := o.spec.Policy
	ulimit := func(name string, soft, hard int64) {
		a = append(a, "--ulimit", fmt.Sprintf("%s=%d:%d", name, soft, hard))
	}
	if o.means.Memory == byCgroup {
		m := strconv.FormatInt(p.Memory, 10) + "b"
		a = append(a, "--memory", m, "--memory-swap", m)
	} else if p.Memory > 0 {
		// For a program that asks for far too much at once, which the init is not fast enough for. It counts
		// address space, touched or not, so it is wider than the limit.
		ulimit("data", max(2*p.Memory, minData), max(2*p.Memory, minData))
	}
	if o.means.Pids == byCgroup {
		a = append(a, "--pids-limit", strconv.Itoa(p.Processes))
	}
	if e.name == Podman {
		// It would otherwise ask for more than a root without CAP_SYS_RESOURCE may give.
		ulimit("nproc", e.processes, e.processes)
	}
	if o.means.CPUs == byCgroup {
		a = append(a, "--cpus", strconv.FormatFloat(p.CPUs, 'f', -1, 64))
	}
	for _, l := range rlimits(p, o.means) {
		ulimit(l.name, l.soft, l.hard)
	}
	return a
}

// An rlimit is a limit of each process: what an engine calls it, and its number (getrlimit(2); of x86 and ARM).
type rlimit struct {
	name       string
	number     int
	soft, hard int64
}

func rlimits(p sandbox.Policy, means sandbox.Enforcement) []rlimit {
	stack := p.MaxStack(means.Memory == byWatchdog)
	list := []rlimit{
		{"core", 4, 1, 1}, // at 0, a handler that dumps are piped to would get them all the same: core(5)
		{"msgqueue", 12, 0, 0},
		{"memlock", 8, 64 << 10, 64 << 10},
		{"sigpending", 11, 128, 128},
		{"stack", 3, min(sandbox.UsualStack, stack), stack},
	}
	if p.OpenFiles > 0 {
		list = append(list, rlimit{"nofile", 7, int64(p.OpenFiles), int64(p.OpenFiles)})
	}
	if p.FileSize > 0 {
		list = append(list, rlimit{"fsize", 1, p.FileSize, p.FileSize})
	}
	return list
}

// innerLimits are those that the init sets. That of processes is not for the engine: its own processes, which are
// somebody else's, would count while it starts one. A pod can be told of none.
func (e *engine) innerLimits(p sandbox.Policy, means sandbox.Enforcement) (list []rlimit) {
	if means.Pids == byRlimit && p.Processes > 0 {
		list = append(list, rlimit{"nproc", 6, int64(p.Processes), int64(p.Processes)})
	}
	if e.name == Kubernetes {
		list = append(list, rlimits(p, means)...)
	}
	return list
}

const (
	minData   = 512 << 20
	filesSize = 8 << 20 // of the guest's own files, many times over; and of a volume that nobody asked for
	maxInodes = 16384   // files in one tmpfs, where the engine can limit them
)

// machine are the parts of /sys that every kernel has and that tell of the machine; what is left of it are the names of
// file systems and the container's own groups, which the init reads.
var machine = []string{"/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/kernel", "/sys/module"}

// mounts are the places a guest can write to, and those that are covered.
func (e *engine) mounts(o order) (a []string) {
	p := o.spec.Policy
	shm := p.TmpSize
	if o.means.Memory == byWatchdog {
		sandbox.FitFiles(p.Memory, &p.TmpSize, &p.WorkSize, &shm)
	}
	tmpfs := func(dir string, size int64, more string) {
		opts := "rw,noexec,nosuid,nodev"
		if size > 0 {
			opts += fmt.Sprintf(",size=%d", size)
		}
		if e.name == Docker {
			opts += fmt.Sprintf(",nr_inodes=%d", maxInodes)
		}
		a = append(a, "--tmpfs", dir+":"+opts+more)
	}
	// runc gives a tmpfs the mode of the image's directory, whatever is said here (1.1.5, 2026-11): its owner matters.
	writable := ",mode=1777"
	if e.name == Docker {
		writable += mountOwner(o.user)
	}
	tmpfs("/tmp", p.TmpSize, writable)
	tmpfs("/workspace", p.WorkSize, writable)
	tmpfs(sandbox.GuestDir, filesSize, e.owned(o.user))
	for _, v := range o.volumes { // writable, where the image's directory is: other mounts may be below
		tmpfs(v, filesSize, "")
	}
	if e.name == Podman {
		hidden := machine
		if o.means.Memory != byCgroup { // it may be in no group of its own then, and see all
			hidden = append(slices.Clip(machine), "/sys/fs/cgroup")
		}
		a = append(a, "--security-opt", "mask="+strings.Join(hidden, ":"))
	} else { // docker has no such option
		for _, dir := range machine {
			a = append(a, "--tmpfs", dir+":ro,noexec,nosuid,nodev,size=4k")
		}
	}
	if shm > 0 {
		a = append(a, "--shm-size", strconv.FormatInt(shm, 10)+"b")
	}
	return a
}

// owned are the options of a tmpfs that belongs to the container's user, who then can close it to itself.
func (e *engine) owned(user string) string {
	if e.name == Podman {
		return ",mode=0755,U"
	}
	return ",mode=0755" + mountOwner(user)
}

// mountOwner are the options of a tmpfs whose owner that user is.
func mountOwner(user string) string {
	uid, gid, _ := strings.Cut(user, ":")
	if gid == "" {
		gid = uid
	}
	return ",uid=" + uid + ",gid=" + gid
}
