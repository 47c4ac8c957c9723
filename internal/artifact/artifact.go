// Package artifact keeps the files that a tenant's code has left, for later runs and for the tenant's user.
//
// It owns one directory of the state, with a folder and a description for each artifact; what it holds takes its room
// from the tenant's budget, where the oldest goes first. It never executes, follows or interprets what it is given:
// that comes as a reader, with a name that is anybody's. Whoever calls [Store.Open] closes the file; nothing else
// needs closing.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/filelock"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
	"codemode/internal/quota"
)

// Artifact is one file, as it was when it was kept.
type Artifact struct {
	ID     string    `json:"id"`     // of its name and content: the same file is the same artifact
	Name   string    `json:"name"`   // as SafeName has it, with its folders
	Type   string    `json:"type"`   // of MIME; a guess
	Size   int64     `json:"size"`   // in bytes
	SHA256 string    `json:"sha256"` // in hexadecimal
	Run    string    `json:"run,omitempty"`
	Made   time.Time `json:"made"`
}

// URIPrefix begins the address of an artifact, as clients read it.
const URIPrefix = "codemode://artifacts/"

// URI is the artifact's address.
func (a Artifact) URI() string { return URIPrefix + a.ID }

// maxKept is how many artifacts a tenant has: names and times are no bytes, but take room all the same.
const maxKept = 1000

// Store is the directory of a tenant's artifacts.
type Store struct {
	dir  string
	disk *quota.Budget
	max  int
}

// New returns the store in a directory, which is made when there is something to keep.
func New(dir string, disk *quota.Budget) *Store { return &Store{dir, disk, maxKept} }

// ErrNone is an artifact that is not there.
var ErrNone = hint.New("there is no such artifact", "there are: codemode artifacts")

var (
	errShorter   = errors.New("it became shorter while it was read")
	errMadeRoom  = errors.New("it was removed again to make room for others")
	errCollision = errors.New("another artifact has its ID")
)

const (
	// temporary begins the names of files that are being written.
	temporary = ".new-"
	// saving is the lock that all share who are writing.
	saving = ".saving"

	idLength = 12 // 60 bits
	meta     = ".json"
)

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

var validID = lazyregexp.New(`^[a-z2-7]{12}$`)

// A Saving keeps the files that one run has left. One goroutine uses it, and closes it.
type Saving struct {
	store *Store
	run   string

	begun io.Closer // that others leave alone what this one is writing; nil before it does
	ahead *os.File  // takes the room of small files that follow: all that is kept is not counted for each of them
	left  int64     // of that
	used  int64
}

// maxAhead bounds the room that is taken ahead, which is no more than the run has used in any case.
const maxAhead = 1 << 20

// Save begins to keep what a run has left.
func (s *Store) Save(run string) *Saving { return &Saving{store: s, run: run} }

// Close removes the oldest artifacts, where there are too many now.
func (b *Saving) Close() {
	b.release()
	if b.begun != nil {
		_ = b.begun.Close()
	}
	b.store.limit()
}

// Put keeps what r has, size bytes, by a name that may be anything. Its content reaches the disk as the system sees
// fit: after a power failure an artifact may be missing, and none is half of one.
func (b *Saving) Put(ctx context.Context, name string, size int64, r io.Reader) (Artifact, error) {
	temp, err := b.reserve(ctx, size)
	if err != nil {
		return Artifact{}, err
	}
	defer os.Remove(temp.Name()) // unless it has its own name by then
	n, sum, head, err := copyHashed(temp, io.LimitReader(r, size), max(1, min(size, chunk)))
	if err == nil && n < size {
		err = errShorter
	}
	// Who is given its path may read it.
	if err = errors.Join(err, temp.Chmod(0o400), temp.Close()); err != nil {
		return Artifact{}, err
	}
	a := Artifact{
		Name: SafeName(name), Size: size, SHA256: hex.EncodeToString(sum), Run: b.run,
		Made: time.Now().UTC().Truncate(time.Second),
	}
	id := sha256.Sum256(append([]byte(a.Name+"\x00"), sum...))
	a.ID, a.Type = strings.ToLower(encoding.EncodeToString(id[:])[:idLength]), typeOf(a.Name, head)
	if before, err := b.store.Get(a.ID); err == nil && before.SHA256 != a.SHA256 {
		return Artifact{}, errCollision
	}
	return a, b.store.name(temp.Name(), a)
}

