package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/upstream"
)

// remoteCalls compares calls over loopback HTTP, by codemode's pool of servers, with those of a plain client. Both are
// in this process, are connected to the same server, and take turns.
func (b *bench) remoteCalls(ctx context.Context) error {
	const calls, warmUp = 200, 3
	url, stop, err := b.farServer()
	if err != nil {
		return err
	}
	defer stop()
	pool := upstream.NewPool(upstream.Options{
		Servers: []config.Server{{Name: "peer", URL: url, Transport: config.HTTP}}, CallTimeout: time.Minute,
	})
	defer pool.Close()
	plain, err := client().Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return err
	}
	defer plain.Close()
	sides := []func() error{
		func() error {
			_, err := pool.Call(ctx, "peer", "echo", json.RawMessage(`{"message":"hello"}`))
			return err
		},
		func() error {
			args := map[string]any{"message": "hello"}
			_, err := plain.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: args})
			return err
		},
	}
	var took [2][]time.Duration
	for turn := range b.n + warmUp {
		for side, call := range sides {
			began := time.Now()
			for range calls {
				if err := call(); err != nil {
					return err
				}
			}
			if turn >= warmUp {
				took[side] = append(took[side], time.Since(began))
			}
		}
	}
	o, d := median(took[0]), median(took[1])
	ratio := float64(o) / float64(d)
	b.add(fmt.Sprintf("%d sequential calls over HTTP on loopback, against a go-sdk client", calls),
		fmt.Sprintf("%s against %s: %.2f ×", ms(o), ms(d), ratio), "1.3 ×", met(ratio <= 1.3))
	return nil
}

// farServer starts a server by URL.
func (b *bench) farServer() (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(b.dir, "address")
	cmd := exec.Command(self, "fakemcp", "-http", file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for range 1000 {
		if address, err := os.ReadFile(file); err == nil {
			return string(address) + "/mcp", stop, nil
		}
		<-time.After(10 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("the server by URL has no address after 10 s")
}
