package chaos

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"codemode/internal/proc/proctest"
	"codemode/internal/require"
	"codemode/internal/sandbox/sandboxtest"
)

// results are what the tests of this process have seen; mu guards them.
var (
	mu      sync.Mutex
	results = Results{Faults: map[string]Seen{}}
)

var errNeedsDisks = errors.New("needs file systems of its own, as root has them")

// all tells whether the gate asks for everything.
func all() bool {
	return require.Named("random")
}

// TestChaos has faults meet codemodes for some time, each as often as the others, in random order.
func TestChaos(t *testing.T) {
	length := 45 * time.Second
	if *forFlag > 0 {
		length = *forFlag
	} else {
		require.OptIn(t, "random")
	}
	names := slices.Sorted(maps.Keys(injections))
	over := time.Now().Add(length)
	sideBySide(t, 2, 2, nil, func(m *machine) {
		for {
			for _, i := range m.rng.Perm(len(names)) {
				if time.Now().After(over) || t.Failed() {
					return
				}
				m.meets(names[i], injections[names[i]])
			}
		}
	})
}

// TestSignals has codemode be told to end, and killed, at 160 random moments.
func TestSignals(t *testing.T) {
	moments, unpackings := 20, 0
	if all() {
		moments, unpackings = 160, 1
	}
	names := slices.Sorted(maps.Keys(signals))
	const machines = 4 // which wait most of the time
	sideBySide(t, machines, 0, nil, func(m *machine) {
		for range moments / machines {
			if t.Failed() {
				return
			}
			name := names[m.rng.IntN(len(names))]
			m.meets(name, func(*codemode) error { return m.moment(signals[name]) })
		}
		for range unpackings {
			name := names[m.rng.IntN(len(names))]
			m.meets(name, func(*codemode) error { return m.unpacked(signals[name], 1) })
		}
	})
}

// meets has a fault happen, and notes whether codemode has survived it.
func (m *machine) meets(name string, inject injection) {
	c, err := m.alive()
	began := time.Now()
	if err == nil {
		err = inject(c)
	}
	if (errors.Is(err, errNeedsDisks) || errors.Is(err, errNeedsClock)) && !all() {
		m.t.Logf("%s: %v", name, err)
		return
	}
	after := time.Now()
	err = errors.Join(err, m.works())
	took := time.Since(after)
	mu.Lock()
	defer mu.Unlock()
	seen := results.Faults[name]
	seen.Times++
	seen.Slowest = max(seen.Slowest, took.Seconds())
	if err != nil {
		seen.Failed++
		m.t.Errorf("%s, %v after it began: %v", name, time.Since(began).Round(time.Millisecond), err)
	}
	results.Faults[name] = seen
}

// seed is that of all tests of this process.
var seed = sync.OnceValue(func() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return 1 + uint64(rand.Uint32())
})

// sideBySide prints the seed and gives each machine its part of what follows from it. With an engine, guests are in its
// containers.
func sideBySide(t *testing.T, machines, busy int, e *engine, work func(*machine)) {
	if e == nil {
		prepare(t)
	}
	t.Logf("seed %d: go test ./chaos -run %s -seed %d", seed(), t.Name(), seed())
	began := time.Now()
	before := sandboxtest.TakeLeftovers(t)
	t.Cleanup(func() { before.Check(t) })
	if e != nil {
		e.begin(t)
	}
	all := make([]*machine, machines)
	for i := range all {
		all[i] = newMachine(t, rand.New(rand.NewPCG(seed(), uint64(i))), busy, e)
	}
	var group sync.WaitGroup
	for _, m := range all {
		group.Go(func() {
			work(m)
			m.close()
		})
	}
	group.Wait()
	mu.Lock()
	defer mu.Unlock()
	results.Seed, results.Date = seed(), time.Now().Format(time.DateOnly)
	results.Seconds += int(time.Since(began).Seconds())
	for _, m := range all {
		runs, saved, lines := m.tally()
		results.Runs, results.Saved, results.Lines = results.Runs+runs, results.Saved+saved, results.Lines+lines
	}
	for _, name := range slices.Sorted(maps.Keys(results.Faults)) {
		t.Logf("%s: %+v", name, results.Faults[name])
	}
	t.Logf("%d runs, %d tools, %d lines", results.Runs, results.Saved, results.Lines)
}

var unpacked sync.Once

// prepare unpacks the Python that all machines share.
func prepare(t *testing.T) {
	t.Helper()
	var why string
	unpacked.Do(func() {
		cmd := exec.Command(programs["codemode"], "exec", "--runtime", "native", "-c", "pass")
		cmd.Env = append(
			os.Environ(), "XDG_CACHE_HOME="+sharedCache, "XDG_STATE_HOME="+t.TempDir(),
			proctest.Variable+"="+proctest.Mark(t),
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			why = err.Error() + ": " + string(out)
		}
	})
	if why != "" {
		require.Lacking(t, "native", "no sandbox can be started: %s", why)
	}
}

// TestEveryFault holds that every fault of the table can be brought about, or says where it is.
func TestEveryFault(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Faults {
		known[f.Name] = true
		if injections[f.Name] == nil && signals[f.Name] == 0 && f.Name != engineKilled {
			t.Errorf("nothing brings about %q", f.Name)
		}
	}
	tried := slices.Concat(
		slices.Collect(maps.Keys(injections)), slices.Collect(maps.Keys(signals)), []string{engineKilled},
	)
	for _, name := range tried {
		if !known[name] {
			t.Errorf("%q is not in the table", name)
		}
	}
}
