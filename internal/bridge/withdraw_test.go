package bridge

import (
	"fmt"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

// TestWithdraw: a sandbox goes on as long as what it may change is given, also one that starts while it is said again
// that it is, and ends with that.
func TestWithdraw(t *testing.T) {
	given := []sandbox.Mount{{Host: t.TempDir(), Name: "work", Dir: true, Write: true}}
	k := newKit(t, func(o *Options) {
		o.Mounts = func() ([]sandbox.Mount, error) { return given, nil }
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				k.Withdraw(given)
			}
		}
	}()
	for n := range 5 {
		session := fmt.Sprint(n)
		want(t, k.run(Request{Session: session, Code: "x = 1"}).compact(), "success")
		want(t, k.run(Request{Session: session, Code: "print(x)"}).compact(), "1")
	}
	close(stop)
	<-stopped
	k.Withdraw(nil)
	got := k.run(Request{Session: "0", Code: "print('x' in globals())"}).compact()
	if !strings.HasPrefix(got, "False\n") {
		t.Errorf("after what it may change is given no longer: %q", got)
	}
}
