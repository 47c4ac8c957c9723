package chaos

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A clock is the time of day as one process sees it that asks for it as Go does: the code that the kernel maps into
// every process, the vDSO. Before the process has run an instruction, that code is written over, in its memory alone:
// what it starts has the time of all others. The clock owns a handle of that memory; whoever has started the process
// closes it.
type clock struct {
	memory *os.File
	at     int64 // where the process looks up how many seconds its time of day is ahead
}

// detours are what clock_gettime is made to be: the system call and, where that was for CLOCK_REALTIME, which is 0, so
// many more seconds as the word behind the code says.
var detours = map[string]struct {
	symbol string
	code   []string
}{
	"amd64": {"__vdso_clock_gettime", []string{
		"b8e4000000",     // mov eax, 228
		"0f05",           // syscall
		"85ff",           // test edi, edi
		"750a",           // jnz ret
		"488b0d06000000", // mov rcx, [rip+6], the word
		"48010e",         // add [rsi], rcx
		"c3",             // ret
		"9090",           // the word is aligned: it changes at once
	}},
	"arm64": {"__kernel_clock_gettime", []string{
		"5f2403d5", // bti c
		"280e80d2", // mov x8, 113
		"e90300aa", // mov x9, x0
		"010000d4", // svc 0
		"a9000035", // cbnz w9, ret
		"a9000058", // ldr x9, the word
		"2a0040f9", // ldr x10, [x1]
		"4a01098b", // add x10, x10, x9
		"2a0000f9", // str x10, [x1]
		"c0035fd6", // ret
	}},
}

// startAhead starts a process whose time of day is so many seconds ahead.
func startAhead(cmd *exec.Cmd, seconds int64) (k *clock, err error) {
	runtime.LockOSThread() // which alone may tell the process to go on
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true} // it stops when it has become the program
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err = unix.Wait4(pid, &status, 0, nil); err == nil {
		if k, err = openClock(pid); err == nil {
			err = errors.Join(k.jump(seconds), unix.PtraceDetach(pid))
		}
	}
	if err != nil {
		k.close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("giving process %d a clock (%v): %w", pid, status, err)
	}
	return k, nil
}

// openClock puts the detour into a process that is stopped.
func openClock(pid int) (k *clock, err error) {
	detour := detours[runtime.GOARCH]
	code, err := hex.DecodeString(strings.Join(detour.code, ""))
	if err != nil || len(code) == 0 {
		return nil, fmt.Errorf("no detour for %s: %w", runtime.GOARCH, errors.Join(err, errors.ErrUnsupported))
	}
	base, err := auxiliary(pid, 33) // AT_SYSINFO_EHDR
	if err != nil {
		return nil, err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	at, err := function(memory, base, detour.symbol, uint64(len(code)+8))
	if err == nil {
		_, err = memory.WriteAt(code, at)
	}
	if err != nil {
		memory.Close()
		return nil, err
	}
	return &clock{memory, at + int64(len(code))}, nil
}

// auxiliary is what the kernel tells a process of one thing (getauxval(3)).
func auxiliary(pid int, key uint64) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	for ; len(data) >= 16; data = data[16:] {
		if binary.NativeEndian.Uint64(data) == key {
			return binary.NativeEndian.Uint64(data[8:]), nil
		}
	}
	return 0, fmt.Errorf("the process has no vDSO (%w)", errors.Join(err, errAsShown))
}

// function is where a function of the vDSO is that has so much room.
func function(memory io.ReaderAt, base uint64, name string, room uint64) (int64, error) {
	image, err := elf.NewFile(io.NewSectionReader(memory, int64(base), math.MaxInt64-int64(base)))
	if err != nil {
		return 0, err
	}
	symbols, err := image.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == name && s.Size >= room {
			return int64(base + s.Value), nil
		}
	}
	return 0, fmt.Errorf("the vDSO has no %s with room for a detour (%w)", name, errors.Join(err, errAsShown))
}

// jump makes the time of day be so many seconds ahead. It fails once the process has ended.
func (k *clock) jump(seconds int64) error {
	_, err := k.memory.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), k.at)
	return err
}

// close gives the handle back; the process keeps the time it has.
func (k *clock) close() {
	if k != nil {
		k.memory.Close()
	}
}

// errNeedsClock says that this kernel, or who watches over processes here, lets nobody write to another's vDSO.
var errNeedsClock = errors.New("needs codemodes with a time of day of their own")

// noClock says why there can be none here, as a process of this program's tells what time it has.
var noClock = sync.OnceValue(func() error {
	var out strings.Builder
	cmd := exec.Command(programs["date"])
	cmd.Stdout = &out
	k, err := startAhead(cmd, farAhead)
	if err == nil {
		err = cmd.Wait()
		k.close()
	}
	seen, notOne := strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	late := time.Now().Unix() + farAhead - seen
	if err = errors.Join(err, notOne); err == nil && (late < 0 || late > 60) {
		err = fmt.Errorf("it is late by %d s", late)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNeedsClock, err)
	}
	return nil
})

// jumping has the time of day jump while something is done, at moments that the seed says.
func (k *clock) jumping(seed uint64, do func() error) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rng.IntN(300)) * time.Millisecond):
				_ = k.jump(anyTime(rng)) // it may have ended
			}
		}
	}()
	err := do()
	close(stop)
	<-stopped
	return err
}

// jump has it be another time of day for the machine's codemodes.
func (m *machine) jump(seconds int64) {
	m.ahead = seconds
	if m.now != nil && m.now.clock != nil {
		_ = m.now.clock.jump(seconds) // it may have ended
	}
}

// command runs a codemode that soon ends by itself, while the time of day jumps.
func (m *machine) command(seed uint64, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, programs["codemode"], args...)
	cmd.WaitDelay = time.Second // for what has its output, too
	cmd.Env, cmd.Dir = m.environment(m.path("cache")), m.path("home")
	cmd.Stdout, cmd.Stderr = &out, &out
	k, err := m.launch(cmd)
	if err == nil {
		err = k.jumping(seed, func() error { return waitChild(cmd, func() {}) })
		k.close()
	}
	if err != nil {
		return fmt.Errorf("codemode %v: %w\n%s", args, err, &out)
	}
	return nil
}

// anyTime is how many seconds the time of day is ahead after a jump. Past 2157 a time of Go's has no clock beside it
// that nobody can set (package time, its source), so those of broken machines are the last: 1970, and 2106, where 32
// bits end.
func anyTime(rng *rand.Rand) int64 {
	switch rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return rng.Int64N(200) - 100
	case 2:
		return rng.Int64N(96*hour) - 48*hour
	case 3:
		return rng.Int64N(60*year) - 30*year
	case 4:
		return rng.Int64N(hour) - time.Now().Unix()
	default:
		return 1<<32 + rng.Int64N(hour) - time.Now().Unix()
	}
}

const farAhead = 100 * year

const (
	hour = 60 * 60
	year = 365 * 24 * hour
)
