package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/config"
	"codemode/internal/require"
)

// What is in use at the end of TestManyRuns may be this much more than after its first runs.
const (
	moreGoroutines  = 8 // of timers and children that are on their way out
	moreDescriptors = 8
	moreMemory      = 24 << 20 // the collector's own leeway
)

// TestManyRuns has 50 sessions use 10 servers, 16 at a time, for many runs: what is done, what goes wrong and what
// is broken off by chance. What codemode holds then is what it held after the first of them.
func TestManyRuns(t *testing.T) {
	const sessions, upstreams, atOnce = 50, 10, 16
	if testing.Short() {
		t.Skip("under -short, what one run does is watched by others")
	}
	first, runs := 60, 120
	if require.Named("soak") {
		first, runs = 300, 900
	}
	servers := make([]config.Server, upstreams)
	for i := range servers {
		servers[i] = fake("up" + strconv.Itoa(i))
	}
	servers = append(servers, fake("doomed")) // the calls of others do not go to one that crashes
	k := saving(t, newKit(t, func(o *Options) {
		o.Config.Audit = config.Audit{MaxSize: 1 << 20, Keep: 3}
		o.AuditDir = filepath.Join(t.TempDir(), "audit")
	}, servers...))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	made := 0
	many := func(from, to int) {
		var all sync.WaitGroup
		next := make(chan int)
		for w := range atOnce {
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(from<<8|w)))
				s := streak{}
				for n := range next {
					if s.left--; s.left < 0 {
						// a session costs the start of a Python, where there are more than are kept
						s = streak{session: "s" + strconv.Itoa(r.IntN(sessions)), left: r.IntN(30)}
					}
					if err := s.one(k.Bridge, r); err != nil {
						t.Errorf("run %d: %v", n, err)
					}
				}
			})
		}
		for n := from; n < to && !t.Failed(); n++ {
			next <- n
			made++
		}
		close(next)
		all.Wait()
	}
	k.text("print('x' * 500_000)") // the folder of large outputs is made once
	many(0, first)
	before := k.inUse()
	began := time.Now()
	many(first, runs)
	took := time.Since(began)
	after := k.inUse()
	t.Logf("%d runs in %v; after %d: %+v; now: %+v", made-first, took.Round(time.Second), first, before, after)
	for _, c := range []struct {
		what                string
		before, after, more int
	}{
		{"goroutines", before.goroutines, after.goroutines, moreGoroutines},
		{"descriptors", before.descriptors, after.descriptors, moreDescriptors},
		{"bytes of memory", before.memory, after.memory, moreMemory},
		{"files", before.files, after.files, 0},
		{"processes", before.processes, after.processes, 0},
	} {
		if c.what == "bytes of memory" && !require.Named("soak") {
			continue // it takes hundreds of runs until all is as large as it gets
		}
		if c.after > c.before+c.more {
			t.Errorf("%s: %d, and %d after the first runs", c.what, c.after, c.before)
		}
	}
}

// resources are what a codemode holds while nothing runs.
type resources struct{ goroutines, descriptors, memory, files, processes int }

// inUse brings the bridge into a state that it has been in before, with as many sessions, servers and large outputs as
// it ever keeps, and looks.
func (k *kit) inUse() resources {
	k.t.Helper()
	servers := []string{"doomed"} // which a search may have started, or a call ended
	for i := range 10 {
		servers = append(servers, "up"+strconv.Itoa(i))
	}
	for i := range maxSessions {
		req := Request{
			Session: "idle" + strconv.Itoa(i),
			Code:    "await mcp_servers['" + servers[i%len(servers)] + "'].echo(message='x')",
		}
		if out := k.run(req); out.Status != StatusSuccess {
			k.t.Errorf("%s: %s", req.Session, out.compact())
		}
	}
	var now, last resources
	same := 0
	k.eventually("what is in use settles", func() bool { // what was pushed out ends beside the runs, at times late
		<-time.After(200 * time.Millisecond)
		last, now = now, resources{
			goroutines:  runtime.NumGoroutine(),
			descriptors: len(entries(k.t, "/proc/self/fd")),
			files:       len(entries(k.t, os.Getenv("TMPDIR"))),
			processes:   descendants("self"),
		}
		if same++; now != last {
			same = 0
		}
		return same == 4
	})
	debug.FreeOSMemory()
	now.memory = resident(k.t)
	return now
}

