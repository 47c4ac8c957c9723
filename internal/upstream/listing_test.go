package upstream

import (
	"slices"
	"testing"
	"time"
)

func TestListChanged(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("stub"))
	before := f.names("stub")
	name := f.text("stub", "grow", `{}`)
	if got := <-f.changed; got != "stub" {
		t.Errorf("%q has changed", got)
	}
	after := f.names("stub")
	if len(after) != len(before)+1 || !slices.Contains(after, name) {
		t.Errorf("after %d tools there are %d: %q", len(before), len(after), after)
	}
	if got := f.text("stub", name, `{}`); got != name {
		t.Errorf("the new tool says %q", got)
	}
	// A restart loses the new tool: those who know it must hear of that.
	_, _ = f.Call(f.ctx(), "stub", "crash", nil)
	if got := f.names("stub"); !slices.Equal(got, before) {
		t.Errorf("after the restart the tools are %q", got)
	}
	if got := <-f.changed; got != "stub" {
		t.Errorf("%q has changed", got)
	}
}

// TestListChangedOften: guests take tools in anew each time that they are told, and a server may say so without end.
func TestListChangedOften(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("stub"))
	f.text("stub", "grow", `{}`)
	<-f.changed
	began := time.Now()
	f.text("stub", "grow", `{}`)
	<-f.changed
	if took := time.Since(began); took < changePause/2 {
		t.Errorf("the second change was told %v after the first", took)
	}
}

// TestLongListChangesOften: the longer the list, the longer codemode has work with it, and the longer it is left alone.
func TestLongListChangesOften(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("stub", "-tools", "3000"))
	f.text("stub", "grow", `{}`)
	<-f.changed
	listed := time.Now()
	tools, err := f.Tools(f.ctx(), "stub") // the listing that was necessary
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, tool := range tools {
		size += len(tool)
	}
	rest := ChangePerByte * time.Duration(size)
	f.text("stub", "grow", `{}`)
	<-f.changed
	if took := time.Since(listed); took < rest || rest < changePause+time.Second {
		t.Errorf("the second change was told %v after a list of %d bytes, not %v", took, size, rest)
	}
}

// TestListIsAskedForAgain: who asks for a list once more of their own accord does not wait for its server's changes.
func TestListIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("stub"))
	before := f.names("stub")
	f.servers["stub"].changes.Count(time.Hour)
	f.Refresh("stub")
	if again := f.names("stub"); !slices.Equal(again, before) {
		t.Errorf("%d tools again, and not %d", len(again), len(before))
	}
}

// TestChangedListIsWaitedFor: whoever needs the tools of a server that was left alone, and has changed them, waits.
func TestChangedListIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("stub"))
	before := f.names("stub")
	f.servers["stub"].changes.Count(changePause + time.Second)
	f.text("stub", "grow", `{}`)
	<-f.changed
	began := time.Now()
	after := f.names("stub")
	if took := time.Since(began); len(after) != len(before)+1 || took < time.Second/2 {
		t.Errorf("%d tools after %d, in %v", len(after), len(before), took)
	}
}

func TestListChangedAtStart(t *testing.T) {
	f := newPool(t, nil, fake("stub", "-list-changed", "-pages", "1"))
	if n := len(f.names("stub")); n < 10 {
		t.Errorf("it has %d tools", n)
	}
}
