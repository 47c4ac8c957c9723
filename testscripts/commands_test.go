package testscripts

import (
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
)

// patience bounds every wait of a script for something that must come.
const patience = 30 * time.Second

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"jsonq":      jsonq,
	"wait-for":   waitFor,
	"no-orphans": noOrphans,
	"quiet":      quiet,
}

// quiet fails when the last program said anything on stderr, but for what it has waited for on a busy machine.
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: quiet")
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "codemode: waiting: ") {
			ts.Fatalf("stderr has %q", line)
		}
	}
}

// jsonq FILE PATH WANT compares one value of a JSON file, or of stdout.
func jsonq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] jsonq FILE PATH WANT")
	}
	data := ts.ReadFile(args[0])
	if !gjson.Valid(data) {
		ts.Fatalf("%s is not JSON:\n%s", args[0], data)
	}
	got := gjson.Get(data, args[1]).String()
	if (got == args[2]) == neg {
		ts.Fatalf("%s of %s is %q, want %q, negated: %v", args[1], args[0], got, args[2], neg)
	}
}

// waitFor FILE PATTERN waits until a file has a line that matches.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for FILE PATTERN; there is no waiting for nothing")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var data []byte
	ok := poll(func() bool {
		data, _ = os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		return pattern.Match(data)
	})
	if !ok {
		ts.Fatalf("%s had no %q within %v:\n%s", args[0], args[1], patience, data)
	}
}

// noOrphans fails when a process of this script is left. It gives what is ending the time to end.
func noOrphans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: no-orphans")
	}
	keep := map[int]bool{}
	for _, cmd := range ts.BackgroundCmds() {
		if cmd.Process != nil {
			keep[cmd.Process.Pid] = true
		}
	}
	var left []string
	if !poll(func() bool { left = orphans(ts.Getenv("WORK"), keep); return len(left) == 0 }) {
		ts.Fatalf("processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// poll asks until the answer is yes, or patience is at an end. Files and process tables tell nobody when
// they change, so there is nothing better to wait on.
func poll(done func() bool) bool {
	end := time.NewTimer(patience)
	defer end.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-again.C:
		case <-end.C:
			return false
		}
	}
}
