package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/require"
)

func read(t *testing.T, dir string) (records []Record) {
	t.Helper()
	if _, err := Read(dir, func(r Record, _ []byte) { records = append(records, r) }); err != nil {
		t.Fatal(err)
	}
	return records
}

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l := New(o)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func add(t *testing.T, l *Log, r Record) {
	t.Helper()
	if err := l.Append(r); err != nil {
		t.Error(err)
	}
}

func TestNothingIsMadeBeforeALine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := open(t, Options{Dir: dir, MaxSize: 1 << 20, Keep: 2})
	if err := l.Sync(0); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("there is something already: %v", err)
	}
	if records := read(t, dir); len(records) > 0 {
		t.Error(records)
	}
}

// TestSeveralWriters is about two processes, each with many runs: every line arrives whole, in however many files.
func TestSeveralWriters(t *testing.T) {
	dir := t.TempDir()
	logs := []*Log{open(t, Options{dir, 8 << 10, 1000}), open(t, Options{dir, 8 << 10, 1000})}
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 50 {
				r := Record{Event: Called, Run: fmt.Sprint(i), Call: n, Tool: strings.Repeat("x", 100)}
				if n%2 == 0 {
					logs[i%2].AppendAsync(r)
					continue
				}
				add(t, logs[i%2], r)
				if n%10 == 1 {
					if err := logs[i%2].Sync(0); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Wait()
	for _, l := range logs {
		if err := l.Sync(0); err != nil {
			t.Error(err)
		}
	}
	seen := map[string]int{}
	for _, r := range read(t, dir) {
		seen[r.Run]++
	}
	for i := range 8 {
		if seen[fmt.Sprint(i)] != 50 {
			t.Errorf("writer %d: %d lines of 50", i, seen[fmt.Sprint(i)])
		}
	}
	names, _ := files(dir)
	if len(names) < 3 {
		t.Errorf("no file was put away: %v", names)
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Options{dir, 200, 3})
	for n := range 50 {
		add(t, l, Record{Event: Called, Run: "r", Call: n, Tool: strings.Repeat("x", 200)})
	}
	names, _ := files(dir)
	records := read(t, dir)
	if len(names) != 3 || len(records) != 3 || records[2].Call != 49 || records[0].Call != 47 {
		t.Errorf("%v with %d records", names, len(records))
	}
}

// TestClockJumps has the clock be set back by years: the newest lines stay, and stay last.
func TestClockJumps(t *testing.T) {
	dir := t.TempDir()
	for n := range 2 {
		name := time.Date(2999, 1, 1, 0, 0, n, 0, time.UTC).Format(rotated)
		if err := os.WriteFile(
			filepath.Join(dir, name), fmt.Appendf(nil, "{\"event\":\"call\",\"run\":\"before %d\"}\n", n), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, Options{dir, 200, 3})
	for n := range 4 {
		add(t, l, Record{Event: Called, Run: fmt.Sprint("after ", n), Tool: strings.Repeat("x", 200)})
		if records := read(t, dir); records[len(records)-1].Run != fmt.Sprint("after ", n) || len(records) != 3 {
			t.Errorf("after line %d there are %d records, the last %+v", n, len(records), records[len(records)-1])
		}
	}
}

// TestHalfALine is what a killed process or a full disk leaves: it costs that line alone.
func TestHalfALine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(
		filepath.Join(dir, current), []byte("{\"event\":\"call\",\"run\":\"a\"}\n{\"event\":\"ca"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	l := open(t, Options{dir, 1 << 20, 2})
	add(t, l, Record{Event: Called, Run: "b"})
	add(t, l, Record{Event: Called, Run: "c"})
	var runs string
	skipped, err := Read(dir, func(r Record, _ []byte) { runs += r.Run })
	if skipped != 1 || err != nil || runs != "abc" {
		t.Errorf("%q, %d skipped, %v", runs, skipped, err)
	}
}

// TestOverlongLine holds that what is no line of ours hides none that is.
func TestOverlongLine(t *testing.T) {
	text := "{\"event\":\"call\",\"run\":\"a\"}\n" + strings.Repeat(
		"x", 3*maxLine,
	) + "\n{\"event\":\"call\",\"run\":\"b\"}"
	var runs string
	skipped, err := scan(strings.NewReader(text), func(r Record, _ []byte) { runs += r.Run })
	if skipped != 1 || err != nil || runs != "ab" {
		t.Errorf("%q, %d skipped, %v", runs, skipped, err)
	}
}

// TestUnwritable holds that a log that cannot be written says so, and goes on once it can.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, Options{dir, 1 << 20, 2})
	if err := l.Append(Record{Event: Called}); err == nil || !strings.Contains(err.Error(), "opening the audit log") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	add(t, l, Record{Event: Called, Run: "a"})
	if records := read(t, dir); len(records) != 1 {
		t.Error(records)
	}
}

// TestHash holds that equal arguments can be told in one tenant's log, and neither guessed nor compared with another's.
func TestHash(t *testing.T) {
	dir := t.TempDir()
	hash := func(dir, arguments string) string {
		h, err := open(t, Options{dir, 1 << 20, 2}).Hash([]byte(arguments))
		if err != nil || len(h) != 64 {
			t.Fatal(h, err)
		}
		return h
	}
	one := hash(dir, "{}")
	if one != hash(dir, "{}") || one == hash(dir, "{ }") || one == hash(t.TempDir(), "{}") {
		t.Error("a hash is of the arguments and of the tenant's key, and of nothing else")
	}
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil || len(key) != keySize || bytes.Equal(key, make([]byte, keySize)) {
		t.Errorf("%x %v", key, err)
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: dir}).Hash(nil); err == nil {
		t.Error("a damaged key is used")
	}
}

// TestPutAwayByAnother holds that a writer who has been idle while others have filled the log does not write into a
// file that is gone.
func TestPutAwayByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		idle, busy := open(t, Options{dir, 200, 3}), open(t, Options{dir, 200, 3})
		add(t, idle, Record{Event: Called, Run: "first"})
		for range 10 {
			add(t, busy, Record{Event: Called, Run: "busy", Tool: strings.Repeat("x", 200)})
		}
		<-time.After(2 * glance)
		add(t, idle, Record{Event: Called, Run: "last"})
		if err := idle.Sync(1); err != nil {
			t.Error(err)
		}
		records := read(t, dir)
		if len(records) == 0 || records[len(records)-1].Run != "last" {
			t.Errorf("the line is lost: %+v", records)
		}
		if names, _ := files(dir); len(names) != 3 {
			t.Errorf("files: %v", names)
		}
	})
}

