package container

import (
	"io"
	"os"
	"sync"
	"time"
)

// An input is a caller's standard input as a guest asks for it: read when it is asked for, at most one piece
// ahead. A read that nobody can end (of a terminal) is left behind when the guest has ended; what it
// returns is lost, as what a program was typed that did not read it.
type input struct {
	file   *os.File
	pieces chan piece
	asked  chan struct{}
	over   chan struct{}
	once   sync.Once
	start  sync.Once
	rest   []byte
}

type piece struct {
	data []byte
	err  error
}

func newInput(f *os.File) *input {
	return &input{file: f, pieces: make(chan piece), asked: make(chan struct{}), over: make(chan struct{})}
}

// Read returns io.EOF once the guest has ended. One goroutine at a time may read.
func (i *input) Read(p []byte) (int, error) {
	i.start.Do(func() { go i.pump() })
	if len(i.rest) == 0 {
		select {
		case i.asked <- struct{}{}:
		case <-i.over:
			return 0, io.EOF
		}
		select {
		case got := <-i.pieces:
			if len(got.data) == 0 {
				return 0, got.err
			}
			i.rest = got.data
		case <-i.over:
			return 0, io.EOF
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// pump reads a piece each time one is asked for.
func (i *input) pump() {
	for {
		select {
		case <-i.asked:
		case <-i.over:
			return
		}
		buf := make([]byte, 32<<10)
		n, err := i.file.Read(buf)
		select {
		case <-i.over: // stop has ended this read, where it could; the file is the caller's again
			_ = i.file.SetReadDeadline(time.Time{})
			return
		default:
		}
		if n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		select {
		case i.pieces <- piece{buf[:n], err}:
		case <-i.over:
			return
		}
	}
}

// stop ends a read. The file stays the caller's, and open.
func (i *input) stop() {
	i.once.Do(func() {
		close(i.over)
		started := true
		i.start.Do(func() { started = false })
		if !started {
			return
		}
		_ = i.file.SetReadDeadline(time.Unix(1, 0)) // not every file has deadlines
	})
}
