package container

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// imageVariable names the image of the tests, else it is the first of images that the engine has.
const imageVariable = "CODEMODE_TEST_IMAGE"

// images are what .ci/engines makes, and the default of sandbox.image.
var images = []string{"localhost/codemode-test:latest", "python:3.14-slim"}

// eachEngine runs a test with a runtime of each engine.
func eachEngine(t *testing.T, test func(t *testing.T, r *Runtime)) {
	sandboxtest.EachEngine(t, func(t *testing.T, engine, feature string) { test(t, newRuntime(t, engine, feature)) })
}

// newRuntime returns a runtime that works here, or skips the test.
func newRuntime(t testing.TB, engine, feature string) *Runtime {
	t.Helper()
	r := New(Options{Engine: engine, Image: "none", CacheDir: t.TempDir(), Lookup: os.LookupEnv, Log: testLog(t)})
	_, err := r.Probe(t.Context())
	for range 4 { // an engine on a busy machine
		if unavailable := (*sandbox.UnavailableError)(nil); !errors.As(err, &unavailable) ||
			unavailable.Code != "no-answer" {
			break
		}
		_, err = r.Probe(t.Context())
	}
	if err != nil {
		missing(t, feature, err)
	}
	if image := os.Getenv(imageVariable); image != "" {
		r.opts.Image = image
	} else {
		for _, image := range images {
			r.opts.Image = image
			if ok, err := r.Image().Present(t.Context()); ok {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if ok, err := r.Image().Present(t.Context()); err != nil {
		t.Fatal(err)
	} else if !ok {
		missing(t, feature, errors.New("no image: run .ci/engines/setup, or set "+imageVariable))
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
		if left := containers(t, r); len(left) > 0 {
			t.Errorf("containers are left: %v", left)
		}
	})
	return r
}

func missing(t testing.TB, feature string, err error) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		require.Lacking(t, feature, "%v", err)
	}
	t.Skip(err)
}

// containers lists those that this process owns.
func containers(t testing.TB, r *Runtime) []string {
	t.Helper()
	e, err := r.ready(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.ask(
		context.WithoutCancel(t.Context()), "ps", "-a", "--filter", "label="+labelOwner+"="+e.owner.String(),
		"--format", "{{.ID}} {{.Names}} {{.Status}}",
	)
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(out, func(c rune) bool { return c == '\n' })
}
