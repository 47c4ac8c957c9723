// Package sandbox is where a guest runs: it starts one isolated Python process tree and ends it.
//
// It owns the native runtime, the pool over any runtime and the decision what a machine can enforce; those of engines
// and clusters are package container. It never knows MCP or what the guest's messages mean, and it never starts
// anything with less isolation than the [Policy] says unless the caller allowed that gap by name. Whoever calls
// [Runtime.Start] closes the [Sandbox]; after Close returns no process, mount, cgroup or file of it is left.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/sandbox/python"
)

// A Runtime is a way to run a guest. It is an interface because there are several, for choosing;
// it is not meant for implementations elsewhere.
type Runtime interface {
	// Name is "native", "podman", "docker" or "kubernetes".
	Name() string

	// Probe reports what this machine lets the runtime enforce. The first call may start a sandbox
	// and take tens of milliseconds; later ones answer from memory. An *UnavailableError says why the
	// runtime cannot be used at all and what to do about it.
	Probe(ctx context.Context) (Report, error)

	// Start starts a guest. ctx bounds the start only. It fails with *UnavailableError where the
	// runtime cannot be used, with *GapError where the policy cannot be enforced.
	Start(ctx context.Context, spec Spec) (Sandbox, error)

	// Close ends what the runtime itself keeps: sandboxes in a pool, containers still being removed. Its
	// sandboxes have been closed by then. Nothing may be started afterwards. It is idempotent.
	Close() error
}

// Spec says what to start.
type Spec struct {
	Session string // label for people: process titles, logs
	Tenant  string
	Files   fs.FS    // the guest's tree, read-only at GuestDir
	Boot    string   // file under GuestDir that the interpreter runs
	Env     []string // added to the runtime's own small environment
	Stdin   *os.File // the guest's input; nil is none. Start does not close it. See Sandbox.Input
	Policy  Policy
	Mounts  []Mount // what it sees of this host beside the system
	Out     bool    // it has an OutDir, and Sandbox.OutFiles what is in it

	// Packages are what it can import beside what its interpreter has.
	Packages Packages

	// StdinLock is held by others that read from the terminal that Stdin may be, for as long as what is typed is
	// not for the guest. It is nil where nobody does.
	StdinLock sync.Locker
}

// WorkDir is where a guest starts, and what it may write to.
const WorkDir = "/workspace"

// A Mount is a file or folder of this host that the guest sees in WorkDir, where nothing of it can be executed. Host
// is absolute and leads through no link. A folder may hold sockets that programs of the host listen on, so a guest
// with one gets no Unix sockets that could connect to a path.
type Mount struct {
	Host  string
	Name  string // one element of a path, of any bytes
	Dir   bool
	Write bool // what is in it may be changed

	// Covered is what of a folder cannot be read there. With IsolationReduced it can.
	Covered []Cover
	Partly  string // why not all of the folder was looked through for that, or is covered; "" is all
}

// A Cover is a file or folder below one that a guest is given.
type Cover struct {
	Path    string // from there, with slashes
	Dir     bool
	Ignored bool // a .gitignore names it; else it looks like a secret
}

// ToCover is what is to be covered, as far as it is there and what it was.
func (m Mount) ToCover() []Cover {
	return slices.DeleteFunc(slices.Clone(m.Covered), func(c Cover) bool {
		fi, err := os.Lstat(filepath.Join(m.Host, filepath.FromSlash(c.Path)))
		return err != nil || !fi.Mode().IsRegular() && !fi.IsDir() || fi.IsDir() != c.Dir
	})
}

// Packages are a folder of installed packages, which a guest sees at python.PackagesDir and can import; the zero value
// is none. They are of one ABI, that of the interpreter they were installed for.
type Packages struct {
	Host string // the folder, absolute
	ABI  string // "cpython-314"

	// Layers is a folder in which others appear while the guest runs, which it sees at Sandbox.Layers; empty is none.
	Layers string
}

// PackagesError is an interpreter that cannot use the packages it was to have.
type PackagesError struct {
	Runtime string
	Has     string // the interpreter's ABI
	Want    string // the packages'
	Remedy  []string
}

func (e *PackagesError) Error() string {
	return fmt.Sprintf(
		"runtime %q has a Python of the ABI %s, and the packages that were added are for %s; nothing was run",
		e.Runtime, e.Has, e.Want,
	)
}

