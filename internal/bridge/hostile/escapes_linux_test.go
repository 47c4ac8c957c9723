package hostile

import (
	"errors"
	"iter"
	"os"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/escape"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"
)

func TestNativeEscapes(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := sandbox.NewNative(sandbox.NativeOptions{
			CacheDir: t.TempDir(), Python: python.Source{CacheDir: sandboxtest.PythonCache(t)},
		})
		if _, err := rt.Probe(t.Context()); err != nil {
			var unavailable *sandbox.UnavailableError
			if !errors.As(err, &unavailable) {
				t.Fatal(err)
			}
			require.Lacking(t, "native", "%s: %v", unavailable.Code, err)
		}
		inSession := sandboxtest.Attempted
		if os.Geteuid() == 0 { // what they attack is the same for an ordinary user, as whom all are made
			inSession = ofSessions
		}
		attack(t, rt, sandboxtest.Attempted, inSession, enough)
	})
}

// image is made by .ci/engines/setup.
const image = "localhost/codemode-test:latest"

func TestEngineEscapes(t *testing.T) {
	sandboxtest.EachContainer(t, func(t *testing.T, engine, feature string) {
		if raced {
			return // what the detector watches is this process, which does here what it does for the native runtime
		}
		opts := container.Options{Engine: engine, Image: image, CacheDir: t.TempDir(), Lookup: os.LookupEnv}
		if engine == container.Kubernetes {
			opts.Image = sandboxtest.PodImage()
		}
		rt := container.New(opts)
		t.Cleanup(func() { rt.Close() })
		present, err := rt.Image().Present(t.Context())
		if err != nil || !present {
			require.Lacking(t, feature, "%v", errors.Join(err, errors.New("image "+image+": see .ci/engines")))
		}
		if feature == "podman-rootless" {
			attack(t, rt, sandboxtest.Attempted, ofSessions, enough)
		} else { // .ci/escapes makes all
			attack(t, rt, sandboxtest.Sampled, sandboxtest.Wanted, 0)
		}
	})
}

// ofSessions chooses the attempts of a session to reach its neighbours. What the others attack is the bridge and Python,
// which are the same whatever the sandbox.
func ofSessions(a escape.Attempt) bool {
	return sandboxtest.Wanted(a) || sandboxtest.Attempted(a) && a.Group == "sessions"
}

// enough is how many attempts a runtime must withstand.
const enough = 120

// attack makes those attempts of a guest and of a session that are chosen against a runtime, and fails for each that
// succeeds.
func attack(t *testing.T, rt sandbox.Runtime, inGuest, inSession func(escape.Attempt) bool, least int) {
	t.Helper()
	before := sandboxtest.TakeLeftovers(t)
	policy := escape.Small(sandbox.DefaultPolicy())
	made, escaped := 0, 0
	guest := escape.Options{Policy: policy, AtOnce: sandboxtest.EscapesAtOnce, Only: inGuest}
	for _, results := range []iter.Seq2[escape.Result, error]{
		escape.Run(t.Context(), rt, guest),
		Run(t.Context(), Options{Runtime: rt, Policy: policy, AtOnce: sandboxtest.EscapesAtOnce, Only: inSession}),
	} {
		for r, err := range results {
			if err == nil {
				err = r.Err()
				made++
			}
			if r.Verdict == escape.Escaped && r.Known == "" {
				escaped++
			}
			if err != nil { // what held would hide it among hundreds of lines; doctor --escape lists all
				t.Errorf("%-28s %-8s %6d ms  %.150q: %v", r.Name, r.Verdict, r.Took.Milliseconds(), r.Detail, err)
			}
		}
	}
	t.Logf("%d attempts, %d escaped", made, escaped)
	if sandboxtest.AllAttempted() && made < least {
		t.Errorf("%d attempts were made; at least %d must be", made, least)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	before.Check(t)
}