// device makes a log whose file is one of the system's.
func device(t *testing.T, name string) *Log {
	dir := t.TempDir()
	if err := os.Symlink(name, filepath.Join(dir, current)); err != nil {
		require.Lacking(t, "devices", "%v", err)
	}
	if _, err := os.Stat(name); err != nil {
		require.Lacking(t, "devices", "%v", err)
	}
	return New(Options{dir, 1 << 20, 2})
}

// TestFullDisk holds that who appends is told.
func TestFullDisk(t *testing.T) {
	l := device(t, "/dev/full")
	if err := l.Append(Record{Event: Called}); err == nil || !strings.Contains(err.Error(), "writing the audit log: ") {
		t.Errorf("got %v", err)
	}
	since := l.Lines()
	l.AppendAsync(Record{Event: Called})
	if err := l.Sync(since); err == nil || !strings.Contains(err.Error(), "writing the audit log: ") {
		t.Errorf("of a line that nobody waited for: %v", err)
	}
	if err := l.Sync(l.Lines()); err != nil {
		t.Errorf("who has no line is told: %v", err)
	}
}

// TestFailedSync holds that each whose lines may not be on disk is told, also those for whom another has asked: the
// system tells it once. What nothing can be synced to is /dev/null: fsync(2), EINVAL.
func TestFailedSync(t *testing.T) {
	l := device(t, "/dev/null")
	one := l.Lines()
	add(t, l, Record{Event: Called, Run: "one"})
	two := l.Lines()
	add(t, l, Record{Event: Called, Run: "two"})
	three := l.Lines()
	for name, since := range map[string]int{"one": one, "two": two} {
		if err := l.Sync(since); err == nil || !strings.Contains(err.Error(), "writing the audit log: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.Sync(three); err != nil {
		t.Errorf("who has no line is told: %v", err)
	}
	add(t, l, Record{Event: Called})
	if err := l.Close(); err == nil {
		t.Error("the end does not tell of what is lost")
	}
}

// settled waits until what is wanted has been synced.
func (l *Log) settled() (synced, written int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing {
		l.round.Wait()
	}
	return l.synced, l.written
}

// TestSettle holds that lines are synced for whom nobody waits.
func TestSettle(t *testing.T) {
	l := open(t, Options{t.TempDir(), 1 << 20, 2})
	for n := range 20 {
		add(t, l, Record{Event: Called})
		l.AppendAsync(Record{Event: Called})
		if err := l.Settle(0); err != nil {
			t.Error(err)
		}
		if n%3 != 0 {
			continue // another has the disk still
		}
		if synced, written := l.settled(); synced != 2*(n+1) || written != synced {
			t.Errorf("%d of %d lines are synced, after %d", synced, written, 2*(n+1))
		}
	}
}

// TestSyncSoon holds that lines are synced before the end asks for it, and that their failure is told there.
func TestSyncSoon(t *testing.T) {
	l := open(t, Options{t.TempDir(), 1 << 20, 2})
	add(t, l, Record{Event: Called})
	l.SyncSoon()
	if synced, written := l.settled(); synced != 1 || written != 1 {
		t.Errorf("%d of %d lines are synced", synced, written)
	}
	failing := device(t, "/dev/null")
	add(t, failing, Record{Event: Called})
	failing.SyncSoon()
	if err := failing.Close(); err == nil {
		t.Error("nobody is told of a line that is lost")
	}
}

// TestFailedLater holds that of a sync that fails behind a result somebody is told, once.
func TestFailedLater(t *testing.T) {
	l := device(t, "/dev/null")
	add(t, l, Record{Event: Called, Run: "one"})
	_ = l.Settle(0) // the disk may have said it already
	l.settled()
	l.mu.Lock()
	l.told = 0
	l.mu.Unlock()
	if err := l.Settle(l.Lines()); !errors.As(err, new(EarlierWriteError)) ||
		!strings.Contains(err.Error(), "writing the audit log: ") {
		t.Errorf("the next is not told: %v", err)
	}
	if err := l.Settle(l.Lines()); err != nil {
		t.Errorf("it is told again: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the end tells again: %v", err)
	}
}

// TestKeysOfTheKilled has a key be made beside what codemodes left that were killed at that, one of them just now.
func TestKeysOfTheKilled(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, keyFile+".1"), filepath.Join(dir, keyFile+".2")
	for name, age := range map[string]time.Duration{old: unlinked + time.Second, young: 0} {
		then := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, Options{dir, 1 << 20, 2}).Hash(nil); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, keyFile+"*"))
	if len(left) != 2 || left[0] != filepath.Join(dir, keyFile) || left[1] != young {
		t.Errorf("there are %v", left)
	}
}