// reserve makes a file that already takes the room of what is to be written to it.
func (b *Saving) reserve(ctx context.Context, size int64) (f *os.File, err error) {
	if b.begun != nil && size <= b.left && b.isThere() {
		if f, err = b.store.newFile(size); err == nil && size > 0 {
			b.left -= size
			_ = b.ahead.Truncate(b.left) // what that leaves counts for no longer than the saving
		}
	} else if f, err = b.take(ctx, size, min(b.used, maxAhead)); errors.As(err, new(*quota.FullError)) {
		f, err = b.take(ctx, size, 0)
	}
	b.used += size
	return f, err
}

// isThere says whether the room that was taken ahead still is: it goes as the oldest of all that is kept does.
func (b *Saving) isThere() bool {
	if b.ahead == nil {
		return b.left == 0
	}
	_, err := os.Lstat(b.ahead.Name())
	return err == nil
}

// take makes a file in room that is the budget's, and takes more room ahead.
func (b *Saving) take(ctx context.Context, size, ahead int64) (f *os.File, err error) {
	b.release()
	s := b.store
	err = s.disk.Add(ctx, size+ahead, "", func() error {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
		if b.begun == nil {
			if b.begun, err = s.begin(ctx); err != nil {
				return err
			}
		}
		if f, err = s.newFile(size); err != nil || ahead == 0 {
			return err
		}
		if b.ahead, err = s.newFile(ahead); err == nil {
			b.left = ahead
		}
		return nil
	})
	return f, err
}

// release gives back the room that was taken ahead.
func (b *Saving) release() {
	if b.ahead != nil {
		_ = errors.Join(b.ahead.Close(), os.Remove(b.ahead.Name())) // what stays is swept
	}
	b.ahead, b.left = nil, 0
}

// newFile makes a file of a size that is to be written.
func (s *Store) newFile(size int64) (*os.File, error) {
	f, err := os.CreateTemp(s.dir, temporary+"*")
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// name gives a written file its place and its description, in that order: what is described is there.
func (s *Store) name(temp string, a Artifact) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		err := os.MkdirAll(filepath.Join(s.dir, a.ID), 0o700)
		if err == nil {
			err = os.Rename(temp, s.content(a))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) { // which one that goes just then is told as
			return err
		}
		if _, gone := os.Lstat(temp); gone != nil || try == 3 {
			return errMadeRoom
		} // its folder was removed with another of that ID
	}
	// It is as little synced as its content: without that it would be worth nothing.
	description, err := os.CreateTemp(s.dir, temporary+"*")
	if err != nil {
		return err
	}
	_, err = description.Write(data)
	if err = errors.Join(err, description.Close()); err == nil {
		err = os.Rename(description.Name(), filepath.Join(s.dir, a.ID+meta))
	}
	if err != nil {
		_ = os.Remove(description.Name())
	}
	return err
}

// content is where an artifact's content is.
func (s *Store) content(a Artifact) string { return filepath.Join(s.dir, a.ID, path.Base(a.Name)) }

// begin says that somebody is writing. Where nobody else is, what is half written is of processes that were killed.
func (s *Store) begin(ctx context.Context) (io.Closer, error) {
	name := filepath.Join(s.dir, saving)
	if alone, _ := filelock.Try(name); alone != nil {
		s.sweep()
		_ = alone.Close()
	}
	lock, err := filelock.Share(ctx, name)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// sweep removes what is half written, and content that has no description.
func (s *Store) sweep() {
	entries, _ := os.ReadDir(s.dir)
	described := map[string]bool{}
	for _, e := range entries {
		id, yes := strings.CutSuffix(e.Name(), meta)
		described[id] = described[id] || yes
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), temporary) && (!e.IsDir() || described[e.Name()]) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
	}
}

