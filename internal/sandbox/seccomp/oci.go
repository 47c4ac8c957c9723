package seccomp

import (
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
)

// What an OCI profile can say, as runc and crun read it
// (https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#seccomp, read November 2026).
const (
	ociAllow    = "SCMP_ACT_ALLOW"
	ociErrno    = "SCMP_ACT_ERRNO"
	ociEqual    = "SCMP_CMP_EQ"
	ociNotEqual = "SCMP_CMP_NE"
	ociMasked   = "SCMP_CMP_MASKED_EQ"
)

type ociProfile struct {
	DefaultAction   string    `json:"defaultAction"`
	DefaultErrnoRet uint32    `json:"defaultErrnoRet"`
	ArchMap         []ociArch `json:"archMap"`
	Syscalls        []ociRule `json:"syscalls"`
}

type ociArch struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

type ociRule struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint32  `json:"errnoRet,omitempty"`
	Args     []ociArg `json:"args,omitempty"`
}

// An ociArg compares an argument, all 64 bits of it. With ociMasked, value is the mask.
type ociArg struct {
	Index    uint32 `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

// OCI returns the filter as the profile of a container engine, for both architectures. It refuses what
// [Filter] refuses, with another errno at times: where an argument decides, the rules of a profile can
// only allow, and what none allows gets ENOSYS. A condition is on one argument once, and the first rule that fits
// wins nothing: so a call is allowed by a union of rules, and no two rules contradict each other.
//
// Of the options it knows Watched, Closed, Init and Writes.
func OCI(opts Options) []byte {
	p := ociProfile{
		DefaultAction:   ociErrno,
		DefaultErrnoRet: enosys,
		ArchMap:         []ociArch{{"SCMP_ARCH_X86_64", []string{}}, {"SCMP_ARCH_AARCH64", []string{}}},
	}
	named := func(v verdict) (names []string) {
		for _, c := range calls {
			if c.verdict == v && !(opts.Closed && slices.Contains(closedCalls, c.name)) {
				names = append(names, c.name)
			}
		}
		return names
	}
	p.Syscalls = append(
		[]ociRule{
			{Names: named(allow), Action: ociAllow},
			{Names: append(named(refuse), writesOut...), Action: ociErrno, ErrnoRet: errnoRet(eperm)},
			{Names: named(lack), Action: ociErrno, ErrnoRet: errnoRet(einval)},
		}, ociChecks(opts)...)
	b, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		panic(err) // of strings and numbers
	}
	return b
}

// ociChecks are the rules of checks.
func ociChecks(opts Options) []ociRule {
	rules := slices.Concat(
		ociThreads(), ociMemory(opts), ociDescriptors(), ociOptions(), ociLimits(), ociPriority(opts), ociTimers(),
		ociIdentity(opts),
	)
	written := ociRule{Names: writesFile, Action: ociErrno, ErrnoRet: errnoRet(0)}
	if opts.Writes {
		written = ociRule{Names: writesFile, Action: ociAllow}
	}
	if opts.Init {
		rules = append(rules, ociRule{Names: restricting, Action: ociAllow})
	}
	rules = append(rules, written, ociRule{Names: []string{moves}, Action: ociErrno, ErrnoRet: errnoRet(0)})
	if opts.Closed {
		return append(rules, ociClosed()...)
	}
	return append(rules, ociSockets()...)
}

// ociAllowed allows a call whose arguments are all so.
func ociAllowed(name string, args ...ociArg) ociRule {
	return ociRule{Names: []string{name}, Action: ociAllow, Args: args}
}

func errnoRet(e uint32) *uint32 { return &e }

// ociThreads are the rules of new threads and processes, and of what these wait for.
func ociThreads() (rules []ociRule) {
	rules = []ociRule{
		// C libraries fall back to clone. Said here, since Docker 20.10 knows no errno for what it does not list.
		{Names: []string{"clone3"}, Action: ociErrno, ErrnoRet: errnoRet(enosys)},
		ociAllowed("close_range", ociArg{Index: 2, Value: closeRangeUnshare, Op: ociMasked}),
	}
	for _, kind := range []uint64{cloneProcess, cloneVfork, cloneVM | cloneVfork, cloneVM | cloneThread | cloneFiles} {
		rules = append(
			rules, ociAllowed("clone", ociArg{Index: 0, Value: cloneJudged, ValueTwo: kind, Op: ociMasked}),
		)
	}
	shared := block{0, futexPrivate}.without(futexPrivate|futexCommand, slices.Concat(requeues, priorityInheritance)...)
	var own []uint32
	for _, operation := range priorityInheritance {
		own = append(own, futexPrivate|operation)
	}
	private := block{futexPrivate, futexPrivate}.without(futexPrivate|futexCommand, own...)
	for _, block := range append(shared, private...) {
		rules = append(rules, ociAllowed("futex", block.masked(1)))
	}
	return rules
}

// ociMemory are the rules of mappings, which a watchdog must be able to count.
func ociMemory(opts Options) (rules []ociRule) {
	for _, advice := range advicesTo(opts.Watched) {
		rules = append(rules, ociAllowed("madvise", word(advice).masked(2)))
	}
	if !opts.Watched {
		return append(
			rules, ociAllowed("mmap", ociArg{Index: 3, Value: mapHuge, Op: ociMasked}),
		)
	}
	// All but what is both shared and anonymous, or taken at once.
	for _, bit := range []uint64{mapShared, mapAnonymous} {
		rules = append(rules, ociAllowed("mmap", ociArg{Index: 3, Value: bit | mapAtOnce | mapHuge, Op: ociMasked}))
	}
	return rules
}

// ociTimers are the rules of timers.
func ociTimers() []ociRule {
	const real = 0 // ITIMER_REAL
	rules := []ociRule{
		{Names: timers, Action: ociErrno, ErrnoRet: errnoRet(enosys)},
		{
			Names: []string{"setitimer"}, Action: ociErrno, ErrnoRet: errnoRet(enosys),
			Args: []ociArg{word(real).masked(0)},
		},
	}
	for _, which := range cpuTimers {
		rules = append(rules, ociAllowed("setitimer", word(which).masked(0)))
	}
	return rules
}

// ociDescriptors are the rules of fcntl and ioctl.
func ociDescriptors() (rules []ociRule) {
	for _, v := range fcntls {
		rules = append(rules, ociAllowed("fcntl", word(v).masked(1)))
	}
	terminal := block{terminals, ioctlType}.without(
		ioctlCode, tiocsti, tioclinux, tioccons, tiocsetd, tiocsptlck, tiocgptpeer,
	)
	for _, block := range append(terminal, word(ficlone)) {
		rules = append(rules, ociAllowed("ioctl", block.masked(1)))
	}
	rules = append(
		rules, ociRule{Names: []string{"fallocate"}, Action: ociErrno, ErrnoRet: errnoRet(enotsup)},
		ociAllowed("renameat2", ociArg{Index: 4, Value: renameWhiteout, Op: ociMasked}),
	)
	return rules
}

// ociOptions are the rules of sockets' options, and of sending.
func ociOptions() (rules []ociRule) {
	for _, block := range blocksWithout(solSocket) {
		rules = append(rules, ociAllowed("setsockopt", block.masked(1)))
	}
	ofSocket := ociArg{Index: 1, Value: 0xffffffff, ValueTwo: solSocket, Op: ociMasked}
	for _, option := range socketOptions {
		rules = append(rules, ociAllowed("setsockopt", ofSocket, word(option).masked(2)))
	}
	return append(rules, ociAllowed("sendto", ociArg{Index: 3, Value: msgOOB, Op: ociMasked}))
}

// ociLimits are the rules of rlimits: a process can change its own but that of core dumps, and read all.
func ociLimits() (rules []ociRule) {
	for _, block := range blocksWithout(rlimitCore) {
		rules = append(
			rules, ociAllowed("setrlimit", block.masked(0)), ociAllowed("prlimit64", equal(0, 0), block.masked(1)),
		)
	}
	return append(rules, ociAllowed("prlimit64", equal(2, 0)))
}

// ociPriority are the rules of processes' priorities: not of a group, or of all that are a user's, nor of the init.
func ociPriority(opts Options) (rules []ociRule) {
	const prioGroup, prioUser = 1, 2
	set, ofProcess, others := []string{"setpriority"}, word(prioProcess).masked(0), []block{{}}
	refused := [][]ociArg{{word(prioGroup).masked(0)}, {word(prioUser).masked(0)}}
	if opts.Init {
		others = blocksWithout(initPID)
		refused = append(refused, []ociArg{ofProcess, word(initPID).masked(1)})
	}
	for _, block := range others {
		rules = append(rules, ociAllowed(set[0], ofProcess, block.masked(1)))
	}
	for _, args := range refused {
		rules = append(rules, ociRule{Names: set, Action: ociErrno, ErrnoRet: errnoRet(eperm), Args: args})
	}
	return rules
}

// ociIdentity are the rules of personality and prctl.
func ociIdentity(opts Options) (rules []ociRule) {
	for _, v := range []uint64{0, perQuery} {
		rules = append(rules, ociAllowed("personality", equal(0, v)))
	}
	for _, v := range prctlsFor(opts) {
		rules = append(rules, ociAllowed("prctl", equal(0, uint64(v))))
	}
	return rules
}

// ofStreams is the type of a socket of streams.
var ofStreams = ociArg{Index: 1, Value: sockType, ValueTwo: sockStream, Op: ociMasked}

func ociSockets() []ociRule {
	sockets := []string{"socket", "socketpair"}
	return []ociRule{
		{Names: sockets, Action: ociAllow, Args: []ociArg{equal(0, afUnix), ofStreams}},
		{
			Names: sockets, Action: ociErrno, ErrnoRet: errnoRet(eacces),
			Args: []ociArg{{Index: 0, Value: afUnix, Op: ociNotEqual}},
		},
	}
}

// closedCalls are those that ociClosed has rules for.
var closedCalls = []string{"chmod", "fchmod", "fchmodat", "fchmodat2", "creat", "open", "openat", "openat2"}

// ociClosed are the rules of closedRules.
func ociClosed() []ociRule {
	without := func(index, bits uint32) ociArg { return ociArg{Index: index, Value: uint64(bits), Op: ociMasked} }
	rules := []ociRule{
		{Names: []string{"socket"}, Action: ociErrno, ErrnoRet: errnoRet(eacces)},
		{Names: []string{"openat2"}, Action: ociErrno, ErrnoRet: errnoRet(enosys)},
		{Names: []string{"socketpair"}, Action: ociAllow, Args: []ociArg{
			equal(0, afUnix), ofStreams,
		}},
		{Names: []string{"creat"}, Action: ociAllow, Args: []ociArg{without(1, setIDs)}},
	}
	for _, name := range slices.Sorted(maps.Keys(changesMode)) { // the profile is named by its bytes
		mode := changesMode[name]
		rules = append(rules, ociRule{Names: []string{name}, Action: ociAllow, Args: []ociArg{without(mode, setIDs)}})
	}
	for _, name := range slices.Sorted(maps.Keys(opens)) {
		flags := opens[name]
		rules = append(
			rules, ociRule{Names: []string{name}, Action: ociAllow, Args: []ociArg{without(flags, makesFiles)}},
			ociRule{Names: []string{name}, Action: ociAllow, Args: []ociArg{without(flags+1, setIDs)}},
		)
	}
	return rules
}

func equal(index uint32, value uint64) ociArg {
	return ociArg{Index: index, Value: value, Op: ociEqual}
}

// A block is the numbers of 32 bits that have the same bits where its mask has them.
type block struct{ value, mask uint32 }

// masked compares the low half of an argument alone, which is what the kernel looks at.
func (b block) masked(index uint32) ociArg {
	return ociArg{Index: index, Value: uint64(b.mask), ValueTwo: uint64(b.value), Op: ociMasked}
}

// word is the block of one number.
func word(v uint32) block { return block{v, ^uint32(0)} }

// blocksWithout covers every number of 32 bits but those given.
func blocksWithout(except ...uint32) []block { return block{}.without(^uint32(0), except...) }

// without covers the numbers of b but those that are among the given ones in the bits of sight.
func (b block) without(sight uint32, except ...uint32) []block {
	if !slices.ContainsFunc(except, func(x uint32) bool { return x&b.mask == b.value }) {
		return []block{b}
	}
	rest := sight &^ b.mask
	if rest == 0 {
		return nil
	}
	next := uint32(1) << (bits.Len32(rest) - 1)
	return append(
		block{b.value, b.mask | next}.without(sight, except...),
		block{b.value | next, b.mask | next}.without(sight, except...)...)
}
