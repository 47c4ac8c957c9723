package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codemode/internal/config"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
)

// benchRuntimes are the native runtime and those of the engines that are there.
func benchRuntimes(b *testing.B, test func(b *testing.B, rt sandbox.Runtime)) {
	b.Run("native", func(b *testing.B) {
		rt, err := native()
		if err != nil {
			b.Skip(err)
		}
		test(b, rt)
	})
	for _, engine := range []string{container.Podman, container.Docker} {
		b.Run(engine, func(b *testing.B) {
			rt := container.New(container.Options{Engine: engine, Image: pandasImage, CacheDir: filepath.Join(b.TempDir(), "cache"), Lookup: os.LookupEnv})
			if ok, err := rt.Image().Present(b.Context()); !ok {
				b.Skip("no image", err)
			}
			test(b, rt)
		})
	}
}

func benchBridge(b *testing.B, rt sandbox.Runtime, servers ...config.Server) *Bridge {
	bridge := New(Options{Config: testConfig(), Servers: servers, Runtime: rt, StateDir: b.TempDir(), Lookup: os.LookupEnv})
	b.Cleanup(func() { bridge.Close() })
	return bridge
}

func runCode(b *testing.B, bridge *Bridge, session, code string) {
	if o := bridge.Run(b.Context(), Request{Session: session, Code: code, Timeout: time.Minute}); o.Status != StatusSuccess {
		b.Fatalf("%+v", o)
	}
}

// BenchmarkFirstRun is the first run in a fresh session, without and with a sandbox that waits.
func BenchmarkFirstRun(b *testing.B) {
	benchRuntimes(b, func(b *testing.B, rt sandbox.Runtime) {
		for _, size := range []int{0, 1} {
			b.Run(fmt.Sprintf("pool=%d", size), func(b *testing.B) {
				pool := sandbox.NewPool(rt, size, 0, nil)
				bridge := benchBridge(b, pool)
				runCode(b, bridge, "first", "1")
				n := 0
				for b.Loop() {
					b.StopTimer()
					if size > 0 {
						for !pool.Full() {
							<-time.After(time.Millisecond)
						}
						<-time.After(300 * time.Millisecond) // for the guest to get ready
					}
					n++
					name := fmt.Sprint("s", n)
					b.StartTimer()
					runCode(b, bridge, name, "print(1)")
					b.StopTimer()
					s, _ := bridge.session(name)
					s.drop("")
					b.StartTimer()
				}
			})
		}
	})
}

func BenchmarkLaterRun(b *testing.B) {
	benchRuntimes(b, func(b *testing.B, rt sandbox.Runtime) {
		bridge := benchBridge(b, rt)
		runCode(b, bridge, "s", "1")
		for b.Loop() {
			runCode(b, bridge, "s", "print(1)")
		}
	})
}

// BenchmarkThousandCalls is one run that calls a tool a thousand times, one after the other.
func BenchmarkThousandCalls(b *testing.B) {
	benchRuntimes(b, func(b *testing.B, rt sandbox.Runtime) {
		bridge := benchBridge(b, rt, fake("data"))
		runCode(b, bridge, "s", "await mcp_data.echo('x')")
		for b.Loop() {
			runCode(b, bridge, "s", "for _ in range(1000): await mcp_data.echo('x')")
		}
	})
}