// Hint is how the two come together.
func (e *PackagesError) Hint() []string { return e.Remedy }

// An Inode is a file or folder, whatever its name.
type Inode struct{ Device, Number uint64 }

// CheckMounts finds the first that is no longer what it was chosen as.
func CheckMounts(runtime string, mounts []Mount) error {
	for _, m := range mounts {
		fi, err := os.Lstat(m.Host)
		if err == nil && (fi.IsDir() != m.Dir || !m.Dir && !fi.Mode().IsRegular()) {
			err = ErrReplaced
		}
		if err != nil {
			return &MountError{Runtime: runtime, Path: m.Host, Err: cmp.Or(errors.Unwrap(err), err)}
		}
	}
	return nil
}

// ErrReplaced is the error of a mount that is no longer what it was chosen as.
var ErrReplaced = errors.New("something else is there now")

// hasDirs tells whether a folder is among mounts.
func hasDirs(mounts []Mount) bool {
	return slices.ContainsFunc(mounts, func(m Mount) bool { return m.Dir })
}

// HasWritable says whether code may change a file of its user's.
func HasWritable(mounts []Mount) bool {
	return slices.ContainsFunc(mounts, func(m Mount) bool { return m.Write })
}

// GuestDir is where Spec.Files appear inside every sandbox.
const GuestDir = python.GuestDir

// A Sandbox is one running guest. It is born running, ends once (by itself, by Kill or by Close),
// and is dead for good. All methods may be called from any goroutine.
type Sandbox interface {
	// Channel is the stream to the guest's boot code. Reads end with io.EOF when the guest is gone.
	Channel() io.ReadWriteCloser

	// BootArg is what the guest was told about its channel ("fd:3:4:5"); for logs.
	BootArg() string

	// Input is Spec.Stdin where it cannot be the guest's descriptor 0: the guest asks for it over the channel.
	// Reads end with io.EOF when the guest has ended. It is nil where descriptor 0 carries the input, or
	// there is none.
	Input() io.Reader

	// SitePackages are directories, as the guest sees them, that its sys.path should end with.
	SitePackages() []string

	// Layers is Packages.Layers as the guest sees it; empty where the runtime cannot show it.
	Layers() string

	// Done is closed when every process of the sandbox has ended.
	Done() <-chan struct{}

	// Exit says how the guest ended. It must only be called after Done is closed.
	Exit() Exit

	// OutFiles hands over the files in OutDir one by one, until take returns an error. It leaves out those that are in
	// known, by name, with the stamp they still have. No run should be under way meanwhile; of a guest that has ended,
	// the files may be gone.
	OutFiles(ctx context.Context, known map[string]string, take func(OutFile) error) error

	// CPU is the processor time that the guest's processes have used so far; false where that cannot be seen. Where it
	// is not counted but looked for, that is right on average alone, if callers ask at moments that no guest can
	// foresee.
	CPU() (used time.Duration, ok bool)

	// Kill ends every process of the sandbox at once and returns without waiting.
	Kill()

	// Close kills what is still running, waits for it and frees everything. It is idempotent.
	Close() error

	// Enforced is what is in force for this sandbox.
	Enforced() Enforcement
}

// A Sharer is a Sandbox that can have its guest and codemode use one processor alone, with other processes and all
// below them, until release is called. That fails where one of these may not use all of the machine's, or codemode
// shares one already.
type Sharer interface {
	ShareProcessor(others ...int) (release func(), err error)
}

// Exit is how a guest ended.
type Exit struct {
	Code   int       // exit code, when Signal is 0
	Signal int       // number of the signal that ended the guest's first process
	Cause  ExitCause // who ended it
	Err    error     // what is known of it, with ExitEngine; with ExitKilled, that nobody in the sandbox could tell
	Stdout []byte    // last bytes the guest wrote to descriptors 1 and 2 that it never sent, at most 64 KiB each
	Stderr []byte
}

// ExitCause says who ended a guest.
type ExitCause int

