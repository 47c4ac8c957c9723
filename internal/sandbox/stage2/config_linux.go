package stage2

import "encoding/hex"

// Name is the argument that makes an executable which imports this package a second stage: as its
// own name, or as its only argument where the starter cannot choose the name.
const Name = "codemode-sandbox-init"

// Descriptors of the second stage.
const (
	// ControlFD is a socket. There come a Config as JSON, until its end, and the descriptors that it counts; back go
	// a listener where one was asked for, Ready and, unless execve closed it, a Failure as JSON.
	ControlFD = 6
	FirstFD   = 7 // what else is handed down
)

// Written to ControlFD.
const (
	Listener = '?' // with a descriptor
	Ready    = '+' // when only execve is left to do
)

// Config is what the parent tells the second stage.
type Config struct {
	Path string // of the interpreter or program, inside
	Argv []string
	Env  []Bytes
	Dir  string // where it starts
	Keep int    // descriptors from 0 on that survive execve: the first ones that have come

	Files int // descriptors that come with this

	// Root is the file system to build; nil where the runtime has built it, or none is built.
	Root *Root

	// Mounted is what the runtime has mounted by its path, which must be what it was.
	Mounted []Mounted

	// DropBounds empties the capability bounding set, which takes a capability to do.
	DropBounds bool

	Landlock        Landlock
	RequireLandlock bool

	// SmallPages has a page fault take no more than one page, for whom a watchdog counts.
	SmallPages bool

	// TimerSlack, in nanoseconds, is handed down.
	TimerSlack uintptr

	Filter []byte // seccomp program

	// AskThreads is a seccomp program that has the parent be asked about each new thread, by the listener that it is
	// sent in front of Ready (seccomp_unotify(2)); empty for none.
	AskThreads []byte

	Limits []Limit
}

// Root describes the guest's file system: a tmpfs with read-only binds.
type Root struct {
	Binds    []Bind   // sorted by Inside
	Devices  []string // the host's, shown where they are
	Symlinks []Symlink
	Files    []File
	Dirs     []Dir // mounted in this order, before the binds
	Shm      int64 // bytes of /dev/shm
	Proc     bool  // try to mount a private /proc
}

// A Dir is an empty directory in memory that may be written to.
type Dir struct {
	Inside string
	Size   int64 // bytes, 0 for no limit of its own
	Inodes int
	Exec   bool   // programs in it may be executed
	Sub    string // a folder that is made in it
}

// A Bind shows a host file or directory, read-only unless Write is set.
type Bind struct {
	Host    Bytes
	Inside  Bytes
	Tree    int  // a detached mount of Host that the parent opened, by its place among the descriptors, or 0
	Dir     bool // Host is a directory
	Write   bool
	Real    bool // Host must lead through no link
	Overlay bool // shown by an overlay, where the kernel can; for a directory that is only read
	NoExec  bool // nothing in it can be executed
	Cover   bool // it covers a file or folder of another bind, if that is there
}

// A Mounted is a mount that somebody else has made.
type Mounted struct {
	Host, Inside   Bytes
	Device, Number uint64 // of the inode that it is to be
}

// Bytes are a path or a variable: JSON would change what is not UTF-8 in a string.
type Bytes string

// MarshalText is the bytes in hexadecimal digits.
func (p Bytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, []byte(p)), nil }

// UnmarshalText is the opposite of MarshalText.
func (p *Bytes) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	*p = Bytes(b)
	return err
}

// ToBytes converts each.
func ToBytes(list ...string) []Bytes {
	out := make([]Bytes, len(list))
	for i, s := range list {
		out[i] = Bytes(s)
	}
	return out
}

// A Symlink is made in the root.
type Symlink struct{ Target, Inside Bytes }

// A File is made in the root.
type File struct{ Inside, Content string }

// Landlock says below which directories, as the guest sees them, it may do what. Paths that do not
// exist are skipped; nothing else is allowed.
type Landlock struct {
	Read    []Bytes // read and list
	Execute []Bytes // and execute
	Write   []Bytes // read, list, write, make and remove; never execute
	Own     []Bytes // as Write, and execute
	Devices []Bytes // read and write the file itself
	Network bool    // leave TCP alone
	Real    bool    // paths but those of devices lead through no link, and must not when the rules are made
}

// A Limit is an rlimit.
type Limit struct {
	Name     string
	Resource int
	Cur, Max uint64
}

// A Failure is why a second stage gave up.
type Failure struct {
	Step  string // what it was doing, in gerund
	Errno int    // 0 when it was no system call
	Text  string
}
