package container

import (
	"os"
	"testing"
)

// TestResolver: a guest is told of no name server and no domain of this machine's, none of which it can reach.
func TestResolver(t *testing.T) {
	eachContainer(t, func(t *testing.T, r *Runtime) {
		sb := start(t, r, `
lines = []
if os.path.exists("/etc/resolv.conf"):
    with open("/etc/resolv.conf") as f:
        lines = [line.strip() for line in f if line.strip() and line[0] not in "#;"]
tell(lines=lines)
`)
		var got struct{ Lines []string }
		answer(t, sb, &got)
		for _, line := range got.Lines {
			switch line {
			case "nameserver 127.0.0.1", "nameserver 0.0.0.0", "options ndots:1":
			default:
				here, _ := os.ReadFile("/etc/resolv.conf")
				t.Errorf("%q; this machine has %q", line, here)
			}
		}
	})
}
