// Package chaos is the faults that codemode is held to survive, and what was seen when it met them.
//
// It owns the list of faults and the results of one run, from which docs/reliability.md is made. It is for tests alone
// and never linked into codemode: its own tests run the program as a client does, bring the faults about, and end what
// they have started.
package chaos

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// A Fault is something that goes wrong, by name.
type Fault struct {
	Name    string
	What    string // happens
	Promise string // on top of what holds after every fault
}

// Seen is what came of a fault in one run of the chaos.
type Seen struct {
	Times   int     `json:"times"`
	Failed  int     `json:"failed"`
	Slowest float64 `json:"slowest"` // seconds from the fault to the answer of the next run_python
}

// Results are what one run of the chaos has seen.
type Results struct {
	Seed    uint64          `json:"seed"`
	Date    string          `json:"date"`
	Seconds int             `json:"seconds"`
	Runs    int             `json:"runs"`  // of run_python, whose results came
	Saved   int             `json:"saved"` // tools, as acknowledged
	Lines   int             `json:"lines"` // of the audit log that were to be found again
	Faults  map[string]Seen `json:"faults"`
}

//go:embed results.json
var resultsFile []byte

// Table is docs/reliability.md's table of faults: what is promised, and what was seen.
func Table() (string, error) {
	var r Results
	if err := json.Unmarshal(resultsFile, &r); err != nil {
		return "", fmt.Errorf("reading results.json: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"Seen on %s with seed %d, in %d s on two cores: %d runs whose result came, %d saved tools and %d lines of the audit log\n"+
			"acknowledged in them and found again. The last column is the longest time from a fault to the answer of the next `run_python`.\n\n",
		r.Date,
		r.Seed,
		r.Seconds,
		r.Runs,
		r.Saved,
		r.Lines,
	)
	b.WriteString(
		"| fault | what happens | what is promised besides | times | not survived | s |\n|---|---|---|---|---|---|\n",
	)
	for _, f := range Faults {
		seen, ok := r.Faults[f.Name]
		if !ok {
			return "", fmt.Errorf("results.json has nothing of the fault %q", f.Name)
		}
		fmt.Fprintf(
			&b, "| %s | %s | %s | %d | %d | %.1f |\n", f.Name, f.What, f.Promise, seen.Times, seen.Failed, seen.Slowest,
		)
	}
	return b.String(), nil
}
