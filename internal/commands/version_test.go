package commands

import "testing"

func TestPythonOf(t *testing.T) {
	for module, want := range map[string]string{"v0.0.0-3.14.6-20260610-1": "3.14.6", "(devel)": "(devel)"} {
		if got := pythonOf(module); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}
