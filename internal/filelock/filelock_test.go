package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTake(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.lock")
	synctest.Test(t, func(t *testing.T) {
		held, err := Take(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = Take(t.Context(), file)
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "another process") {
			t.Errorf("a lock that is held: %v", err)
		}
		if took := time.Since(began); took < timeout || took > timeout+time.Second {
			t.Errorf("it was waited for %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = Take(ctx, file)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), file) {
			t.Errorf("whoever wants it waits for less: %v", err)
		}
		time.AfterFunc(time.Second, func() { held.Close() })
		again, err := Take(t.Context(), file)
		if err != nil {
			t.Fatal("a lock that was given back:", err)
		}
		again.Close()
	})
	_, err := Take(t.Context(), filepath.Join(file, "none"))
	if err == nil || strings.Contains(err.Error(), "another process") {
		t.Errorf("a lock that cannot be: %v", err)
	}
	_, err = Take(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
}
