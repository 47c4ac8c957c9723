// Package audit is the record of what a tenant's code did: one JSON object a line, in files of the tenant's own.
//
// It owns the files, their rotation and the key that arguments are hashed with; nothing is opened before the first
// line. It never decides what is worth a line, and never changes one. The caller of New closes the Log.
package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Record is one line. What does not apply is left out.
type Record struct {
	Time      time.Time `json:"time"`
	Event     Event     `json:"event"`
	Run       string    `json:"run"`
	Session   string    `json:"session,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	Client    string    `json:"client,omitempty"`
	Code      string    `json:"code,omitempty"` // SHA-256 of what was run
	Call      int       `json:"call,omitempty"` // counts within the run
	Server    string    `json:"server,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Rule      string    `json:"rule,omitempty"`      // of the policy
	Outcome   string    `json:"outcome,omitempty"`   // of a call or a run
	MS        float64   `json:"ms,omitempty"`        // it took
	Sent      int       `json:"sent,omitempty"`      // bytes of arguments
	Received  int       `json:"received,omitempty"`  // bytes of the result
	Hash      string    `json:"hash,omitempty"`      // of the arguments, with the tenant's key
	Arguments string    `json:"arguments,omitempty"` // only where its user wants them
	Note      string    `json:"note,omitempty"`
}

// Event is what a line is about.
type Event string

// The events. A call that may change something has a line before it is sent, so that it is known even if codemode dies
// meanwhile.
const (
	RunBegins Event = "run"
	Sending   Event = "sending"
	Called    Event = "call"
	Asked     Event = "asked" // a server, in the middle of a call
	Saved     Event = "saved" // a tool, for later sessions
	RunEnded  Event = "end"
)

// Options says where a log is and how much of it is kept.
type Options struct {
	Dir     string
	MaxSize int64 // bytes after which a new file is begun
	Keep    int   // files, the one in use among them
}

// Log appends lines. Several processes may have the same one open: each write is whole lines, to the file's end.
//
// Who appends joins a queue, and the first of it writes for all that wait: no lock is held meanwhile.
type Log struct {
	opts Options
	key  key

	mu      sync.Mutex
	waiting []byte // lines to be written
	spare   []byte // room for them
	lines   int    // so far
	written int    // of them, or tried to be
	writing bool   // somebody has file, and nobody else may
	file    *appender
	timer   *time.Timer    // will write; nil while none has to
	work    sync.WaitGroup // the timer, and who syncs
	wanted  int            // lines that are to be synced
	synced  int            // lines that need no sync any more
	lost    int            // lines up to the last that may not be in the file or on disk, because of failure
	told    int            // what lost was when somebody was last told of it
	failure error
	syncing bool       // until nothing is wanted any more
	round   *sync.Cond // of mu: lines have been written or synced, or syncing has ended
}

// New returns a log that has opened nothing yet. Close it.
func New(opts Options) *Log {
	l := &Log{opts: opts}
	l.round = sync.NewCond(&l.mu)
	l.file = &appender{opts: opts, synced: func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reached(l.written, err)
	}}
	return l
}

// Append writes a line. When it returns, the line survives the end of this process; Settle and Sync make it survive the
// machine's.
func (l *Log) Append(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.lines
	l.wait(&r)
	l.write()
	if l.lost > before {
		l.told = l.lost
		return l.failure
	}
	return nil
}

// soon is how long a line may wait for another that it can be written with.
const soon = 20 * time.Millisecond

// AppendAsync is Append without waiting: the line is written with the next one, or soon, and Settle tells
// where it could not be.
func (l *Log) AppendAsync(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait(&r)
	if l.timer != nil {
		return
	}
	l.work.Add(1)
	l.timer = time.AfterFunc(soon, func() {
		defer l.work.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer = nil
		l.write() // Settle tells
	})
}

// wait has a line be written with the next write. l.mu is held.
func (l *Log) wait(r *Record) {
	if l.waiting == nil {
		l.waiting, l.spare = l.spare, nil
	}
	l.waiting = appendLine(l.waiting, r)
	l.lines++
}

// maxWaiting is how much room for lines is kept between writes: thousands of calls may end at once.
const maxWaiting = 64 << 10

// write returns when the lines so far have been written, by this goroutine or another. It releases l.mu meanwhile.
func (l *Log) write() {
	for mine := l.lines; l.written < mine; {
		if l.writing {
			l.round.Wait()
			continue
		}
		l.writing = true
		waiting, lines := l.waiting, l.lines
		l.waiting = nil
		l.mu.Unlock()
		err := l.file.put(waiting)
		l.mu.Lock()
		l.writing = false
		l.written = lines
		if err != nil {
			l.lost, l.failure = lines, err
		}
		if cap(waiting) <= maxWaiting {
			l.spare = waiting[:0]
		}
		l.round.Broadcast()
	}
}

// Writable says why no line could be appended to the log in a folder, by its file in use. It makes none.
func Writable(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, current), os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Lines is how many lines there have been.
func (l *Log) Lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// EarlierWriteError is a failure that cost lines of others, who had gone on before it was known.
type EarlierWriteError struct{ error }

// Settle has every line appended so far be written, and synced soon after. It fails where one after the first since is
// known to be lost, and with an EarlierWriteError where one before it is: the first caller after a failed sync is told.
func (l *Log) Settle(since int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	return l.tell(since)
}

// Sync is Settle for who waits for the disk.
func (l *Log) Sync(since int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	for want := l.written; l.syncing && l.synced < want; {
		l.round.Wait()
	}
	return l.tell(since)
}

// SyncSoon has all that is written be synced soon. What comes of that, who asks next is told.
func (l *Log) SyncSoon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// tell returns the failure that has lost lines, to a caller whose own lines follow the first since. l.mu is held.
func (l *Log) tell(since int) error {
	own, another := l.lost > since, l.lost > l.told
	l.told = l.lost
	switch {
	case own:
		return l.failure
	case another:
		return EarlierWriteError{l.failure}
	}
	return nil
}

// settle has the lines that wait written, and a goroutine sync them. l.mu is held.
func (l *Log) settle() {
	l.write() // tell tells
	l.wanted = l.written
	if !l.syncing && l.synced < l.wanted && l.file.file.Load() != nil {
		l.syncing = true
		l.work.Go(l.sync)
	}
}

// sync syncs what is wanted. Who wants more meanwhile shares the next round.
func (l *Log) sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.synced < l.wanted && l.file.file.Load() != nil {
		file, lines := l.file.file.Load(), l.written
		l.mu.Unlock()
		err := file.Sync()
		l.mu.Lock()
		if errors.Is(err, os.ErrClosed) {
			err = nil // rotated meanwhile, which syncs
		}
		l.reached(lines, err)
		l.round.Broadcast()
	}
	l.syncing = false
	l.round.Broadcast()
}

// reached notes what a sync of so many lines has brought. l.mu is held.
func (l *Log) reached(lines int, err error) {
	if err != nil && lines > l.synced {
		l.lost, l.failure = max(l.lost, lines), fmt.Errorf("writing the audit log: %w", err)
	}
	l.synced = max(l.synced, lines)
}

// Close syncs and closes the file. It fails where a line may be lost that nobody has been told of.
func (l *Log) Close() error {
	err := l.Sync(math.MaxInt)
	l.mu.Lock()
	if l.timer != nil && l.timer.Stop() {
		l.work.Done()
	}
	l.mu.Unlock()
	l.work.Wait()
	return errors.Join(err, l.file.close())
}
