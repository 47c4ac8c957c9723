package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// side is one of those that are measured against each other.
type side struct {
	name string
	run  func() (time.Duration, error)
	took []time.Duration
}

// turns measures sides in turns, A B A B, so that what else the machine does is all of theirs. The first round is not
// counted: it finds files in no cache.
func turns(n int, sides ...*side) error {
	for i := range n + 1 {
		for _, s := range sides {
			d, err := s.run()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if i > 0 {
				s.took = append(s.took, d)
			}
		}
	}
	return nil
}

// spread is the median, and what eight of ten are within.
type spread struct{ Low, Median, High time.Duration }

func spreadOf(took []time.Duration) spread {
	sorted := slices.Sorted(slices.Values(took))
	at := func(tenths int) time.Duration { return sorted[(len(sorted)-1)*tenths/10] }
	return spread{at(1), at(5), at(9)}
}

func (s spread) String() string {
	return fmt.Sprintf("%s (%s to %s)", ms(s.Median), figures(s.Low), figures(s.High))
}

func figures(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

// against adds a row about two sides that have taken turns, and what a chart shows of them. Ratios are those of turns.
func (b *bench) against(what string, ours, theirs *side, target float64) {
	var ratios []float64
	for i := range ours.took {
		ratios = append(ratios, float64(ours.took[i])/float64(theirs.took[i]))
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	wanted, ok := "", ""
	if target > 0 {
		wanted, ok = fmt.Sprintf("%.2f ×", target), met(ratio <= target)
	}
	b.add(what, fmt.Sprintf("%s against %s: %.2f ×", spreadOf(ours.took), spreadOf(theirs.took), ratio), wanted, ok)
}

// bar is one bar of a chart, in milliseconds.
type bar struct {
	Chart, Label      string
	Low, Median, High float64
}

// show has a chart show the sides.
func (b *bench) show(chart string, sides ...*side) {
	for _, s := range sides {
		at := spreadOf(s.took)
		b.bars = append(b.bars, bar{chart, s.name, milli(at.Low), milli(at.Median), milli(at.High)})
	}
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// write writes what charts show, for bench/charts.
func (b *bench) write(file string) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(b.bars, "", "\t")
	return cmp.Or(err, os.WriteFile(file, append(data, '\n'), 0o600))
}
