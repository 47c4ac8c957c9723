package container

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strconv"
	"sync"
	"syscall"

	"codemode/internal/sandbox"
)

// bootCode is the container's command. It is all of codemode that is an argument: it runs what it reads.
//
//go:embed boot.py
var bootCode string

//go:embed init.py
var initCode string

//go:embed watch.py
var watchCode string

//go:embed descriptors.py
var descriptorsCode string

// appendField adds what boot.py's field reads: the length in eight hexadecimal digits, and the bytes.
func appendField[T string | []byte](b []byte, data T) []byte {
	b = fmt.Appendf(b, "%08x", len(data))
	return append(b, data...)
}

func appendNumber[T int | int64](b []byte, n T) []byte {
	return appendField(b, strconv.FormatInt(int64(n), 10))
}

// A payload is what a container gets before its guest begins: the init, the guest's files, and what is
// the sandbox's own. What the engine does not limit, the init does.
func (p *payloads) payload(e *engine, o order, means sandbox.Enforcement) ([]byte, error) {
	spec := o.spec
	files, err := p.files(spec.Files)
	if err != nil {
		return nil, fmt.Errorf("reading the guest's files: %w", err)
	}
	code := initCode + "\n\n" + watchCode + "\n\n" + descriptorsCode
	b := appendField(make([]byte, 0, len(files)+len(code)+1<<10), code)
	b = append(b, files...)
	b = appendNumber(b, len(spec.Env))
	for _, v := range spec.Env {
		b = appendField(b, v)
	}
	b = appendField(b, spec.Boot)
	var memory int64
	if means.Memory == byWatchdog {
		memory = spec.Policy.Memory
	}
	b = appendNumber(b, memory)
	b = appendField(b, map[bool]string{true: "shared"}[e.name == Kubernetes])
	limits := e.innerLimits(spec.Policy, means)
	b = appendNumber(b, len(limits))
	for _, l := range limits {
		b = appendNumber(appendNumber(appendNumber(b, l.number), l.soft), l.hard)
	}
	b = appendField(b, map[bool]string{true: path.Base(sandbox.OutDir)}[spec.Out])
	b = appendNumber(b, len(spec.Mounts))
	for i, m := range spec.Mounts {
		inode, err := e.inode(m)
		if err != nil {
			return nil, err
		}
		b = appendField(b, m.Name)
		b = appendField(b, map[bool]string{false: "r", true: "w"}[m.Write])
		b = appendField(b, inode)
		b = appendField(b, o.places[i])
		covers := o.covers(o.places[i])
		b = appendNumber(b, len(covers))
		for _, path := range covers {
			b = appendField(b, path)
		}
	}
	return appendFilters(appendFilters(b, e.filters), e.inner), nil
}

func appendFilters(b []byte, filters []filter) []byte {
	b = appendNumber(b, len(filters))
	for _, f := range filters {
		b = appendField(appendField(b, f.machine), f.program)
	}
	return b
}

// payloads remembers the tree it has read last: a caller has one for all its sandboxes.
type payloads struct {
	mu    sync.Mutex
	tree  fs.FS
	bytes []byte
}

func (p *payloads) files(tree fs.FS) ([]byte, error) {
	comparable := reflect.TypeOf(tree).Comparable()
	p.mu.Lock()
	if comparable && p.tree == tree {
		defer p.mu.Unlock()
		return p.bytes, nil
	}
	p.mu.Unlock()
	count, all := 0, []byte(nil)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		count++
		all = appendField(appendField(all, name), data)
		return err
	})
	if err != nil {
		return nil, err
	}
	all = append(appendNumber([]byte(nil), count), all...)
	if comparable {
		p.mu.Lock()
		p.tree, p.bytes = tree, all
		p.mu.Unlock()
	}
	return all, nil
}

// A greeting is the first a container says: which Python it has, which mount its user may not use, which is of
// something else than it should be, whether the guest is kept from processes that are started beside it, which program
// Python is, which variable would have those load what the guest has written, and where Python keeps its packages.
type greeting struct {
	python   string
	closed   int // the first such mount; -1 is none
	replaced int // in the same way
	fenced   bool
	program  string // absolute, and no link
	reach    string // empty is none
	site     []string
}

