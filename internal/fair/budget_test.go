package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudget is about who is ended for whom: nobody before its limit, nobody for its own key, and one at each look.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(3)
		ended := ""
		take := func(key string, long time.Duration) *Share {
			s, err := b.Take(t.Context(), key, 1)
			if err != nil {
				t.Fatal(err)
			}
			s.Limit(Limit{Longest: long}, func() {
				ended += key
				s.Leave()
				s.Leave()
			})
			return s
		}
		take("a", time.Minute)
		take("b", time.Hour)
		c := take("c", 0)
		c.Limit(Limit{}, nil)
		<-time.After(24 * time.Hour)
		if ended != "" {
			t.Fatalf("%s was ended though nobody waited", ended)
		}
		own, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("its call is over"))
		defer cancel()
		if _, err := b.Take(own, "b", 1); err == nil || err.Error() != "its call is over" || ended != "" {
			t.Fatalf("who waited for itself has ended %q, and was told %v", ended, err)
		}
		began := time.Now()
		take("d", time.Minute)
		take("e", time.Minute)
		if took := time.Since(began); ended != "ab" || took != 2*Look {
			t.Errorf("%q were ended in %v, not a and b at two looks", ended, took)
		}
		began = time.Now()
		take("f", time.Minute)
		if took := time.Since(began); ended != "abd" || took != time.Minute-Look {
			t.Errorf("%q were ended in %v, not d at the end of its minute", ended, took)
		}
		c.Leave()
		take("g", 0)
	})
	var none *Share
	none.Limit(Limit{}, nil)
	none.Lighten(0)
	none.Leave()
}

// TestManyWait: the more keys wait, the sooner is ended what they wait for, and no sooner than it may be.
func TestManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1)
		began := time.Now()
		var mu sync.Mutex
		var took []time.Duration
		hold := func(key string) {
			s, err := b.Take(t.Context(), key, 1)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			took = append(took, time.Since(began))
			mu.Unlock()
			s.Limit(Limit{Longest: 30 * Look, Shortest: 10 * Look}, s.Leave)
		}
		for n := range 5 {
			go hold(string(rune('a' + n)))
			synctest.Wait()
		}
		<-time.After(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		want := []time.Duration{0, 10 * Look, 20 * Look, 35 * Look, 65 * Look} // with four, three, two and one waiting
		if !slices.Equal(took, want) {
			t.Errorf("they had it after %v, want %v", took, want)
		}
	})
}
