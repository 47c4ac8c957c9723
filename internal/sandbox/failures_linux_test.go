package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

func TestSpawnFailure(t *testing.T) {
	ok := machine{exe: "/opt/my tools/codemode", executable: true, maxUserns: "96365"}
	with := func(change func(*machine)) machine {
		m := ok
		change(&m)
		return m
	}
	for _, tt := range []struct {
		name   string
		m      machine
		errno  syscall.Errno
		code   string
		says   string
		remedy string
		other  bool // another way to namespaces is worth trying
	}{
		{"sysctl", with(func(m *machine) { m.sysctlOff = true }), unix.EPERM, "userns-sysctl", "unprivileged_userns_clone=0", "sudo sysctl kernel.unprivileged_userns_clone=1", true},
		{"limit", with(func(m *machine) { m.maxUserns = "0" }), unix.ENOSPC, "userns-limit", "user.max_user_namespaces=0", "sudo sysctl user.max_user_namespaces=", true},
		{"apparmor", with(func(m *machine) { m.apparmor = true }), unix.EACCES, "userns-apparmor", "/opt/my tools/codemode", `profile codemode "/opt/my tools/codemode" flags=(unconfined) { userns, }`, true},
		{"apparmor of root's", with(func(m *machine) { m.apparmor, m.root = true, true }), unix.EPERM, "userns", "", "bubblewrap", true},
		{"container", with(func(m *machine) { m.container = true }), unix.EPERM, "container", "seccomp", `sandbox.isolation = "reduced"`, true},
		{"container without clone flags", with(func(m *machine) { m.container = true }), unix.ENOSYS, "container", "seccomp", "seccomp=unconfined", true},
		{"too many processes", ok, unix.EAGAIN, "resources", "too many processes", "ulimit", false},
		{"kernel", ok, unix.EINVAL, "userns-kernel", "without user namespaces", "reduced", true},
		{"executable", with(func(m *machine) { m.root, m.executable = true, false }), unix.EACCES, "executable", "/opt/my tools/codemode", "chmod o+x", false},
		{"unknown", ok, unix.EPERM, "userns", "", `sandbox.isolation = "reduced"`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := spawnFailure(tt.m, &os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: tt.errno})
			checkUnavailable(t, e, tt.errno, tt.code, tt.says, tt.remedy)
			if strings.Contains(e.Error(), "no space left") && tt.code == "userns-limit" &&
				!strings.Contains(e.Error(), "disabled") {
				t.Errorf("%v blames the disk", e)
			}
			if got := namespacesRefused(e); got != tt.other {
				t.Errorf("another method is tried: %v, want %v", got, tt.other)
			}
		})
	}
}

func TestStage2Failure(t *testing.T) {
	ok := machine{exe: "/usr/bin/codemode", executable: true}
	for _, tt := range []struct {
		name   string
		m      machine
		step   string
		errno  syscall.Errno
		code   string
		says   string
		remedy string
	}{
		{"apparmor", machine{exe: ok.exe, apparmor: true}, "making mounts private", unix.EACCES, "userns-apparmor", ok.exe, "apparmor_parser"},
		{"selinux", machine{exe: ok.exe, selinux: true}, `mounting a tmpfs on "/tmp"`, unix.EACCES, "selinux", "SELinux", "unconfined"},
		{"container", machine{exe: ok.exe, container: true}, "changing the root", unix.EPERM, "container", "container", "reduced"},
		{"old kernel", ok, `opening mount "/usr"`, unix.ENOSYS, "kernel-old", "5.12", "reduced"},
		{"unreadable", machine{root: true, container: true}, `allowing path "/root/.cache"`, unix.EACCES, "readable", "gives up its privileges", "XDG_CACHE_HOME"},
		{"closed", machine{root: true, container: true}, `entering "/root/tmp/workspace"`, unix.EACCES, "readable", "gives up its privileges", "TMPDIR"},
		{"landlock", ok, "restricting paths", unix.EOPNOTSUPP, "no-landlock", "Landlock", "lsm="},
		{"seccomp", ok, "installing the system call filter", unix.EINVAL, "no-seccomp", "", "CONFIG_SECCOMP_FILTER"},
		{"python", ok, `executing "/opt/python"`, unix.ENOENT, "python", `"/opt/python"`, "sandbox.python"},
		{"replaced", ok, `opening mount "/home/u/x"`, unix.ELOOP, "mount", "", "start the server again"},
		{"descriptors in flight", ok, "passing descriptors", unix.ETOOMANYREFS, "resources", "as many descriptors", "ulimit -Hn"},
		{"another", ok, "changing the root", unix.EINVAL, "stage2", "", "details"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failure := &stage2Error{stage2.Failure{Step: tt.step, Errno: int(tt.errno), Text: tt.errno.Error()}}
			e := stage2Failure(tt.m, failure, "/opt/python", false)
			checkUnavailable(t, e, tt.errno, tt.code, tt.says, tt.remedy)
			if !strings.Contains(e.Error(), tt.step) {
				t.Errorf("%v does not name the step", e)
			}
			if tt.code == "mount" && namespacesRefused(e) {
				t.Errorf("for %v another way is tried, which takes what is there now", e)
			}
		})
	}
}

