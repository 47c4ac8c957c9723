package sandbox

import (
	"io"
	"os"
	"sync"
	"testing"
)

// TestRelayTakesTurns has somebody else read what is typed during a question: none of it is the guest's, and the relay
// is not left in a read that nothing ends.
func TestRelayTakesTurns(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(in, typed)
	var turn sync.Mutex
	guest, r, err := newRelay(in, &turn)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	var running sync.WaitGroup
	turn.Lock()
	running.Go(r.run)
	if _, err := io.WriteString(typed, "y\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 2)
	if _, err := io.ReadFull(in, answer); err != nil || string(answer) != "y\n" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	turn.Unlock()
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
