package upstream

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/proc/proctest"
)

// BenchmarkParseEnvelope takes short messages apart, and such with a MiB of objects or of text.
func BenchmarkParseEnvelope(b *testing.B) {
	for name, content := range map[string]string{
		"short":   "",
		"objects": strings.Repeat(`{"name":"a thing","n":12345,"ok":true,"tags":["a","b"]},`, 1<<20/56),
		"text":    `"` + strings.Repeat(`some words of a text\n`, 1<<20/22) + `",`,
	} {
		line := `{"jsonrpc":"2.0","id":7,"result":{"content":[` + content + `{"type":"text","text":"hello"}]}}`
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if env, err := parseEnvelope([]byte(line)); err != nil || env.id != 7 {
					b.Fatal(env.id, err)
				}
			}
		})
	}
}

// BenchmarkClose ends three servers that have to be told twice or killed: at once, which takes as long as the slowest.
func BenchmarkClose(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f := newPool(b, func(o *Options) { o.Log = nil },
			fake("term", "-ignore-eof"), fake("kill", "-ignore-eof", "-ignore-term"), fake("both", "-ignore-eof", "-ignore-term"))
		for _, name := range []string{"term", "kill", "both"} {
			if _, err := f.Tools(b.Context(), name); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall compares a call through the pool with one by the SDK's own client to the same server.
func BenchmarkCall(b *testing.B) {
	for _, n := range []int{10, 100 << 10, 30 << 20} {
		args := fmt.Sprintf(`{"n":%d}`, n)
		b.Run(fmt.Sprintf("pool/%d", n), func(b *testing.B) {
			f := newPool(b, func(o *Options) { o.Log = nil }, fake("stub"))
			if _, err := f.Tools(b.Context(), "stub"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(b.Context(), "stub", "big", json.RawMessage(args)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
			cs := bareClient(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cs.CallTool(
					b.Context(), &mcp.CallToolParams{Name: "big", Arguments: json.RawMessage(args)},
				); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bareClient is the SDK's client, without this package.
func bareClient(b *testing.B) *mcp.ClientSession {
	b.Helper()
	cmd := exec.Command(fakePath)
	cmd.Env = append(cmd.Environ(), proctest.Variable+"="+proctest.Mark(b))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	cs, err := client.Connect(b.Context(), &mcp.IOTransport{Reader: stdout, Writer: stdin, MaxLineLength: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: legacyProtocol})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cs.Close()
		_ = cmd.Wait()
	})
	return cs
}

// BenchmarkColdStart is the time from nothing to a server's tools.
func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		f := newPool(b, func(o *Options) { o.Log = nil }, fake("stub"))
		if _, err := f.Tools(b.Context(), "stub"); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