// The causes of an exit.
const (
	ExitSelf        ExitCause = iota // by itself: os._exit, a crash
	ExitKilled                       // by Kill or Close
	ExitMemory                       // the memory limit
	ExitEngine                       // what it ran in: an engine that was stopped, or told to end the container
	ExitPipes                        // more pipes than [MaxPipes], or than there are left for the user
	ExitWatches                      // more entries of epolls than [MaxWatches], or than there are left for the user
	ExitLocks                        // more locks than [MaxLocks]
	ExitUnreadable                   // a process that cannot be looked at: its program may not be read
	ExitKernelFiles                  // more files of /proc and /sys than [MaxKernelFiles], or one that keeps memory
	ExitFolders                      // more folders than [MaxFolders]
	ExitTerminals                    // more terminals than [MaxTerminals]
)

// MaxPipes is how many pipes a guest may hold: as many as one process could by its descriptors. Each is accounted with
// 16 pages, and all pipes of the user outside share 16,384 (fs.pipe-user-pages-soft, Linux 6.18); beyond those,
// everybody's new pipes are small. No limit of a process, a namespace or a cgroup is on them.
const MaxPipes = 256

// MaxWatches is how many entries the epolls of a guest may have: 64 processes can have one for each descriptor. All of
// the user outside share some millions (fs.epoll.max_user_watches, a 25th of memory); beyond those no program of the
// user's can wait.
const MaxWatches = 16384

// TimerSlack is how much later than asked for the timers of a guest, and of a server in a sandbox, may fire (prctl(2),
// PR_SET_TIMERSLACK): those that fall into that time fire at once. Of a hundred processes that slept a millisecond
// each, again and again, all others noticed each wake-up.
const TimerSlack = 5 * time.Millisecond

// MaxLocks is how many locks on parts of files (fcntl) a guest may hold: 3 MB of the kernel's memory. Nothing else
// limits them, RLIMIT_LOCKS neither.
const MaxLocks = 16384

// MaxKernelFiles limits descriptors of files in /proc, /sys and the like. Once one has been read, the kernel keeps what
// it reads into, 4 or 8 KB of memory that nothing else counts.
const MaxKernelFiles = 256

// MaxUnbounded limits descriptors of files in /proc whose lines may be of any length: with each entry of an epoll, each
// lock of a file, who waits for one, a mapped file's path, or a variable. Of each descriptor the kernel keeps what was
// read at once, in memory that nothing else counts.
const MaxUnbounded = 16

// MaxFolders limits descriptors of folders: file systems keep names for each that has been read, ext4 8 to 12 KB in
// memory that not even a cgroup counts.
const MaxFolders = 2048

// MaxTerminals is how many terminals a guest may have in a container: all of a machine's share 3,072 (kernel.pty).
const MaxTerminals = 64

// MaxStack is how large a stack may be, in bytes. What a thread hands to a program that it executes, a fourth of it at
// most, is in no process's figures until then. So where memory is kept by a watchdog, all threads that a guest may have
// hand over no more than a fourth of it together; but less than 128 KiB each cannot be had.
func (p Policy) MaxStack(watched bool) int64 {
	const most, least = 8 << 20, 512 << 10
	if !watched || p.Memory <= 0 || p.Processes <= 0 {
		return most
	}
	return min(most, max(least, p.Memory/int64(p.Processes)))
}

// UsualStack is how large a thread's is where nothing else is said. It counts as data.
const UsualStack = 2 << 20

// Policy is what the guest may use. The zero value of a field means no limit of that kind, except
// Isolation. It is a value: print it, compare it, copy it.
type Policy struct {
	Memory      int64   // bytes, all processes and tmpfs together
	Processes   int     // processes and threads
	CPUs        float64 // cores
	OpenFiles   int     // descriptors per process
	FileSize    int64   // bytes in one file
	TmpSize     int64   // bytes in /tmp
	WorkSize    int64   // bytes in /workspace
	Isolation   Isolation
	AllowGaps   []string // names of gaps the user accepts; see Gap.Name
	Interpreter string   // sandbox.python: another interpreter than the embedded one
}

// DefaultPolicy has the limits of the settings' defaults: 512 MB, 128 processes.
func DefaultPolicy() Policy {
	return Policy{
		Memory: 512 << 20, Processes: 128, OpenFiles: 256, FileSize: 256 << 20,
		TmpSize: 64 << 20, WorkSize: 128 << 20, Isolation: IsolationFull,
	}
}

