// Package secrets keeps values that entries of servers refer to by name, so that none of them has to stand in a file
// that is shared or shown.
//
// It owns one file of the tenant's, which its user alone can read, and changes it under a lock; where a keyring
// answers, values are sealed in there (package keyring). It never logs or shows a value, and names none in an error.
// Nothing needs closing.
package secrets

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codemode/internal/atomicfile"
	"codemode/internal/cachedir"
	"codemode/internal/filelock"
	"codemode/internal/hint"
	"codemode/internal/keyring"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
)

// MaxValue is how many bytes a value may have.
const MaxValue = 64 << 10

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ErrNone is a secret that is not kept.
var ErrNone = errors.New("there is no such secret")

// ErrTaken is returned for a name that a secret has.
var ErrTaken = fmt.Errorf("there is a secret of that name: %w", fs.ErrExist)

var errNowhere = errors.New("there is no folder for the state of codemode, so no secret can be kept")

// A Store is the secrets of a tenant, in a file whose folder is made when the first is kept. Of the zero value there
// are none.
type Store struct {
	File string
	Ring *keyring.Ring // nil: values stand in the file in the clear
}

// value is one as it stands in the file: a text, or sealed.
type value struct {
	text   string
	sealed *keyring.Sealed
}

// MarshalJSON is how it stands there.
func (v value) MarshalJSON() ([]byte, error) {
	if v.sealed != nil {
		return json.Marshal(v.sealed)
	}
	return json.Marshal(v.text)
}

// UnmarshalJSON reads it.
func (v *value) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &v.text)
	}
	if err := json.Unmarshal(data, &v.sealed); err != nil || v.sealed == nil || v.sealed.Key == "" {
		return errors.New("it is no value")
	}
	return nil
}

// A Kept is a secret without its value.
type Kept struct {
	Name   string
	Sealed bool // by a key in the keyring
}

// CheckName refuses what cannot be the name of a secret.
func CheckName(name string) error {
	if validName().MatchString(name) {
		return nil
	}
	return fmt.Errorf("%.80q is no name for a secret: letters, digits, _, . and -, at most 64 of them", name)
}

// List are all secrets, in the order of their names. No keyring is asked.
func (s *Store) List() (list []Kept, err error) {
	values, err := s.read()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, Kept{name, values[name].sealed != nil})
	}
	return list, err
}

// Has is nil where there is a secret of that name, whatever its value: no keyring is asked.
func (s *Store) Has(name string) error {
	values, err := s.read()
	if _, ok := values[name]; err == nil && !ok {
		err = ErrNone
	}
	return err
}

// Get returns a value; [ErrNone] where there is none of that name.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	values, err := s.read()
	if err != nil {
		return "", err
	}
	v, ok := values[name]
	switch {
	case !ok:
		return "", ErrNone
	case v.sealed == nil:
		return v.text, nil
	}
	text, err := s.Ring.Open(ctx, about(name), v.sealed)
	if err != nil {
		return "", fmt.Errorf("opening the secret %q: %w", name, err)
	}
	return string(text), nil
}

// about is what a secret is sealed as.
func about(name string) string { return "secret " + name }

// isKey says whether a text is one private key in PEM and nothing else, which sign-ins take; it has lines.
func isKey(text string) bool {
	block, rest := pem.Decode([]byte(text))
	return block != nil && strings.HasPrefix(text, "-----BEGIN ") && strings.HasSuffix(block.Type, "PRIVATE KEY") &&
		len(block.Headers) == 0 && strings.TrimSpace(string(rest)) == ""
}

// Check refuses a value that could not be kept as it is.
func Check(text string) error {
	switch {
	case text == "":
		return errors.New("the secret is empty")
	case len(text) > MaxValue:
		return fmt.Errorf("the secret has more than the %d bytes that are kept", MaxValue)
	case isKey(text):
		return nil
	case strings.ContainsAny(text, "\x00\r\n"):
		return errors.New("the secret has more than one line, or a zero byte, which no header and no variable can hold")
	case !utf8.ValidString(text):
		return errors.New("the secret is not in UTF-8, as it must be to be kept unchanged")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("the secret has a control character, such as a key typed by mistake leaves")
	}
	return nil
}

// A Setting says how a value was kept.
type Setting struct {
	Replaced bool   // another one
	Sealed   bool   // by a key in the keyring
	Why      string // why not, where it was to be
}

