package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/hint"

	"golang.org/x/sync/errgroup"
)

const (
	maxWheel = 4 << 30
	stalled  = 60 * time.Second // a download of which nothing came for so long is given up
)

// fetch has every wheel of a lock in the cache, each as what its hash says.
func (s *Store) fetch(ctx context.Context, l *Lock) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range l.Packages {
		g.Go(func() error { return s.fetchWheel(ctx, p) })
	}
	return g.Wait()
}

func (s *Store) fetchWheel(ctx context.Context, p Package) error {
	w := p.Wheel()
	file := filepath.Join(s.wheels(), p.wheelName())
	if sum, err := sumOf(ctx, file); err == nil && sum == w.Hashes["sha256"] {
		now := time.Now()
		_ = os.Chtimes(file, now, now)
		return nil
	}
	s.progress("fetching " + w.Name)
	from, err := s.open(ctx, w)
	if err != nil {
		return fmt.Errorf("fetching %s: %w; nothing was added", w.Name, err)
	}
	defer from.Close()
	f, err := os.CreateTemp(s.wheels(), tempName)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", w.Name, fileerr.Cause(err))
	}
	defer os.Remove(f.Name())
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(from, maxWheel+1))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("fetching %s: %w; nothing was added", w.Name, fileerr.Cause(err))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n > maxWheel || got != w.Hashes["sha256"] {
		return hint.New(
			fmt.Sprintf("%s is not what the index said: its SHA-256 is %s, and should be %s; nothing was added",
				w.Name, got, w.Hashes["sha256"]),
			"the index, or what is between it and here, gives out another file than it names; tell those who run it",
		)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("keeping %s: %w", w.Name, fileerr.Cause(err))
	}
	return nil
}

// open is the wheel's content, local or downloaded.
func (s *Store) open(ctx context.Context, w Wheel) (io.ReadCloser, error) {
	u, err := url.Parse(w.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		f, err := os.Open(filepath.FromSlash(u.Path))
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(err, f.Close(), fmt.Errorf("%q is no regular file", u.Path))
		}
		return f, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	body := &patient{cancel: cancel}
	body.timer = time.AfterFunc(stalled, func() { cancel(fmt.Errorf("nothing came for %v", stalled)) })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	answer, err := s.Client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, body.Close())
	}
	body.from, body.ctx = answer.Body, ctx
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answered %s", u.Host, answer.Status), body.Close())
	}
	return body, nil
}

// patient reads a download, and gives up one that has stalled.
type patient struct {
	from   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.timer.Reset(stalled)
	if err != nil && !errors.Is(err, io.EOF) && p.ctx.Err() != nil {
		err = context.Cause(p.ctx)
	}
	return n, err
}

func (p *patient) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	if p.from == nil {
		return nil
	}
	return p.from.Close()
}

// sumOf is the SHA-256 of a file.
func sumOf(ctx context.Context, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), context.Cause(ctx)
}
