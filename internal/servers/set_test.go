package servers

import (
	"fmt"
	"testing"

	"codemode/internal/config"
)

func entryOf(name string) config.Server { return config.Server{Name: name, Command: "none"} }

func TestUpdateChanges(t *testing.T) {
	before := newServerSet([]config.Server{entryOf("same"), entryOf("a-b"), entryOf("gone"), entryOf("changed")})
	described := entryOf("changed")
	described.Description = "words"
	after := newServerSet([]config.Server{described, entryOf("same"), entryOf("new"), entryOf("a-b"), entryOf("a b")})
	// a-b is a_b_2 now
	if got := fmt.Sprint(changes(before, after)); got != "{[new a b] [gone] [changed a-b]}" {
		t.Error(got)
	}
	if !changes(before, before).None() {
		t.Error("a set differs from itself")
	}
}
