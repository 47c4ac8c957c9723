package servers

import (
	"errors"
	"fmt"
	"testing"

	"codemode/internal/config"
)

func entryOf(name string) config.Server { return config.Server{Name: name, Command: "none"} }

func TestUpdateChanges(t *testing.T) {
	before := NewSet([]config.Server{entryOf("same"), entryOf("a-b"), entryOf("gone"), entryOf("changed")}, nil)
	described := entryOf("changed")
	described.Description = "words"
	after := NewSet(
		[]config.Server{described, entryOf("same"), entryOf("new"), entryOf("a-b"), entryOf("a b")}, nil,
	)
	// a-b is a_b_2 now
	if got := fmt.Sprint(changes(before, after)); got != "{[new a b] [gone] [changed a-b]}" {
		t.Error(got)
	}
	if !changes(before, before).None() {
		t.Error("a set differs from itself")
	}
}

// TestOwnNamesAreKept: while an own server cannot be used, a project's does not answer to its name, in whichever
// spelling.
func TestOwnNamesAreKept(t *testing.T) {
	project := entryOf("My Notes")
	project.Project = "/project"
	for _, own := range []bool{true, false} {
		set := NewSet([]config.Server{project}, []Unusable{{Name: "my-notes", Err: errors.New("it is off"), Own: own}})
		want := map[bool]string{true: "my_notes_2", false: "my_notes"}[own]
		if got := set.Alias["My Notes"]; got != want || len(set.Alias) != 1 {
			t.Errorf("own is %v: %q, want %q", own, set.Alias, want)
		}
		if _, found := set.Find("my_notes"); found == own {
			t.Errorf("own is %v: my_notes is a server: %v", own, found)
		}
		if _, unusable := set.UnusableNamed("my_notes"); own && !unusable {
			t.Error("it is not told that my_notes cannot be used")
		}
	}
}

// TestDescriptionIsVisible: what code gets of an entry's description, it prints as help.
func TestDescriptionIsVisible(t *testing.T) {
	odd := entryOf("odd")
	odd.Description = "first\nsecond \x1b[2J\u202e"
	set := NewSet([]config.Server{odd}, nil)
	if got := set.entry(odd).Description; got != "first\nsecond \\x1b[2J\\u202e" {
		t.Errorf("it is %q", got)
	}
}
