package commands

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectLater: the first collection comes late, those after it as usual; what the user has set stays.
func TestCollectLater(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualGC))
	percent := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	env := Env{Lookup: func(string) (string, bool) { return "50", true }}
	if collectLater(env); percent() != usualGC {
		t.Errorf("with GOGC it is %d", percent())
	}
	env.Lookup = func(string) (string, bool) { return "", false }
	if collectLater(env); percent() != laterGC {
		t.Errorf("before a collection it is %d, want %d", percent(), laterGC)
	}
	for percent() != usualGC && t.Context().Err() == nil { // the cleanup has a goroutine of its own
		runtime.GC()
	}
}
