package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples holds that each example is run by examples.txtar, and listed where people look.
func TestExamples(t *testing.T) {
	script, err := os.ReadFile("examples.txtar")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, _ := filepath.Glob("../examples/*.[ps][yh]")
	if len(examples) < 10 {
		t.Fatalf("there are %d", len(examples))
	}
	for _, path := range examples {
		name := filepath.Base(path)
		if !strings.Contains(string(script), "exec $EXAMPLES/"+name) {
			t.Errorf("%s is not run", name)
		}
		if !strings.Contains(string(list), "| ["+name+"]("+name+") |") {
			t.Errorf("%s is not listed", name)
		}
	}
}