// FitFiles makes the sizes of folders in memory smaller, each by the same part, so that together they are no more than
// memory; 0 is any size. A watchdog sees what is written only when it is there, and a machine writes 2 GB a second and
// more.
func FitFiles(memory int64, sizes ...*int64) {
	var total int64
	for _, size := range sizes {
		if *size == 0 || *size > memory {
			*size = memory
		}
		total += *size
	}
	if total <= memory {
		return
	}
	for _, size := range sizes {
		*size = int64(float64(*size) / float64(total) * float64(memory))
	}
}

// Isolation is how the guest is isolated.
type Isolation string

// IsolationFull is namespaces, a root of its own, Landlock and seccomp. IsolationReduced is Landlock
// and seccomp alone, for machines that forbid user namespaces; only on the user's explicit word.
const (
	IsolationFull    Isolation = "full"
	IsolationReduced Isolation = "reduced"
)

// Report is what a machine offers a runtime.
type Report struct {
	Runtime  string        `json:"runtime"`
	Version  string        `json:"version"`  // engine or kernel
	Method   string        `json:"method"`   // how namespaces are made: "userns", "bwrap", "container", "none"
	Landlock int           `json:"landlock"` // ABI, 0 when absent
	Seccomp  bool          `json:"seccomp"`
	Proc     bool          `json:"proc"`   // a private /proc can be mounted
	Memory   string        `json:"memory"` // "cgroup", "watchdog", "none"
	Pids     string        `json:"pids"`   // "cgroup", "rlimit", "seccomp", "none"
	CPUs     string        `json:"cpus"`   // "cgroup", "none"
	Rootless bool          `json:"rootless"`
	Python   string        `json:"python"`          // interpreter on the host: path or "embedded 3.14.6"
	Start    time.Duration `json:"start"`           // how long the probe's sandbox took
	Lacks    []string      `json:"lacks,omitempty"` // what somebody else's pod has not of what codemode's own have

	// Helper tells whether codemode-sandbox is executed as second stage and reaper. Else codemode is; Refused says why
	// a codemode-sandbox beside it is not.
	Helper  bool   `json:"helper,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Enforcement is a policy as it is enforced: the policy, and by which means.
type Enforcement struct {
	Runtime   string    `json:"runtime"`
	Isolation Isolation `json:"isolation"`
	Method    string    `json:"method"`
	Memory    string    `json:"memory"`
	Pids      string    `json:"pids"`
	CPUs      string    `json:"cpus"`
	Gaps      []Gap     `json:"gaps,omitempty"` // those the user accepted
}

// A Gap is something a policy asks for and a machine cannot enforce.
type Gap struct {
	Name   string `json:"name"`   // for sandbox.allow_gaps: "memory", "pids", "cpus", "isolation", …
	Detail string `json:"detail"` // one sentence
}

// GapError is returned when a policy cannot be enforced here.
type GapError struct {
	Runtime string
	Gaps    []Gap
}

func (e *GapError) Error() string {
	s := fmt.Sprintf("runtime %q cannot enforce what was asked", e.Runtime)
	for _, g := range e.Gaps {
		s += "; " + g.Name + ": " + g.Detail
	}
	return s
}

// Hint is how to do without.
func (e *GapError) Hint() []string {
	names := make([]string, len(e.Gaps))
	for i, g := range e.Gaps {
		names[i] = g.Name
	}
	return []string{"to do without: CODEMODE_SANDBOX_ALLOW_GAPS=" + strings.Join(names, ",")}
}

// MountError says why a guest cannot have a mount.
type MountError struct {
	Runtime string
	Path    string // on this host
	Err     error
	Remedy  []string
}

func (e *MountError) Error() string {
	return fmt.Sprintf("runtime %q cannot show %q to code: %v", e.Runtime, e.Path, e.Err)
}

func (e *MountError) Unwrap() error { return e.Err }

// Hint is what makes it possible.
func (e *MountError) Hint() []string { return e.Remedy }

// UnavailableError says why a runtime cannot be used on this machine.
type UnavailableError struct {
	Runtime string
	// Stable, for tests and doctor: "userns-apparmor", "userns-sysctl", "userns-limit", "container", "no-landlock",
	// "not-linux", "python", …
	Code   string
	Step   string   // what was being done
	Err    error    // the cause; its errno is part of the message
	Remedy []string // what to do, each a sentence or a command
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("runtime %q is not available: %s: %v", e.Runtime, e.Step, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// Hint is what makes the runtime available.
func (e *UnavailableError) Hint() []string { return e.Remedy }
