package bridge

import (
	"testing"

	"codemode/internal/sandbox"
)

func TestHowAGuestDied(t *testing.T) {
	for _, c := range []struct {
		exit  sandbox.Exit
		ended Ending
		code  int
		says  string
	}{
		{sandbox.Exit{Cause: sandbox.ExitMemory, Signal: 9}, EndStopped, 137, "out of memory (limit 512 MB)"},
		{
			sandbox.Exit{Cause: sandbox.ExitPipes, Signal: 9},
			EndStopped, 137,
			"too many pipes (limit 256, less while others use up what the user may have)",
		},
		{
			sandbox.Exit{Cause: sandbox.ExitWatches, Signal: 9},
			EndStopped, 137,
			"too many epoll entries (limit 16384, less while others use up what the user may have)",
		},
		{
			sandbox.Exit{Cause: sandbox.ExitLocks, Signal: 9},
			EndStopped, 137,
			"too many locks on parts of files (limit 16384)",
		},
		{
			sandbox.Exit{Cause: sandbox.ExitKernelFiles, Signal: 9},
			EndStopped, 137,
			"too many open files of /proc and /sys (limit 256; 16 that tell of maps, locks or variables; none of " +
				"another process's memory)",
		},
		{sandbox.Exit{Cause: sandbox.ExitFolders, Signal: 9}, EndStopped, 137, "too many open folders (limit 2048)"},
		{sandbox.Exit{Cause: sandbox.ExitTerminals, Signal: 9}, EndStopped, 137, "too many terminals (limit 64)"},
		{sandbox.Exit{Signal: 11}, EndSignal, 139, "Python was killed by signal 11 (segmentation fault)"},
		{sandbox.Exit{Code: 7}, EndSelf, 7, "Python ended before the code was done (exit code 7)"},
	} {
		out := died(c.exit, 512<<20)
		if out.Status != StatusError || !out.Lost || out.Ended != c.ended || out.ExitCode != c.code || out.Error != c.says {
			t.Errorf("%+v: %+v, want %q", c.exit, out, c.says)
		}
	}
}
