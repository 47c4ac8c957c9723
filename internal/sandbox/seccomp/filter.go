// Package seccomp builds the system call filter of a sandbox: an allow-list, as a classic BPF program.
//
// It owns the table of calls and the checks of their arguments, for amd64 and arm64 on any machine,
// so that one policy serves every runtime. It installs nothing and opens nothing.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// An Insn is one instruction of classic BPF, struct sock_filter of linux/filter.h.
type Insn struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Classic BPF, linux/bpf_common.h.
const (
	opLoad = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd  = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opJeq  = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opJge  = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	opJset = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	opRet  = 0x06 // BPF_RET | BPF_K
)

// What a filter returns, linux/seccomp.h.
const (
	retKill  = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retErrno = 0x00050000
	retAsk   = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	retAllow = 0x7fff0000
)

// Offsets in struct seccomp_data. Arguments are 64 bits, least significant half first on both
// architectures.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// x32Bit marks calls of the x32 ABI, which an amd64 kernel may accept.
const x32Bit = 0x40000000

// An arch is what differs between architectures.
type arch struct {
	audit  uint32 // AUDIT_ARCH_*, linux/audit.h
	number func(call) int16
}

var arches = map[string]arch{
	"amd64": {0xc000003e, func(c call) int16 { return c.amd64 }},
	"arm64": {0xc00000b7, func(c call) int16 { return c.arm64 }},
}

// Options change the filter.
type Options struct {
	// Alone is the pid of a guest without namespaces of its own, 0 for one that has them. The filter then
	// also does what namespaces would: one process, no sockets, no signals to others.
	Alone uint32

	// Watched refuses memory that a watchdog cannot see. It is for a guest whose memory no cgroup limits.
	Watched bool

	// OneSession refuses setsid: the kernel shares out the processors by session (autogroup, sched(7)), so that one of
	// many sessions would get more than its neighbours. It is for a guest that is started in a session of its own.
	OneSession bool

	// Program is the profile of an ordinary program instead of a guest: with sockets of the internet, file watches and
	// anonymous files, whose memory is counted less exactly. Watched changes nothing for it.
	Program bool

	// Init is for a guest beside a process of codemode's with the same filter, process 1, whose priority nobody sets.
	// It keeps itself from being read by the guest (PR_SET_DUMPABLE), has Landlock hold that, and has it begin with one
	// more filter, by which it may do neither ([Guest]).
	Init bool

	// Writes is for a guest that can write to files of its user's, and so can have the disk be given them.
	Writes bool

	// Closed is for a guest that sees folders of its user's, or an interpreter's. In these may be sockets of the user's
	// programs, which neither a read-only mount nor Landlock keeps it from connecting to: so it has no Unix sockets but
	// pairs that are connected for good. And what it leaves there is seen outside, so it makes no files with set-id
	// bits.
	Closed bool
}

// verdict is what becomes of a call.
func (o Options) verdict(c call) verdict {
	if o.Program && slices.Contains(programCalls, c.name) {
		return allow
	}
	return c.verdict
}

// Filter returns the filter for an architecture by its Go name.
func Filter(goarch string, opts Options) ([]Insn, error) {
	a, ok := arches[goarch]
	if !ok {
		return nil, fmt.Errorf("no system call table for architecture %q", goarch)
	}
	p := &program{numbers: map[string]uint32{}}
	for _, c := range calls {
		if n := a.number(c); n != none {
			p.numbers[c.name] = uint32(n)
		}
	}
	// Another ABI numbers its calls differently: int 0x80 and x32 on amd64, 32-bit code on arm64.
	p.add(load(offArch), jeq(a.audit, 1, 0), ret(retKill), load(offNr))
	if goarch == "amd64" {
		p.add(jge(x32Bit, 0, 1), ret(retKill))
	}
	if opts.Alone != 0 {
		aloneRules(p, opts.Alone)
	}
	if opts.Closed {
		closedRules(p)
	}
	checks(p, opts)
	p.allowAll(opts)
	for _, c := range calls {
		switch opts.verdict(c) {
		case refuse:
			p.rule(c.name, ret(errno(eperm)))
		case lack:
			p.rule(c.name, ret(errno(einval)))
		}
	}
	p.add(ret(errno(enosys)))
	return p.insns, nil
}

