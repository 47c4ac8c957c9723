// Package keyring keeps values from standing in a file in the clear: it seals them with a key that the system's keyring
// holds (Secret Service, macOS's Keychain, Windows' Credential Manager).
//
// It owns one item in the keyring for each tenant, and the file that names it. It never keeps a value itself, and never
// waits for a keyring without an end. What it starts to ask a keyring ends with the answer, or when its patience does.
package keyring

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"

	"codemode/internal/atomicfile"
	"codemode/internal/filelock"
	"codemode/internal/plainfile"
)

// service is what items of codemode's are called in a keyring.
const service = "codemode"

// idFile names the item of a tenant.
const idFile = "keyring.id"

// A Ring seals values of a tenant. A nil one seals none.
type Ring struct {
	Dir   string // the tenant's folder for state
	Store string // "auto", "keyring" or "file": the setting secrets.store
	Slow  func() // told once when a keyring lets codemode wait, as one does that asks its user for a password
}

// Sealed is a value that only who has the key can read.
type Sealed struct {
	Key  string `json:"keyring"` // the item in the keyring
	Data []byte `json:"sealed"`
}

// An AbsentError says why no keyring can be used.
type AbsentError struct{ Why error }

func (e *AbsentError) Error() string { return fmt.Sprintf("the keyring cannot be used: %v", e.Why) }

func (e *AbsentError) Unwrap() error { return e.Why }

// Hint is what to do about it.
func (e *AbsentError) Hint() []string {
	return []string{"unlock or start the keyring; CODEMODE_SECRETS_STORE=file does without for what is kept from now on"}
}

// Seal seals a value; about says what it is, and must be said again to open it. Where the value is to stand in a file
// in the clear, there is no Sealed, and why says why where that was not asked for.
func (r *Ring) Seal(ctx context.Context, about string, value []byte) (s *Sealed, why string, err error) {
	if r == nil || r.Store == "file" {
		return nil, "", nil
	}
	id, key, err := r.current(ctx)
	if absent := (*AbsentError)(nil); r.Store != "keyring" && errors.As(err, &absent) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	s, err = seal(id, key, about, value)
	return s, "", err
}

// Again seals a value that takes the place of one that is sealed, by the same key.
func (r *Ring) Again(ctx context.Context, about string, value []byte, old *Sealed) (*Sealed, error) {
	key, err := r.fetch(ctx, old.Key)
	if err != nil {
		return nil, err
	}
	return seal(old.Key, key, about, value)
}

func seal(id string, key []byte, about string, value []byte) (*Sealed, error) {
	box, err := newBox(key)
	if err != nil {
		return nil, err
	}
	return &Sealed{id, box.Seal(nil, nil, value, []byte(about))}, nil
}

// Open opens what was sealed.
func (r *Ring) Open(ctx context.Context, about string, s *Sealed) ([]byte, error) {
	key, err := r.fetch(ctx, s.Key)
	if errors.Is(err, keyring.ErrNotFound) {
		err = &AbsentError{errors.New("the key that codemode kept in it is not there any more; what it sealed is lost")}
	}
	if err != nil {
		return nil, err
	}
	box, err := newBox(key)
	if err != nil {
		return nil, err
	}
	value, err := box.Open(nil, nil, s.Data, []byte(about))
	if err != nil {
		return nil, errors.New("what was sealed has been changed, or was put in another's place, and is not used")
	}
	return value, nil
}

func newBox(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// current is the tenant's key, made when it is first needed. It is made under a lock: of two keys, what one has sealed
// would be lost.
func (r *Ring) current(ctx context.Context) (id string, key []byte, err error) {
	if r.Dir == "" {
		return "", nil, &AbsentError{errors.New("there is no folder for the state of codemode")}
	}
	if id, err = r.id(); err != nil {
		return "", nil, err
	}
	key, err = r.fetch(ctx, cmp.Or(id, "none")) // in vain, too: a keyring asks for its password outside the lock
	if !errors.Is(err, keyring.ErrNotFound) {
		return id, key, err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("keeping a key: %w", err)
	}
	lock, err := filelock.Take(ctx, filepath.Join(r.Dir, "keyring.lock"))
	if err != nil {
		return "", nil, err
	}
	defer lock.Close()
	if now, err := r.id(); err != nil || now != id { // another process was first
		key, err = r.fetch(ctx, now)
		return now, key, err
	}
	return r.create(ctx)
}

func (r *Ring) create(ctx context.Context) (id string, key []byte, err error) {
	id, key = filepath.Base(r.Dir)+" "+rand.Text(), make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	err = r.ask(ctx, func() error {
		return keyring.Set(service, id, base64.StdEncoding.EncodeToString(key))
	})
	if err != nil {
		return "", nil, err
	}
	switch kept, err := r.fetch(ctx, id); { // macOS's command does not tell when it has failed
	case err != nil && !errors.Is(err, keyring.ErrNotFound):
		return "", nil, err
	case string(kept) != string(key):
		return "", nil, &AbsentError{errors.New("it does not return what it was given")}
	}
	if err := atomicfile.WriteLocked(filepath.Join(r.Dir, idFile), []byte(id+"\n")); err != nil {
		return "", nil, fmt.Errorf("keeping a key: %w", err)
	}
	return id, key, nil
}

const maxID = 1 << 10 // bytes of the file with the name of the tenant's item

// id is the name of the tenant's item; empty where there is none yet.
func (r *Ring) id() (string, error) {
	data, err := plainfile.Read(filepath.Join(r.Dir, idFile), maxID)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// fetch is a key in the keyring, which is asked for it once in the life of this process.
func (r *Ring) fetch(ctx context.Context, id string) ([]byte, error) {
	if key, ok := known.Load(id); ok {
		return key.([]byte), nil
	}
	var text string
	err := r.ask(ctx, func() (err error) {
		text, err = keyring.Get(service, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, &AbsentError{errors.New("what it has for codemode is no key")}
	}
	known.Store(id, key)
	return key, nil
}

// Forget removes the tenant's item from the keyring; what it has sealed can be read no more.
func (r *Ring) Forget(ctx context.Context) error {
	id, err := r.id()
	if err != nil || id == "" {
		return err
	}
	err = r.ask(ctx, func() error { return keyring.Delete(service, id) })
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return err
	}
	known.Delete(id)
	return os.Remove(filepath.Join(r.Dir, idFile))
}
