package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"codemode/internal/plainfile"
)

const (
	keyFile = "audit.key"
	keySize = 32
)

// Hash is the HMAC-SHA-256 of a call's arguments, as they were sent, with a key that only this tenant has: who gets
// to see the log, but not the key, cannot find out by trying what the arguments were.
func (l *Log) Hash(arguments []byte) (string, error) {
	secret, err := l.key.load(l.opts.Dir)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(arguments)
	var sum [sha256.Size]byte
	return hex.EncodeToString(mac.Sum(sum[:0])), nil
}

// key is read once, or until that works.
type key struct {
	mu     sync.Mutex // held while it is read: nobody can do anything without
	secret []byte
}

func (k *key) load(dir string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.secret != nil {
		return k.secret, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	secret, err := loadKey(filepath.Join(dir, keyFile))
	if err == nil {
		k.secret = secret
	}
	return secret, err
}

const maxKey = 1 << 10 // bytes that are read where the key should be

// loadKey reads the key, making it when there is none. Of several processes that do, one makes the key of all.
func loadKey(name string) ([]byte, error) {
	sweepKeys(name)
	key, err := plainfile.Read(name, maxKey)
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil && len(key) != keySize {
			err = errors.New("it is damaged: remove it, and later hashes will differ from those of before")
		}
		if err != nil {
			err = fmt.Errorf("the key of hashes %q: %w", name, err)
		}
		return key, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), keyFile+".*") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	fresh := make([]byte, keySize)
	_, _ = rand.Read(fresh) // never fails (package crypto/rand)
	_, err = f.Write(fresh)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return plainfile.Read(name, maxKey)
}

// unlinked is how old a key of another name must be for its maker to have been killed.
const unlinked = time.Minute

// sweepKeys removes keys that were made and given no name of use.
func sweepKeys(name string) {
	temps, _ := filepath.Glob(name + ".*")
	for _, temp := range temps {
		if fi, err := os.Lstat(temp); err == nil && time.Since(fi.ModTime()) > unlinked {
			_ = os.Remove(temp)
		}
	}
}
