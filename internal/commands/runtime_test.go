package commands

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

// picky is a runtime whose Python can use no packages.
type picky struct {
	sandbox.Runtime
	started []string // the packages of each start
}

func (p *picky) Start(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	p.started = append(p.started, spec.Packages.Host)
	if spec.Packages.Host != "" {
		return nil, &sandbox.PackagesError{Runtime: "podman", Has: "cpython-311", Want: spec.Packages.ABI}
	}
	return nil, nil
}

// TestStartsWithoutPackages: a guest whose Python cannot use the packages has none, unless its program asks for some;
// where that is known, it is not tried again.
func TestStartsWithoutPackages(t *testing.T) {
	var log strings.Builder
	rt := &picky{}
	n := &tenantRuntime{
		Runtime: rt, tenancy: &tenancy{}, log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	spec := sandbox.Spec{Packages: sandbox.Packages{Host: "/layer", ABI: "cpython-314"}}
	for range 2 {
		if _, err := n.startWith(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(rt.started, ","); got != "/layer,," {
		t.Errorf("started with %q", got)
	}
	if said := log.String(); strings.Count(said, "code runs without the packages") != 1 ||
		!strings.Contains(said, "cpython-314") || !strings.Contains(said, "cpython-311") {
		t.Errorf("told: %s", said)
	}
	strict := &tenantRuntime{Runtime: rt, tenancy: &tenancy{needs: true}, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var refused *sandbox.PackagesError
	if _, err := strict.startWith(t.Context(), spec); !errors.As(err, &refused) {
		t.Errorf("a program that asks for packages: %v", err)
	}
}

// TestExpectsGuest: nothing is started ahead for who needs no guest, or one of an engine.
func TestExpectsGuest(t *testing.T) {
	for _, tt := range []struct {
		line, runtime string
		want          bool
	}{
		{"codemode exec -c 1", "", true},
		{"codemode exec script.py", "native", true},
		{"codemode exec --runtime=auto -c 1", "podman", true},
		{"codemode exec --runtime native -c 1", "docker", true},
		{"codemode exec -c 1", "podman", false},
		{"codemode exec --runtime podman -c 1", "", false},
		{"codemode exec --runtime=docker -c 1", "native", false},
		{"codemode exec --help", "", false},
		{"codemode exec -h", "", false},
		{"codemode exec", "", false},
		{"codemode serve --log-file x", "", false},
		{"codemode", "", false},
	} {
		env := Env{Args: strings.Fields(tt.line), Lookup: func(string) (string, bool) { return tt.runtime, true }}
		if got := expectsGuest(env); got != tt.want {
			t.Errorf("%s, %q: %v", tt.line, tt.runtime, got)
		}
	}
}