// limit removes the oldest of too many.
func (s *Store) limit() {
	entries, _ := os.ReadDir(s.dir)
	if len(entries) <= 2*s.max {
		return // each has two
	}
	list := s.List()
	for _, a := range list[min(s.max, len(list)):] {
		_ = s.remove(a)
	}
}

// List returns the artifacts, the newest first. One whose content was removed to make room is none.
func (s *Store) List() (list []Artifact) {
	entries, _ := os.ReadDir(s.dir) // without a directory there are none
	for _, e := range entries {
		id, described := strings.CutSuffix(e.Name(), meta)
		if !described || strings.HasPrefix(id, ".") {
			continue
		}
		if a, err := s.Get(id); err == nil {
			list = append(list, a)
		} else if errors.Is(err, ErrNone) {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		}
	}
	slices.SortFunc(list, func(a, b Artifact) int {
		if c := b.Made.Compare(a.Made); c != 0 {
			return c
		}
		return strings.Compare(a.Name+a.ID, b.Name+b.ID)
	})
	return list
}

// maxRecord is how large the file of what is known of an artifact may be, in bytes.
const maxRecord = 64 << 10

// Get describes one artifact.
func (s *Store) Get(id string) (a Artifact, err error) {
	if !validID().MatchString(id) {
		return a, ErrNone
	}
	data, err := plainfile.Read(filepath.Join(s.dir, id+meta), maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, ErrNone
	case err != nil:
		return a, fmt.Errorf("reading what is known of %q: %w", id, err)
	}
	if err := json.Unmarshal(data, &a); err != nil || a.ID != id || a.Name == "" || !filepath.IsLocal(a.Name) {
		return a, ErrNone // it was cut off with the machine's power
	}
	fi, err := os.Lstat(s.content(a))
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != a.Size {
		return a, ErrNone
	}
	return a, nil
}

// Open opens an artifact's content, to be read.
func (s *Store) Open(id string) (*os.File, Artifact, error) {
	a, err := s.Get(id)
	if err != nil {
		return nil, a, err
	}
	f, err := os.Open(s.content(a))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	return f, a, err
}

// Path is the file with an artifact's content, for programs that take a path.
func (s *Store) Path(a Artifact) string { return s.content(a) }

// Remove removes artifacts; none of them, where one is not there.
func (s *Store) Remove(ids ...string) error {
	for _, id := range ids {
		if _, err := os.Lstat(filepath.Join(s.dir, id+meta)); !validID().MatchString(id) || err != nil {
			return fmt.Errorf("%q: %w", id, ErrNone)
		}
	}
	for _, id := range ids {
		if err := s.remove(Artifact{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) remove(a Artifact) error {
	return errors.Join(os.RemoveAll(filepath.Join(s.dir, a.ID)), os.RemoveAll(filepath.Join(s.dir, a.ID+meta)))
}

const (
	chunk    = 1 << 20
	headSize = 512 // bytes that a type is guessed from
)

// copyHashed copies, and hashes what it has copied while it reads on.
func copyHashed(to io.Writer, from io.Reader, chunk int64) (n int64, sum, head []byte, err error) {
	hash := sha256.New()
	free, full, hashed := make(chan []byte, 2), make(chan []byte, 2), make(chan struct{})
	free <- make([]byte, chunk)
	free <- make([]byte, chunk)
	go func() {
		defer close(hashed)
		for p := range full {
			hash.Write(p)
			free <- p[:chunk]
		}
	}()
	for err == nil {
		p := <-free
		var k int
		k, err = io.ReadFull(from, p)
		if n == 0 {
			head = slices.Clone(p[:min(k, headSize)])
		}
		written, failed := to.Write(p[:k])
		n += int64(written)
		full <- p[:k]
		if failed != nil {
			err = failed
		}
	}
	close(full)
	<-hashed
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, hash.Sum(nil), head, err
}
