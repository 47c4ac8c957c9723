package container

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"codemode/internal/sandbox"
)

// fencePath is where a server's pod has the program that holds it to its folders.
const fencePath = sandbox.GuestDir + "/fence"

// A fence has Landlock hold a process to writing to some places, and executes its first argument with the others. An
// image of a server need not have more than sh, which makes no system calls by number, so it is a program of its own.
// It is that small because it goes to the pod on a command line. A failure of anything ends it with exit code 1.
type fence struct {
	name    string // of the machine, as uname has it
	machine elf.Machine
	code    []string // instructions in hex, see fences
}

// Before a fence's paths stands what of its rights holds for each.
const (
	fenceFolder = "\xff" // sign-extended, it is all of them
	fenceDevice = "\x02" // LANDLOCK_ACCESS_FS_WRITE_FILE
)

// fenceWritable are where a server writes: in memory, to devices, and to terminals of its own.
var fenceWritable = []string{
	fenceFolder + "/tmp", fenceFolder + "/dev/shm", fenceFolder + sandbox.WorkDir, fenceFolder + sandbox.GuestDir,
	fenceFolder + "/dev/pts", fenceDevice + "/dev/ptmx", fenceDevice + "/dev/tty", fenceDevice + "/dev/null",
	fenceDevice + "/dev/zero", fenceDevice + "/dev/full", fenceDevice + "/dev/random", fenceDevice + "/dev/urandom",
}

// fences are those of each machine. The rights are all to write that Landlock has from its version 3 on, or of its
// own one where that is lower: bits 1 and 4 to 11+version. What it is called with is on its stack: argc, argv, envp.
var fences = []fence{
	{"x86_64", elf.EM_X86_64, []string{
		"4989e431ff31f6ba01000000b8bc0100000f05",               // version = landlock_create_ruleset(0, 0, 1)
		"85c00f8eb5000000",                                     // if version <= 0 goto fail
		"b90300000039c80f4cc8bb00100000d3e383eb0183e3f253",     // rights = (0x1000<<min(version, 3) - 1) &^ 0xd
		"4889e7be0800000031d2b8bc0100000f05",                   // rules = landlock_create_ruleset(&rights, 8, 0)
		"85c00f88840000004189c5",                               // if rules < 0 goto fail
		"4c8d3586000000",                                       // at = places
		"4d0fbe3e4585ff7449",                                   // next: its = int8(*at); if its == 0 goto done
		"49ffc6bf9cffffff4c89f6ba000028004531d2b8010100000f05", // file = openat(-100, ++at, O_PATH|O_CLOEXEC, 0)
		"85c0781f", // if file < 0 goto skip
		"4921df5041574489efbe01000000" + // e = landlock_add_rule(rules, 1, {its & rights, file}, 0)
			"4889e24531d2b8bd0100000f05",
		"85c07834",                     // if e < 0 goto fail
		"49ffc641807eff0075f6ebae",     // skip: until *at++ == 0; goto next
		"4489ef31f6b8be0100000f05",     // done: e = landlock_restrict_self(rules, 0)
		"85c07818",                     // if e < 0 goto fail
		"498b0c24498d742410498d54cc10", // argv++; envp = argv + argc
		"488b3eb83b0000000f05",         // execve(argv[0], argv, envp)
		"bf01000000b83c0000000f05",     // fail: exit(1)
	}},
	{"aarch64", elf.EM_AARCH64, []string{ // the same
		"f3030091000080d2010080d2220080d2883780d2010000d4",
		"1f000071cd060054",
		"610080521f00016b00b0811a140082529422c01a9406005194761c12947a1f12f40f1ff8",
		"e0030091010180d2020080d2883780d2010000d4",
		"1f000071cb040054f503002a",
		"f6040010",
		"d7168038d70200b4",
		"600c8092e10316aa0205a0d2030080d2080780d2010000d4",
		"1f0000716b010054",
		"f702148af703bfa9e003152a210080d2e2030091030080d2a83780d2010000d4",
		"1f0000710b020054",
		"c0164038e0ffff35eaffff17",
		"e003152a010080d2c83780d2010000d4",
		"1f000071eb000054",
		"600240f961420091220c008b",
		"200040f9a81b80d2010000d4",
		"200080d2a80b80d2010000d4",
	}},
}

// program is a fence as a file: an ELF header, that of its one segment, its code and its places.
func (f fence) program(places []string) []byte {
	code, err := hex.DecodeString(strings.Join(f.code, ""))
	if err != nil {
		panic(err) // a constant
	}
	code = append(append(code, strings.Join(places, "\x00")...), 0, 0)
	const address = 0x400000
	head := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(f.machine), Version: uint32(elf.EV_CURRENT),
		Ehsize: uint16(binary.Size(elf.Header64{})), Phentsize: uint16(binary.Size(elf.Prog64{})), Phnum: 1,
	}
	copy(head.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	head.Phoff = uint64(head.Ehsize)
	start := head.Phoff + uint64(head.Phentsize)
	head.Entry = address + start
	segment := elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: address, Paddr: address,
		Filesz: start + uint64(len(code)), Memsz: start + uint64(len(code)), Align: 0x10000,
	}
	var b bytes.Buffer
	for _, part := range []any{head, segment, code} {
		_ = binary.Write(&b, binary.LittleEndian, part) // never fails: all have a fixed size
	}
	return b.Bytes()
}

// makeFence writes the fence for the machine that sh is on, and says "fenced" from within it. It must be the fence that
// does so: sh takes what the kernel does not execute for a script.
func makeFence() string {
	var s strings.Builder
	s.WriteString("case $(uname -m) in\n")
	for _, f := range fences {
		fmt.Fprintf(&s, "%s) printf '", f.name)
		for _, c := range f.program(fenceWritable) {
			fmt.Fprintf(&s, `\%03o`, c)
		}
		s.WriteString("' ;;\n")
	}
	fmt.Fprintf(&s, "esac >%[1]s\nchmod 500 %[1]s\n"+`%[1]s "$(command -v sh)" -c 'echo fenced' || :`+"\n", fencePath)
	return s.String()
}
