//go:build unix

package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestNobodyWaitsForTheDisk has the disk take nothing, as a pipe that nobody reads: lines can be left and counted, and
// arguments hashed, while another's are written. Those that wait are written in one go, in order.
func TestNobodyWaitsForTheDisk(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Options{dir, 1 << 20, 2})
	if _, err := l.Hash(nil); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, current)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	fd, err := syscall.Open(pipe, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until it is full
		_, err = syscall.Write(fd, []byte{' '})
	}
	f := os.NewFile(uintptr(fd), pipe)
	defer f.Close()
	const many = 40
	var work sync.WaitGroup
	for range many {
		work.Go(func() { _ = l.Append(Record{Event: Called}) })
	}
	for begun := false; !begun; <-time.After(time.Millisecond) {
		l.mu.Lock()
		begun = l.writing && l.lines == many
		l.mu.Unlock()
	}
	free := make(chan struct{})
	work.Go(func() {
		for range 100 {
			l.AppendAsync(Record{Event: Called})
			_ = l.Lines()
			_, _ = l.Hash([]byte("x"))
		}
		close(free)
	})
	select {
	case <-free:
	case <-time.After(2 * time.Minute):
		t.Error("who only leaves a line waits for another's to be written")
	}
	lines := make(chan int)
	go func() {
		n, buf := 0, make([]byte, 64<<10)
		for n < many+100 {
			k, err := f.Read(buf)
			n += bytes.Count(buf[:k], []byte("\n"))
			if err != nil {
				break
			}
		}
		lines <- n
	}()
	work.Wait()
	if err := l.Settle(0); err != nil {
		t.Error(err)
	}
	if n := <-lines; n != many+100 {
		t.Errorf("%d lines", n)
	}
	l.settled()
	l.mu.Lock()
	l.told = l.lost // a pipe cannot be synced
	l.mu.Unlock()
}
