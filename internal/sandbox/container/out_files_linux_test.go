package container

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// leaving starts a guest, and waits until it has left its files. The context is for taking them.
func leaving(t *testing.T, r *Runtime, code string) (sandbox.Sandbox, context.Context) {
	t.Helper()
	sb := start(t, r, code, func(s *sandbox.Spec) { s.Out = true })
	if line, err := bufio.NewReader(sb.Channel()).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	t.Cleanup(cancel)
	return sb, ctx
}

// TestOutFilesStopped: a guest may stop the Python that makes the archive, and nobody waits for that without end. One
// that stops what the engine starts there before it is that Python, which cannot be looked at, is ended.
func TestOutFilesStopped(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb, ctx := leaving(t, r, `
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
`)
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

// TestArchiverDisturbed: where memory ends, the kernel is to choose the Python that makes the archive, and not the
// container's first process (oom_score_adj). That it was killed is told, and that a guest has written into the archive,
// where no Landlock keeps it from that.
func TestArchiverDisturbed(t *testing.T) {
	written := tar.ErrHeader
	if landlockHere() > 0 {
		written = nil
	}
	eachEngine(t, func(t *testing.T, r *Runtime) {
		disturbArchiver(t, r, `os.kill(int(pid), 9)`, errArchiverKilled)
		disturbArchiver(t, r, `os.write(os.open("/proc/%s/fd/1" % pid, os.O_WRONLY), b"x" * 512)`, written)
	})
}

// disturbArchiver has a guest do something to the process pid while it makes the archive.
func disturbArchiver(t *testing.T, r *Runtime, does string, want error) {
	t.Helper()
	sb := start(t, r, `
with open("/workspace/out/file", "wb") as file:
    file.write(b"x" * (1 << 20))
tell(ready=True)
import time
def disturb():
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for pid in os.listdir("/proc"):
            try:
                if pid.isdigit() and int(pid) not in (1, os.getpid()):
                    with open("/proc/%s/oom_score_adj" % pid) as file:
                        if file.read() == "1000\n":
                            tell(begins=True)
                            `+does+`
                            return
            except OSError:
                pass
disturb()
time.sleep(30)
`, func(s *sandbox.Spec) { s.Out = true })
	lines := bufio.NewReader(sb.Channel())
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begins := sync.OnceValue(func() error { // the archive is longer than what is read ahead of it
		_, err := lines.ReadString('\n')
		return err
	})
	err := sb.OutFiles(ctx, nil, func(f sandbox.OutFile) error {
		if err := begins(); err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, f.Content) // the next header says that it is no archive any more
		return nil
	})
	if !errors.Is(err, want) {
		t.Errorf("it ended as %v, want %v", err, want)
	}
}

// TestOutFilesByName: a file whose path is too long is told of, and keeps no other from being saved. Nobody waits for
// what comes behind the archive's end.
func TestOutFilesByName(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb, ctx := leaving(t, r, `
os.chdir("/workspace/out")
for n in range(16):
    os.mkdir("a" * 250)
    os.chdir("a" * 250)
open("long" + "b" * 200, "w").close()
os.mkdir("folder" + "c" * 200)
open("/workspace/out/file", "w").close()
tell(ready=True)
import time
time.sleep(60)
`)
		got := map[string]error{}
		err := sb.OutFiles(ctx, nil, func(f sandbox.OutFile) error {
			got[strings.TrimRight(path.Base(f.Name), "bc")] = f.Err
			return nil
		})
		want := map[string]error{"file": nil, "long": sandbox.ErrNotRegular, "folder": sandbox.ErrTooDeep}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestOutFilesByLink: where code has made a link of the folder, nothing is read of where it leads.
func TestOutFilesByLink(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb, ctx := leaving(t, r, `
os.rmdir("/workspace/out")
os.symlink("/etc", "/workspace/out")
tell(ready=True)
import time
time.sleep(60)
`)
		err := sb.OutFiles(ctx, nil, func(f sandbox.OutFile) error { return fmt.Errorf("%s is read", f.Name) })
		if err == nil || strings.Contains(err.Error(), "is read") {
			t.Errorf("of a folder that is a link: %v", err)
		}
	})
}
