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
	"CODEMODE_POLICY_CONFIRM=*.send_*,*.remove_*", "CODEMODE_POLICY_CALLS_PER_RUN=1000000",
	"CODEMODE_POLICY_CONCURRENCY=64",
}

// instances is how many pairs of sessions are compared: how processes come to lie on processors and in memory makes
// more difference between one pair and the next than a log does.
const instances = 8

// settles is how long the sync of a run's lines may go on behind its result.
const settles = 5 * time.Millisecond

// recording compares calls that a policy is asked about and the audit log has with calls that go free and leave
// nothing. Both sessions of a pair live at the same time, and take turns.
func (b *bench) recording(ctx context.Context) error {
	const call = `await mcp_peer.echo(message="hello")`
	for _, c := range []struct {
		what, code string
		turns      int
		target     float64
	}{
		{"policy, receipt and audit log: 200 calls in one run, against the same without", "for _ in range(200): " + call, b.n, 1.05},
		{"the same: a run of one call", call, 2 * b.n, 0},
	} {
		var all pairs
		for range instances {
			if err := b.recorded(ctx, c.code, c.turns, &all); err != nil {
				return err
			}
		}
		ratio := all.ratio()
		on, off := median(all.on), median(all.off)
		target, ok := "", ""
		if c.target > 0 {
			target, ok = fmt.Sprintf("%.2f ×", c.target), met(ratio <= c.target)
		}
		b.add(c.what, fmt.Sprintf("%s against %s: %.3f ×", ms(on), ms(off), ratio), target, ok)
	}
	return nil
}

// recorded runs code in turns in a session with everything and in one without.
func (b *bench) recorded(ctx context.Context, code string, turns int, all *pairs) error {
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
	const warmUp = 3 // servers have been started then, and processors are awake
	for n := range turns + warmUp {
		var took [2]time.Duration
		for i := range took {
			who := (i + n) % 2 // who goes first has it no better
			began := time.Now()
			if _, err := python(ctx, []*mcp.ClientSession{with, without}[who], code); err != nil {
				return err
			}
			took[who] = time.Since(began)
			<-time.After(settles) // the other shall not pay for what this one's disk has still to do
		}
		if n >= warmUp {
			all.on, all.off = append(all.on, took[0]), append(all.off, took[1])
		}
	}
	return nil
}

// pairs are times of neighbours, which had the same machine.
type pairs struct{ on, off []time.Duration }

// ratio is the median of the neighbours' ratios.
func (p pairs) ratio() float64 {
	var ratios []float64
	for i := range p.on {
		ratios = append(ratios, float64(p.on[i])/float64(p.off[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
