//go:build linux

package container

import (
	"io"
	"testing"

	"codemode/internal/sandbox"
)

// benchEngines are those that benchmarks measure; as the user of rootless podman run the test binary by as-pod.
var benchEngines = []string{Podman, Docker}

// BenchmarkRoundTrip is one byte to the guest and back, with nothing but the channel between.
func BenchmarkRoundTrip(b *testing.B) {
	for _, name := range benchEngines {
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b, name, name)
			sb, err := r.Start(b.Context(), sandbox.Spec{
				Files:  script(channelCode + "while data := os.read(source, 1): os.write(channel, data)"),
				Boot:   "boot.py",
				Policy: sandbox.DefaultPolicy(),
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