// Set keeps a value.
func (s *Store) Set(ctx context.Context, name, text string) (Setting, error) {
	return s.set(ctx, name, text, true)
}

// Add keeps a value under a name that no other has: else the error is ErrTaken.
func (s *Store) Add(ctx context.Context, name, text string) error {
	_, err := s.set(ctx, name, text, false)
	return err
}

func (s *Store) set(ctx context.Context, name, text string, replace bool) (done Setting, err error) {
	if err := errors.Join(CheckName(name), Check(text)); err != nil {
		return done, err
	}
	v := value{text: text} // sealed before the lock is taken: a keyring may be waiting for its user
	if v.sealed, done.Why, err = s.Ring.Seal(ctx, about(name), []byte(text)); err != nil {
		return done, err
	}
	done.Sealed = v.sealed != nil
	err = s.change(ctx, func(values map[string]value) error {
		if _, done.Replaced = values[name]; done.Replaced && !replace {
			return ErrTaken
		}
		values[name] = v
		return nil
	})
	return done, err
}

// Remove forgets secrets: all that are named, or, where one is not kept, none.
func (s *Store) Remove(ctx context.Context, names ...string) error {
	return s.change(ctx, func(values map[string]value) error {
		for _, name := range names {
			if _, ok := values[name]; !ok {
				return fmt.Errorf("%.80q: %w", name, ErrNone)
			}
		}
		for _, name := range names {
			delete(values, name)
		}
		return nil
	})
}

func (s *Store) read() (map[string]value, error) {
	values := map[string]value{}
	if s.File == "" {
		return values, nil
	}
	info, err := os.Lstat(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return values, nil
	}
	if err == nil && !info.Mode().IsRegular() { // nor is it replaced: a pipe would not end, and a link leads elsewhere
		err = errors.New("it is no regular file")
	}
	if err == nil {
		if err := s.isPrivate(info); err != nil {
			return nil, err
		}
	}
	var data []byte
	if err == nil {
		data, err = plainfile.Read(s.File, maxSecrets)
	}
	if err == nil && (json.Unmarshal(data, &values) != nil || values == nil) { // its error would quote what it has read
		err = errors.New("it is no JSON object of texts")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the secrets in %q: %w", s.File, err)
	}
	return values, nil
}

const maxSecrets = 64 << 20 // bytes of the file that are read

// isPrivate refuses a file that others can read or change, or could have put there.
func (s *Store) isPrivate(file fs.FileInfo) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir := filepath.Dir(s.File)
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path   string
		info   fs.FileInfo
		open   fs.FileMode
		what   string
		closes string
	}{
		{s.File, file, 0o077, "", "chmod 600"}, {dir, folder, 0o022, "its folder: ", "chmod go-w"},
	} {
		mode := f.info.Mode()
		uid, ok := cachedir.Owner(f.info)
		switch {
		case ok && uid != os.Geteuid() && uid != 0:
			return &OpenError{s.File, f.what + "it is another user's", fmt.Sprintf("chown %d", os.Geteuid()), f.path}
		case mode.IsDir() && mode&fs.ModeSticky != 0: // in which nobody can replace another's file
		case mode.Perm()&f.open != 0:
			return &OpenError{s.File, fmt.Sprintf("%smode %04o", f.what, mode.Perm()), f.closes, f.path}
		}
	}
	return nil
}

// An OpenError is a file of secrets that others than its user can read, write or replace.
type OpenError struct {
	File        string
	Why         string
	command, of string // that mends it
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("the secrets in %q are not used: others can read or change them (%s)", e.File, e.Why)
}

// Hint is what to do about it.
func (e *OpenError) Hint() []string { return []string{e.command + " " + hint.Word(e.of)} }

// change does something to the values and writes them, under the lock.
func (s *Store) change(ctx context.Context, change func(map[string]value) error) error {
	if s.File == "" {
		return errNowhere
	}
	dir := filepath.Dir(s.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keeping a secret: %w", err)
	}
	lock, err := filelock.Take(ctx, strings.TrimSuffix(s.File, ".json")+".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	values, err := s.read()
	if err != nil {
		return err
	}
	if err := change(values); err != nil {
		return err
	}
	data, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteLocked(s.File, append(data, '\n')); err != nil {
		return fmt.Errorf("keeping a secret: %w", err)
	}
	return nil
}
