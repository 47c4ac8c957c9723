package python

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is installed is named, what code wants most before the rest; what installs things is not.
func TestPackages(t *testing.T) {
	venv := filepath.Join(t.TempDir(), "venv")
	newVenv(t, venv)
	source := Source{CacheDir: t.TempDir(), Interpreter: venv}
	if names, err := source.Packages(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("of an empty environment: %q, %v", names, err)
	}
	sites, _ := filepath.Glob(filepath.Join(venv, "lib", "python3.*", "site-packages"))
	for _, name := range []string{
		"pip-26.0.dist-info", "anyio-4.1.0.egg-info", "pandas-3.0.1.dist-info", "python_dateutil-2.9.dist-info",
		"numpy-2.4.dist-info", "pandas", "numpy.libs",
	} {
		if err := os.Mkdir(filepath.Join(sites[0], name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names, err := source.Packages(t.Context())
	if want := []string{"numpy", "pandas", "python-dateutil", "anyio"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v; want %q", names, err, want)
	}
	if _, err := (Source{CacheDir: t.TempDir(), Interpreter: "/no/python"}).Packages(t.Context()); err == nil {
		t.Error("an interpreter that is not there has packages")
	}
}
