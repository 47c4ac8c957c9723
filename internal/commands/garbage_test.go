package commands

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestTuneGC: the first collection comes late, those after it as usual; what the user has set stays.
func TestTuneGC(t *testing.T) {
	usual := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(usual)
	defer debug.SetGCPercent(debug.SetGCPercent(usualGC))
	percent := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	env := Env{Lookup: func(string) (string, bool) { return "50", true }}
	if tuneGC(env); percent() != usualGC {
		t.Errorf("with GOGC it is %d", percent())
	}
	if limit := debug.SetMemoryLimit(-1); limit != usual {
		t.Errorf("with GOMEMLIMIT it is %d", limit)
	}
	env.Lookup = func(string) (string, bool) { return "", false }
	if tuneGC(env); percent() != laterGC {
		t.Errorf("before a collection it is %d, want %d", percent(), laterGC)
	}
	if limit := debug.SetMemoryLimit(-1); limit != softMemory {
		t.Errorf("beyond %d bytes it takes twice as much", limit)
	}
	for percent() != usualGC && t.Context().Err() == nil { // the cleanup has a goroutine of its own
		runtime.GC()
	}
}