func entries(t testing.TB, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// resident is how much memory this process has, in bytes.
func resident(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(status))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// descendants counts the processes below one, zombies too.
func descendants(pid string) (n int) {
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, name := range tasks {
		children, _ := os.ReadFile(name) // of a thread that has ended
		for child := range strings.FieldsSeq(string(children)) {
			n += 1 + descendants(child)
		}
	}
	return n
}

// A streak is a worker's use of one session, which others may use or push out meanwhile.
type streak struct {
	session string
	left    int
}

// one makes a run and compares what came of it with what should.
func (s *streak) one(b *Bridge, r *rand.Rand) error {
	run := soakedAt(r.IntN(1000))
	with := strings.NewReplacer("UP", fmt.Sprintf("mcp_up%d", r.IntN(10)), "WORD", strconv.FormatUint(r.Uint64(), 36))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if run.cancelled {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(300))*time.Millisecond)
		defer cancel()
	}
	out := b.Run(ctx, Request{Session: s.session, Code: with.Replace(run.code), Timeout: cmp.Or(run.timeout, patience)})
	if want := with.Replace(run.says); out.Status != run.status || !strings.Contains(out.compact(), want) {
		return errors.Join(fmt.Errorf("%s, and %q is missing in: %.2000s", out.Status, want, out.compact()), out.Err)
	}
	return nil
}

// soaked is a run, what must come of it, and what its result must say.
type soaked struct {
	share     int // of a thousand
	code      string
	status    Status
	says      string
	timeout   time.Duration
	cancelled bool // at some moment
}

var soakedRuns = []soaked{
	{share: 400, code: "print(await UP.echo(message='WORD'))", status: StatusSuccess, says: "WORD"},
	{
		share:  150,
		code:   "sum(map(len, await asyncio.gather(*(mcp_servers[f'up{i}'].big(n=1000) for i in range(10)))))",
		status: StatusSuccess, says: "result: 10000",
	},
	{share: 100, code: "kept = 'WORD'; kept", status: StatusSuccess, says: "WORD"},
	{share: 80, code: "len(await UP.big(n=1 << 20))", status: StatusSuccess, says: "result: 1048576"},
	{share: 60, code: "print('WORD' * 50_000)", status: StatusSuccess, says: "WORDWORD"},
	{share: 50, code: "await runtime.search_tool_docs('echo a message', limit=2)", status: StatusSuccess, says: "echo"},
	{share: 40, code: "await UP.multi()", status: StatusSuccess, says: "image/png"},
	{share: 30, code: "raise ValueError('WORD')", status: StatusError, says: "ValueError: WORD"},
	{share: 30, code: "await UP.fail(message='WORD')", status: StatusError, says: ".fail(message='WORD'): WORD"},
	{share: 20, code: "import time\ntime.sleep(999)", status: StatusCancelled, says: "cancelled", cancelled: true},
	{
		share: 15, code: "await UP.slow(ms=60_000)", status: StatusTimeout, says: "timeout after",
		timeout: 50 * time.Millisecond,
	},
	{
		share: 10, code: "def report(): return 'WORD'\nsave_tool(report, replace=True)", status: StatusSuccess,
		says: "report",
	},
	{share: 7, code: "import os\nos._exit(4)", status: StatusError, says: "exit: 4"},
	{
		share: 4, code: "import subprocess\nsubprocess.Popen(['sleep', '999'], process_group=0).pid > 0",
		status: StatusSuccess, says: "True",
	},
	{
		share: 3, code: "while True:\n    try: asyncio.current_task\n    except BaseException: pass",
		status: StatusTimeout, says: "timeout after", timeout: 50 * time.Millisecond,
	},
	{
		share: 1, code: "try: await mcp_doomed.crash()\nexcept mcp.MCPError as e: print('it has gone')",
		status: StatusSuccess, says: "it has gone",
	},
}

// soakedAt is the run at a place in a thousand.
func soakedAt(place int) (s soaked) {
	for _, s = range soakedRuns {
		if place -= s.share; place < 0 {
			break
		}
	}
	return s
}
