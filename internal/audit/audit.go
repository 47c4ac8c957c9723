// Package audit is the record of what a tenant's code did: one JSON object a line, in files of the tenant's own.
//
// It owns the files, their rotation and the key that arguments are hashed with; nothing is opened before the first line.
// It never decides what is worth a line, and never changes one. Whoever made a Log closes it.
package audit

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	RunEnded  Event = "end"
)

// Options says where a log is and how much of it is kept.
type Options struct {
	Dir     string
	MaxSize int64 // bytes after which a new file is begun
	Keep    int   // files, the one in use among them
}

// Log appends lines. Several processes may have the same one open: each line is one write to the file's end.
type Log struct {
	opts Options

	mu      sync.Mutex // serialises writers, as a stream needs; it guards the file and what follows
	file    *os.File
	info    os.FileInfo // which file that is
	looked  time.Time   // when that was last seen to be the file in use
	size    int64
	torn    bool           // the last write was cut short: the next line must not continue it
	waiting []byte         // lines to be written
	lines   int            // that these are
	timer   *time.Timer    // will write them; nil while none has to
	work    sync.WaitGroup // the timer, and who syncs
	written int            // lines, or tried to be
	wanted  int            // of them, those that are to be synced
	synced  int            // of them, those that need no sync any more
	lost    int            // of them, those up to the last that may not be in the file or on disk, because of failure
	told    int            // what lost was when somebody was last told of it
	failure error
	mac     hash.Hash  // nil until the key is read
	syncing bool       // until nothing is wanted any more
	round   *sync.Cond // of mu: some lines have been synced, or syncing has ended
}

const (
	current = "audit.jsonl"
	rotated = "audit-20060102T150405.000000000Z.jsonl" // names are in the order of time
)

// New returns a log that has opened nothing yet. Close it.
func New(opts Options) *Log {
	l := &Log{opts: opts}
	l.round = sync.NewCond(&l.mu)
	return l
}

// Append writes a line. When it returns, the line survives the end of this process; Settle and Sync make it survive the
// machine's.
func (l *Log) Append(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait(&r)
	err := l.write()
	if err != nil {
		l.told = l.lost
	}
	return err
}

// soon is how long a line may wait for another that it can be written with.
const soon = 20 * time.Millisecond

// Later is Append for who has something better to do: the line is written with the next one, or soon, and Settle tells
// where it could not be.
func (l *Log) Later(r Record) {
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
		_ = l.write() // Settle tells
	})
}

// wait has a line be written with the next write. l.mu is held.
func (l *Log) wait(r *Record) {
	l.waiting = appendLine(l.waiting, r)
	l.lines++
}

// maxWaiting is how much room for lines is kept between writes: thousands of calls may end at once.
const maxWaiting = 64 << 10

// write writes the lines that wait, in one go. l.mu is held.
func (l *Log) write() error {
	if l.lines == 0 {
		return nil
	}
	err := l.put(l.waiting)
	l.written += l.lines
	if err != nil {
		l.lost, l.failure = l.written, err
	}
	l.lines, l.waiting = 0, l.waiting[:0]
	if cap(l.waiting) > maxWaiting {
		l.waiting = nil
	}
	return err
}

func (l *Log) put(lines []byte) error {
	if err := l.open(); err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	if l.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := l.file.Write(lines)
	l.size += int64(n)
	if l.torn = n > 0 && n < len(lines) || l.torn && n == 0; err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
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
	return l.written + l.lines
}

// Earlier is a failure that cost lines of others, who had gone on before it was known.
type Earlier struct{ error }

// Settle has every line appended so far be written, and synced soon after. It fails where one after the first since is known
// to be lost, and as Earlier where another is: of a sync that fails, who asks next is told.
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

// tell is what is known to be lost, for who has lines after the first since. l.mu is held.
func (l *Log) tell(since int) error {
	own, another := l.lost > since, l.lost > l.told
	l.told = l.lost
	switch {
	case own:
		return l.failure
	case another:
		return Earlier{l.failure}
	}
	return nil
}

// settle has the lines that wait written, and a goroutine sync them. l.mu is held.
func (l *Log) settle() {
	_ = l.write() // tell tells
	l.wanted = l.written
	if !l.syncing && l.synced < l.wanted && l.file != nil {
		l.syncing = true
		l.work.Go(l.sync)
	}
}

// sync syncs what is wanted. Who wants more meanwhile shares the next round.
func (l *Log) sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.synced < l.wanted && l.file != nil {
		file, lines := l.file, l.written
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

// open makes sure that there is a file with room, and that it is the one in use: another process may have put it away,
// and would remove it in time. l.mu is held.
func (l *Log) open() error {
	if l.file != nil && (l.size >= l.opts.MaxSize || time.Since(l.looked) > glance && !l.inUse()) {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	if l.file != nil {
		return nil
	}
	if err := os.MkdirAll(l.opts.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.opts.Dir, current), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.info, l.size, l.looked = f, info, info.Size(), time.Now()
	if l.size > 0 { // a process that was killed may have left half a line
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, l.size-1); err == nil && last[0] != '\n' {
			l.torn = true
		}
	}
	return syncDir(l.opts.Dir)
}

// glance is how long the file is believed to be the one in use: as long as others need to fill several, at the least.
const glance = 10 * time.Millisecond

// inUse says whether the log's file is still the one that lines go to. l.mu is held.
func (l *Log) inUse() bool {
	began := time.Now()
	now, err := os.Stat(filepath.Join(l.opts.Dir, current))
	if err != nil || !os.SameFile(l.info, now) {
		return false
	}
	l.looked = began
	return true
}

// rotate puts the file away, unless another process has done that, and lets the oldest go.
func (l *Log) rotate() error {
	old, err := files(l.opts.Dir)
	if err != nil {
		return err
	}
	if l.inUse() {
		err := os.Rename(filepath.Join(l.opts.Dir, current), filepath.Join(l.opts.Dir, nextName(time.Now(), old)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else another process was faster
			return err
		}
	}
	l.reached(l.written, l.file.Sync())
	err = l.file.Close()
	l.file, l.torn = nil, false
	old, listErr := files(l.opts.Dir)
	old = slices.DeleteFunc(old, func(name string) bool { return name == current })
	for len(old) >= l.opts.Keep && len(old) > 0 {
		if gone := os.Remove(filepath.Join(l.opts.Dir, old[0])); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		old = old[1:]
	}
	return errors.Join(err, listErr)
}

// nextName is the name of a file that is put away: the time, or one after that of the newest there is. Clocks are set
// back, and the newest lines must not be taken for the oldest. Two processes never have one name, as one file would
// replace the other.
func nextName(now time.Time, old []string) string {
	for _, name := range old {
		if then, err := time.Parse(rotated, name); err == nil && !now.After(then) {
			now = then.Add(time.Duration(1 + rand.IntN(int(time.Second))))
		}
	}
	return now.UTC().Format(rotated)
}

// files are the names of a log's files, the oldest first.
func files(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if n := e.Name(); n != current && strings.HasPrefix(n, "audit-") && strings.HasSuffix(n, ".jsonl") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, e := range entries {
		if e.Name() == current {
			names = append(names, current)
		}
	}
	return names, err
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
	}
	return err
}
