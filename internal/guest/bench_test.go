//go:build unix

package guest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkStart is a guest from the start of the process to the answer to print(1), beside a bare interpreter.
// The guest's files are byte-compiled, and those of a start in one file, as a sandbox has them.
func BenchmarkStart(b *testing.B) {
	python, boot := interpreters(b)[0], unpack(b)
	kept(b, python, filepath.Dir(boot))
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(python, "-I", "-S", "-u", "-c", "pass").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guest", func(b *testing.B) {
		for b.Loop() {
			p := startPeer(b, python, boot, nil, false)
			wantRun(b, p, 1, "print(1)", "stdout \"1\\n\"\nok\n")
			p.close()
		}
	})
}

// BenchmarkRun is runs in a live session, by what they do.
func BenchmarkRun(b *testing.B) {
	python, boot := interpreters(b)[0], unpack(b)
	for _, bb := range []struct{ name, code, want string }{
		{"print", "print(1)", "stdout \"1\\n\"\nok\n"},
		{"1000 calls awaited", "for i in range(1000): await mcp.call('echo', i=i)", "ok\n"},
		{"1000 calls without a loop", "for i in range(1000): mcp.call_sync('echo', i=i)", "ok\n"},
		{"1000 calls at once", "_ = await asyncio.gather(*(mcp.call('echo', i=i) for i in range(1000)))", "ok\n"},
		{"100000 prints", "for i in range(100_000): print(i)", "ok\n"},
		{"100 MiB print", "print('x' * (100 << 20))", "ok\n"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := startPeer(b, python, boot, nil, false)
			wantRun(b, p, 1, "await asyncio.sleep(0); mcp", "")
			run := 1
			for b.Loop() {
				run++
				wantRun(b, p, run, bb.code, bb.want)
			}
			p.close()
		})
	}
}

func wantRun(b *testing.B, p *peer, number int, code, want string) {
	b.Helper()
	options := "flood"
	if strings.HasPrefix(want, "stdout") {
		options = ""
	}
	if said := p.run(number, code, options); want != "" && said != want {
		b.Fatalf("guest said %q, want %q", said, want)
	}
}
