package container

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// TestOutFilesStopped: a guest may stop the Python that makes the archive, and nobody waits for that without end. One
// that stops what the engine starts there before it is that Python, which cannot be looked at, is ended.
func TestOutFilesStopped(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb := start(t, r, `
open("/workspace/out/file", "w").close()
tell(ready=True)
import time
until = time.monotonic() + 60
while time.monotonic() < until:
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) not in (1, os.getpid()):
            try:
                os.kill(int(pid), 19)
            except OSError:
                pass
`, func(s *sandbox.Spec) { s.Out = true })
		if line, err := bufio.NewReader(sb.Channel()).ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		err := sb.OutFiles(ctx, nil, func(sandbox.OutFile) error { return nil })
		if errors.Is(err, errSilent) {
			return
		}
		select {
		case <-sb.Done():
			if cause := sb.Exit().Cause; err == nil || cause != sandbox.ExitUnreadable {
				t.Errorf("the files of a guest that stops who archives them: %v; it was ended for %v", err, cause)
			}
		case <-ctx.Done():
			t.Errorf("the files of a guest that stops who archives them: %v", err)
		}
	})
}

// TestOutFilesByLink: where code has made a link of the folder, nothing is read of where it leads.
func TestOutFilesByLink(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb := start(t, r, `
os.rmdir("/workspace/out")
os.symlink("/etc", "/workspace/out")
tell(ready=True)
import time
time.sleep(60)
`, func(s *sandbox.Spec) { s.Out = true })
		if line, err := bufio.NewReader(sb.Channel()).ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		err := sb.OutFiles(ctx, nil, func(f sandbox.OutFile) error { return fmt.Errorf("%s is read", f.Name) })
		if err == nil || strings.Contains(err.Error(), "is read") {
			t.Errorf("of a folder that is a link: %v", err)
		}
	})
}
