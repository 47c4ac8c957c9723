package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"codemode/internal/proc"
	"codemode/internal/proc/proctest"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// TestProgramOutlivesNobody holds that a program ends when codemode is killed: in its own time if it takes no longer
// than its grace.
func TestProgramOutlivesNobody(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		for name, script := range map[string]string{
			"at the end of its input": `(setsid sleep 1000 &); echo ready; cat; echo closed > ` + h.write + `/end`,
			"against its will":        `trap "" TERM HUP INT; (setsid sleep 1000 &); echo ready; while :; do sleep 0.01; done`,
		} {
			t.Run(name, func(t *testing.T) {
				host := exec.Command("/proc/self/exe")
				host.Env = []string{
					programHost + "=" + script, "HOME=" + h.home, "METHOD=" + h.method, "WRITE=" + h.write,
					proctest.Variable + "=" + h.mark, "GORACE=atexit_sleep_ms=0",
				}
				out, err := host.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				var pid int
				var line string
				_, err = fmt.Fscan(out, &pid, &line)
				_ = host.Process.Kill()
				_ = host.Wait()
				if err != nil || line != "ready" {
					t.Fatalf("it says %d %q, %v", pid, line, err)
				}
				// The kernel ends a pid namespace with its first process.
				for deadline := time.After(2 * time.Minute); ; {
					// Orphans are this process's children, see TakeLeftovers.
					if ended, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); ended == pid ||
						errors.Is(err, syscall.ECHILD) {
						break
					}
					select {
					case <-deadline:
						t.Fatalf("process %d is left", pid)
					case <-time.After(5 * time.Millisecond):
					}
				}
				if syscall.Kill(pid, 0) == nil {
					t.Errorf("process %d is left", pid)
				}
			})
		}
		// bubblewrap ends at once with who started it.
		if b, err := os.ReadFile(h.write + "/end"); h.method == "" && err != nil {
			t.Errorf("its last words are %q, %v", b, err)
		}
	})
}

// BenchmarkProgramStart compares the start and end of a program in a sandbox with one below a guard.
func BenchmarkProgramStart(b *testing.B) {
	programs := sandbox.NewPrograms(sandbox.ProgramOptions{})
	for name, starter := range map[string]proc.Starter{"guarded": nil, "sandboxed": programs.Starter(sandbox.Restrictions{})} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := proc.Start(b.Context(), proc.Spec{
					Path: "/bin/sh", Args: []string{"-c", "exit 0"}, Dir: "/", Start: starter,
					Env: []string{"HOME=" + b.TempDir(), "PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"},
				})
				if err != nil {
					b.Fatal(err)
				}
				<-p.Done()
				_ = p.Stop(0)
			}
		})
	}
}

func systemPython(t *testing.T) string {
	t.Helper()
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		require.Lacking(t, "python", "%v", err)
	}
	return python
}

// programHost makes the test binary a program that starts a script in a sandbox and waits to be killed.
const programHost = "CODEMODE_TEST_PROGRAM_HOST"

func init() {
	script := os.Getenv(programHost)
	if script == "" {
		return
	}
	programs := sandbox.NewPrograms(sandbox.ProgramOptions{})
	if method := os.Getenv("METHOD"); method != "" {
		sandbox.UseMethodOf(programs, method)
	}
	p, err := proc.Start(context.Background(), proc.Spec{
		Path:  "/bin/sh",
		Args:  []string{"-c", script},
		Dir:   "/",
		Start: programs.Starter(sandbox.Restrictions{Write: []string{os.Getenv("WRITE")}}),
		Env: []string{
			"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME"), proctest.Variable + "=" + os.Getenv(proctest.Variable),
		},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	_, _ = io.Copy(os.Stdout, p.Stdout())
	<-p.Done()
	os.Exit(0)
}

// TestReplacedFile replaces a file for as long as sandboxes that show it are started, as ldconfig replaces
// /etc/ld.so.cache.
func TestReplacedFile(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		dir, err := os.MkdirTemp("/var/tmp", "codemode-test-") // the new root is built over /tmp
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		file := dir + "/replaced"
		replace := func() error {
			return errors.Join(os.WriteFile(file+"~", []byte("content"), 0o644), os.Rename(file+"~", file))
		}
		if err := errors.Join(os.Chmod(dir, 0o755), replace()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		replaced := make(chan error)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				err = replace()
			}
			replaced <- err
		}()
		for range 20 {
			if out, err := newHousehold(t).run(t, sandbox.Restrictions{Read: []string{file}}, "cat "+file); err != nil ||
				out != "content" {
				t.Errorf("%q, %v", out, err)
				break
			}
		}
		stop()
		if err := <-replaced; err != nil {
			t.Error(err)
		}
	})
}
