package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
)

// TestLongSources holds that nobody who saves a short tool waits for what takes Python long.
func TestLongSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			for m := g.Next(); m != nil; m = g.Next() {
				if m["method"] == "check" {
					if len(m["params"].(map[string]any)["source"].(string)) > shortSource {
						<-end
					}
					g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"functions":[]}}`, m["id"])
				}
			}
		})
		defer close(end)
		b.saved = newSaved(t.TempDir(), nil)
		for _, session := range []string{"flood", "another"} {
			go func() {
				_, _ = b.check(context.Background(), session, strings.Repeat("#", shortSource+1), func(time.Duration) {})
			}()
		}
		synctest.Wait()
		began := time.Now()
		_, err := b.check(t.Context(), "victim", strings.Repeat("#", shortSource), func(time.Duration) {})
		if waited := time.Since(began); err != nil || waited > 0 {
			t.Errorf("it has waited %v: %v", waited, err)
		}
	})
}

// TestCheckUsesMuch holds that a source that Python does not come to the end of is given up, and what reading it took
// is told.
func TestCheckUsesMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, rt := scriptedBridge(t, func(g *bridgetest.Guest) { g.Drain() })
		began := time.Now()
		rt.Used = func() time.Duration { return time.Since(began) }
		b.saved = newSaved(t.TempDir(), nil)
		var told time.Duration
		_, err := b.check(t.Context(), "one", "", func(took time.Duration) { told = took })
		if took := time.Since(began); !errors.Is(err, errCheckLate) || took > 2*maxCheck || told != took-usualCheck {
			t.Errorf("it took %v, of which %v were told: %v", took, told, err)
		}
	})
}

// TestChecksTakeTurns is about a session that wishes to save many tools at once: another's wish is next.
func TestChecksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		first := make(chan struct{})
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			for m := g.Next(); m != nil; m = g.Next() {
				if m["method"] != "check" {
					continue
				}
				if len(order) == 0 {
					<-first
				}
				order = append(order, m["params"].(map[string]any)["source"].(string))
				g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"functions":[]}}`, m["id"])
			}
		})
		b.saved = newSaved(t.TempDir(), nil)
		check := func(session string) {
			go func() { _, _ = b.check(context.Background(), session, session, func(time.Duration) {}) }()
			synctest.Wait()
		}
		for range 20 {
			check("flood")
		}
		check("victim")
		close(first)
		synctest.Wait()
		if got := strings.Join(order, " "); !strings.HasPrefix(got, "flood victim flood") || len(order) != 21 {
			t.Errorf("sources were read in this order: %s", got)
		}
	})
}
