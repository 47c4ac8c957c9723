//go:build linux

package container

import (
	"io"
	"slices"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// benchEngines are those that benchmarks measure; as the user of rootless podman run the test binary by as-pod.
var benchEngines = []string{Podman, Docker}

// BenchmarkPlain is what a container of the same flags costs without codemode: the engine's command, from its start
// to its end.
func BenchmarkPlain(b *testing.B) {
	for _, name := range benchEngines {
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b, name, name)
			e := r.engine()
			means, _ := sandbox.Effective(sandbox.DefaultPolicy(), e.report(r.opts.Image))
			for b.Loop() {
				args := e.args(order{
					name: newName(), image: r.opts.Image, user: r.opts.User, profile: e.profile, means: means,
					spec: sandbox.Spec{Policy: sandbox.DefaultPolicy()},
				})
				args = append(args[:slices.Index(args, r.opts.Image)+1], "-c", "print(1)")
				if out, err := e.run(b.Context(), nil, args...); err != nil || out != "1\n" {
					b.Fatal(out, err)
				}
			}
		})
	}
}

// BenchmarkStart is a sandbox from its start to the guest's first word, and to its end.
func BenchmarkStart(b *testing.B) {
	for _, name := range benchEngines {
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b, name, name)
			tree := script(channelCode + "tell(ready=True)\nos.read(source, 1)")
			var ready time.Duration
			for b.Loop() {
				begin := time.Now()
				sb, err := r.Start(b.Context(), sandbox.Spec{Files: tree, Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := sb.Channel().Read(make([]byte, 100)); err != nil {
					b.Fatal(err)
				}
				ready += time.Since(begin)
				if err := sb.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(ready.Milliseconds())/float64(b.N), "ms-to-first-word")
		})
	}
}

// BenchmarkRoundTrip is one byte to the guest and back, with nothing but the channel between.
func BenchmarkRoundTrip(b *testing.B) {
	for _, name := range benchEngines {
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b, name, name)
			sb, err := r.Start(b.Context(), sandbox.Spec{
				Files: script(channelCode + "while data := os.read(source, 1): os.write(channel, data)"), Boot: "boot.py", Policy: sandbox.DefaultPolicy(),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer sb.Close()
			buf := []byte("x")
			for b.Loop() {
				if _, err := sb.Channel().Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(sb.Channel(), buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