// AskThreads returns a filter beside that of Filter, which has its listener be asked about each new thread. What the
// other one refuses or kills for, nobody is asked about: of two answers the kernel takes the stricter (seccomp(2)).
func AskThreads(goarch string) ([]Insn, error) {
	clone, ok := Numbers(goarch)["clone"]
	if !ok {
		return nil, fmt.Errorf("no system call table for architecture %q", goarch)
	}
	return []Insn{load(offNr), jeq(uint32(clone), 0, 1), ret(retAsk), ret(retAllow)}, nil
}

// Guest returns a filter beside that of Options.Init, for the guest alone: it and all that come from it stay readable
// for the process that watches them, and with Options.OneSession in their session.
func Guest(goarch string, opts Options) ([]Insn, error) {
	numbers := Numbers(goarch)
	if len(numbers) == 0 {
		return nil, fmt.Errorf("no system call table for architecture %q", goarch)
	}
	insns := []Insn{load(offNr)}
	if opts.OneSession {
		insns = append(insns, jeq(uint32(numbers["setsid"]), 0, 1), ret(errno(eperm)))
	}
	for _, name := range restricting {
		insns = append(insns, jeq(uint32(numbers[name]), 0, 1), ret(errno(enosys)))
	}
	insns = append(insns, jeq(uint32(numbers["prctl"]), 1, 0), ret(retAllow))
	return append(insns, noneOf(0, eperm, initPrctls...)...), nil
}

// Encode returns a program as the kernel reads it: an array of struct sock_filter.
func Encode(insns []Insn) []byte {
	b := make([]byte, 0, 8*len(insns))
	for _, i := range insns {
		b = binary.LittleEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.LittleEndian.AppendUint32(b, i.K)
	}
	return b
}

// A program is a filter being built. The accumulator holds the call's number before each rule.
type program struct {
	numbers map[string]uint32
	insns   []Insn
}

func (p *program) add(insns ...Insn) { p.insns = append(p.insns, insns...) }

// rule adds what happens to one call. body must return on every path, since it may have loaded
// something else into the accumulator. A call that the architecture lacks needs no rule.
func (p *program) rule(name string, body ...Insn) {
	nr, ok := p.numbers[name]
	if !ok {
		return
	}
	p.add(jeq(nr, 0, uint8(len(body))))
	p.add(body...)
}

// allowAll adds the plain allow-list, as ranges of numbers to keep it short.
func (p *program) allowAll(opts Options) {
	var nrs []uint32
	for _, c := range calls {
		if nr, ok := p.numbers[c.name]; ok && opts.verdict(c) == allow {
			nrs = append(nrs, nr)
		}
	}
	slices.Sort(nrs)
	for i := 0; i < len(nrs); {
		first := nrs[i]
		for i++; i < len(nrs) && nrs[i] == nrs[i-1]+1; i++ {
		}
		if last := nrs[i-1]; last == first {
			p.add(jeq(first, 0, 1), ret(retAllow))
		} else {
			p.add(jge(first, 0, 2), jge(last+1, 1, 0), ret(retAllow))
		}
	}
}

func load(off uint32) Insn              { return Insn{Code: opLoad, K: off} }
func arg(i uint32) Insn                 { return load(offArgs + 8*i) }
func argHigh(i uint32) Insn             { return load(offArgs + 8*i + 4) }
func and(k uint32) Insn                 { return Insn{Code: opAnd, K: k} }
func jeq(k uint32, yes, no uint8) Insn  { return Insn{Code: opJeq, Jt: yes, Jf: no, K: k} }
func jge(k uint32, yes, no uint8) Insn  { return Insn{Code: opJge, Jt: yes, Jf: no, K: k} }
func jset(k uint32, yes, no uint8) Insn { return Insn{Code: opJset, Jt: yes, Jf: no, K: k} }
func ret(k uint32) Insn                 { return Insn{Code: opRet, K: k} }
func errno(e uint32) uint32             { return retErrno | e }

// Numbers returns the numbers of the calls in the table, for an architecture by its Go name.
func Numbers(goarch string) map[string]int {
	a, ok := arches[goarch]
	numbers := map[string]int{}
	for _, c := range calls {
		if ok && a.number(c) != none {
			numbers[c.name] = int(a.number(c))
		}
	}
	return numbers
}