const greetingMark = "codemode"

// Bounds of a greeting. It is said before any code of the user's runs, by an image that is trusted; they are
// for one that has something else in the place of Python.
const (
	maxGreeting = 256
	maxSitePath = 4 << 10
)

// readGreeting reads the greeting and not a byte more.
func readGreeting(r io.Reader) (g greeting, err error) {
	g.closed, g.replaced = -1, -1
	mark := make([]byte, len(greetingMark))
	if _, err := io.ReadFull(r, mark); err != nil {
		return g, err
	}
	if string(mark) != greetingMark {
		return g, fmt.Errorf("the container began with %q", mark)
	}
	count, err := readLength(r, maxGreeting)
	for i := 0; i < count && err == nil; i++ {
		var n int
		if n, err = readLength(r, maxSitePath); err != nil {
			break
		}
		text := make([]byte, n)
		_, err = io.ReadFull(r, text)
		switch i {
		case 0:
			g.python = string(text)
		case 1:
			g.closed = indexIn(text)
		case 2:
			g.replaced = indexIn(text)
		case 3:
			g.fenced = len(text) > 0
		case 4:
			g.program = string(text)
		case 5:
			g.reach = string(text)
		default:
			g.site = append(g.site, string(text))
		}
	}
	return g, err
}

// indexIn is the number in a text, -1 of what is none.
func indexIn(text []byte) int {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return -1
	}
	return n
}

func readLength(r io.Reader, limit int) (int, error) {
	digits := make([]byte, 8)
	if _, err := io.ReadFull(r, digits); err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(digits), 16, 31)
	if err != nil || int(n) > limit {
		return 0, fmt.Errorf("the container sent the length %q", digits)
	}
	return int(n), nil
}

// A report is what the init says on the container's standard error when the guest has ended; before it
// comes what the engine's command has to say. All of it is bounded: the guest may write there, too.
type report struct {
	chatter []byte // the engine's, its end
	body    []byte // behind the mark
	found   bool
	parsed  bool
	exit    sandbox.Exit
}

const (
	reportMark = "\x00codemode-exit "
	maxChatter = 8 << 10
	maxTail    = 64 << 10
)

// add takes what was read, and tells whether the report has just become complete.
func (r *report) add(data []byte) bool {
	if r.parsed {
		return false
	}
	if r.found {
		r.body = append(r.body, data...)
		return r.parse()
	}
	all := append(r.chatter, data...)
	if before, after, ok := bytes.Cut(all, []byte(reportMark)); ok {
		r.chatter, r.body, r.found = bytes.Clone(before), bytes.Clone(after), true
		return r.parse()
	}
	r.chatter = all[max(0, len(all)-maxChatter):]
	return false
}

// causes are what the init says of why it has ended a guest, by its numbers (watch.py).
var causes = []sandbox.ExitCause{
	sandbox.ExitSelf, sandbox.ExitMemory, sandbox.ExitPipes, sandbox.ExitWatches, sandbox.ExitLocks,
	sandbox.ExitUnreadable, sandbox.ExitKernelFiles, sandbox.ExitFolders, sandbox.ExitTerminals,
}

// parse reads code, signal, the number of its cause, and two lengths; then two tails.
func (r *report) parse() bool {
	in := bytes.NewReader(r.body)
	var n [5]int
	for i := range n {
		var err error
		if n[i], err = readLength(in, maxTail); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				r.parsed, r.body = true, nil // not the init's
				r.exit = sandbox.Exit{Signal: int(syscall.SIGKILL)}
				return true
			}
			return false
		}
	}
	if in.Len() < n[3]+n[4] {
		return false
	}
	rest := r.body[len(r.body)-in.Len():]
	r.exit = sandbox.Exit{
		Code: n[0] & 0xff, Signal: n[1] & 0x7f,
		Stdout: bytes.Clone(rest[:n[3]]), Stderr: bytes.Clone(rest[n[3] : n[3]+n[4]]),
	}
	if n[2] < len(causes) && r.exit.Signal == int(syscall.SIGKILL) {
		r.exit.Cause = causes[n[2]]
	}
	r.parsed, r.body = true, nil
	return true
}