func checkUnavailable(t *testing.T, e *UnavailableError, errno syscall.Errno, code, says, remedy string) {
	t.Helper()
	if e.Code != code {
		t.Errorf("code %q, want %q", e.Code, code)
	}
	if !errors.Is(e, errno) {
		t.Errorf("%v does not wrap %v", e, errno)
	}
	if !strings.Contains(e.Error(), says) {
		t.Errorf("%v does not say %q", e, says)
	}
	if !strings.Contains(strings.Join(e.Remedy, "\n"), remedy) {
		t.Errorf("remedies %q lack %q", e.Remedy, remedy)
	}
	for _, r := range e.Remedy {
		if strings.TrimSpace(r) == "" {
			t.Errorf("an empty remedy: %q", e.Remedy)
		}
	}
}

func TestEndedEarly(t *testing.T) {
	l := &launch{enforced: Enforcement{Method: methodBwrap}}
	l.config.Argv = []string{"python3"}
	err := diagnoseStage2(l, &stage2Error{stage2.Failure{Step: "starting the second stage", Text: "it ended early"}},
		[]byte("bwrap: setting up uid map: Permission denied\n"))
	var e *UnavailableError
	if !errors.As(err, &e) || e.Code != "userns-bwrap" || !strings.Contains(e.Error(), "setting up uid map") {
		t.Errorf("bubblewrap's own words are lost: %v", err)
	}
}

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.14.0": true, "5.13.19-generic": false, "6.1.0": true, "4.18.0-553.el8": false, "5.4": false, "": false, "what": false,
	} {
		if got := atLeast(release, 5, 14); got != want {
			t.Errorf("atLeast(%q, 5, 14) = %v", release, got)
		}
	}
}

func TestGuestBinds(t *testing.T) {
	py := &python.Interpreter{
		Binds: []python.Bind{
			{Host: "/usr", Inside: "/usr"},
			{Host: "/home/me/.cache/python", Inside: "/opt/python"},
			{Host: "/usr/lib/python3", Inside: "/usr/lib/python3"},
		},
	}
	binds := guestBinds(py, "/cache/guest")
	var seen []string
	for _, b := range binds {
		seen = append(seen, b.Inside)
		if strings.HasPrefix(b.Inside, "/usr/") {
			t.Errorf("%v is bound, though /usr is", b)
		}
	}
	all := fmt.Sprint(binds)
	for _, want := range []Bind{
		{Host: "/cache/guest", Inside: GuestDir, Overlay: true},
		{Host: "/home/me/.cache/python", Inside: "/opt/python", Real: true},
	} {
		if !strings.Contains(all, fmt.Sprint(want)) {
			t.Errorf("%v is missing in %v", want, seen)
		}
	}
}
