// Package require decides, for tests, what a machine must have and how much is to be done.
//
// CODEMODE_REQUIRE is a list with commas. Plain `go test ./...` leaves it empty, and the gate sets all of it.
//
// Features of a machine, which tests use where they are there; a feature that is named and lacking is a failure:
//
//	native        sandboxes of this kernel's namespaces
//	user          becoming another user, which root can
//	bwrap         bubblewrap
//	python        python3 with venv in /usr/bin
//	pandas        that python3 with pandas and matplotlib
//	npm           node, and real servers and clients in $CODEMODE_TEST_NPM
//	conformance   the protocol's own suite in its folder tools
//	registry      verdaccio in its folder tools: a registry for npm on loopback
//	models        what runs such a client against a model on loopback, beside the repository
//	mounts        mounting in a namespace of one's own
//	memcg         groups of the version 1 of cgroups, which count memory
//	devices, exchange, pipes, sparse files, symlinks    kinds of files, and what can be done with them
//	created       a file system that tells when a folder was made
//	dbus          dbus-daemon, the bus that keyrings are reached by
//	gcc           a compiler, for packages that are compiled
//	unprivileged  not being root
//
// Switches, without which a test is skipped or takes a sample; a test that is asked for and cannot run is a failure:
//
//	podman, podman-rootless, docker    container engines with the images of .ci/engines/setup
//	kubernetes    the cluster of .ci/kubernetes/setup, or any that kubectl reaches ($KUBECONFIG)
//	escapes       every attempt to escape, as every user, however the sandbox is made
//	random        all of the random documents, moments and faults rather than some
//	pip           every way to add packages, each of which starts pip
//	soak          what takes long by its nature: the largest files, thousands of runs
//
// It owns nothing and looks for nothing itself.
package require

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Lacking skips a test for want of a feature, with the reason, or fails it where that feature must be there.
func Lacking(t testing.TB, feature, format string, args ...any) {
	t.Helper()
	if Named(feature) {
		t.Fatalf("CODEMODE_REQUIRE names "+feature+": "+format, args...)
	}
	t.Skipf(format, args...)
}

// OptIn skips a test unless its switch is on.
func OptIn(t testing.TB, feature string) {
	t.Helper()
	if !Named(feature) {
		t.Skipf("runs with CODEMODE_REQUIRE=%s", feature)
	}
}

// Named tells whether a feature must be there, or a switch is on.
func Named(feature string) bool {
	return slices.Contains(strings.Split(os.Getenv("CODEMODE_REQUIRE"), ","), feature)
}
