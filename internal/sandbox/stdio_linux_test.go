package sandbox

import (
	"io"
	"os"
	"sync"
	"testing"
)

// TestRelayIsLockedOut has somebody else read what is typed during a question: none of it is the guest's, and the relay
// is not left in a read that nothing ends.
func TestRelayIsLockedOut(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(in, typed)
	var lock sync.Mutex
	guest, r, err := newRelay(in, &lock)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	var running sync.WaitGroup
	lock.Lock()
	running.Go(r.run)
	if _, err := io.WriteString(typed, "y\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 2)
	if _, err := io.ReadFull(in, answer); err != nil || string(answer) != "y\n" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	lock.Unlock()
	if _, err := io.WriteString(typed, "input"); err != nil {
		t.Fatal(err)
	}
	input := make([]byte, 5)
	if _, err := io.ReadFull(guest, input); err != nil || string(input) != "input" {
		t.Errorf("the guest's input is %q, %v", input, err)
	}
	r.stop()
	running.Wait()
	r.free()
}
