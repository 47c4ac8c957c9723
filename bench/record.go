package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorded is a policy that every call is held against to its last rule, and an audit log.
var recorded = []string{
	"CODEMODE_POLICY_ALLOW=peer.*,github.*,*.get_*", "CODEMODE_POLICY_DENY=*.delete_*,*.drop_*,admin.*",
	"CODEMODE_POLICY_CONFIRM=*.send_*,*.remove_*", "CODEMODE_POLICY_CALLS_PER_RUN=1000000", "CODEMODE_POLICY_CONCURRENCY=64",
}

// recording compares calls that a policy is asked about and the audit log has with calls that go free and leave nothing.
// Both sessions live at the same time, and take turns.
func (b *bench) recording(ctx context.Context) error {
	servers := "MCP_SERVERS_CONFIG=" + b.servers("peer", map[string]any{"peer": b.fake()})
	with, _, err := b.connect(ctx, append([]string{servers}, recorded...)...)
	if err != nil {
		return err
	}
	defer with.Close()
	without, _, err := b.connect(ctx, servers, "CODEMODE_AUDIT_KEEP=0")
	if err != nil {
		return err
	}
	defer without.Close()
	const call = `await mcp_peer.echo(message="hello")`
	for _, c := range []struct {
		what, code string
		turns      int
		target     float64
	}{
		{"policy, receipt and audit log: 200 calls in one run, against the same without", "for _ in range(200): " + call, 4 * b.n, 1.05},
		{"the same: a run of one call, which waits until its lines are on disk", call, 10 * b.n, 0},
	} {
		on, off, ratio, err := inTurns(ctx, with, without, c.code, c.turns)
		if err != nil {
			return err
		}
		target, ok := "", ""
		if c.target > 0 {
			target, ok = fmt.Sprintf("%.2f ×", c.target), met(ratio <= c.target)
		}
		b.add(c.what, fmt.Sprintf("%s against %s: %.3f ×", ms(on), ms(off), ratio), target, ok)
	}
	return nil
}

// inTurns runs code in two sessions, first in the one and then in the other, and returns both medians, and the median of
// the ratios of neighbours, which had the same machine.
func inTurns(ctx context.Context, one, other *mcp.ClientSession, code string, turns int) (a, b time.Duration, ratio float64, err error) {
	var ratios []float64
	times := map[*mcp.ClientSession][]time.Duration{}
	for n := range turns + 3 {
		pair := []*mcp.ClientSession{one, other}
		if n%2 == 1 { // who goes first has it no better
			pair[0], pair[1] = pair[1], pair[0]
		}
		for _, cs := range pair {
			began := time.Now()
			if _, err := python(ctx, cs, code); err != nil {
				return 0, 0, 0, err
			}
			if n >= 3 { // servers have been started, and processors are awake
				times[cs] = append(times[cs], time.Since(began))
			}
		}
		if n >= 3 {
			ratios = append(ratios, float64(times[one][n-3])/float64(times[other][n-3]))
		}
	}
	slices.Sort(ratios)
	return median(times[one]), median(times[other]), ratios[len(ratios)/2], nil
}
