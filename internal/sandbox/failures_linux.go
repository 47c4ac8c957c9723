package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"codemode/internal/cachedir"
	"codemode/internal/sandbox/python"

	"golang.org/x/sys/unix"
)

const (
	remedyBwrap   = "Install bubblewrap (package `bubblewrap`), which codemode then uses by itself."
	remedyReduced = "Accept a weaker sandbox, Landlock and seccomp without namespaces: set `sandbox.isolation = \"reduced\"`."
)

// A machine is what decides why namespaces are refused.
type machine struct {
	exe        string // codemode's executable
	executable bool   // by everybody
	apparmor   bool   // kernel.apparmor_restrict_unprivileged_userns
	sysctlOff  bool   // kernel.unprivileged_userns_clone is there and 0
	maxUserns  string // user.max_user_namespaces
	container  bool
	selinux    bool // enforcing
	root       bool
}

func thisMachine() machine {
	exe, err := os.Executable()
	if err != nil {
		exe = "codemode"
	}
	fi, err := os.Stat(exe)
	return machine{
		exe:        exe,
		executable: err != nil || fi.Mode().Perm()&0o001 != 0,
		apparmor:   readLine("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1",
		sysctlOff:  readLine("/proc/sys/kernel/unprivileged_userns_clone") == "0",
		maxUserns:  readLine("/proc/sys/user/max_user_namespaces"),
		container:  inContainer(),
		selinux:    readLine("/sys/fs/selinux/enforce") == "1",
		root:       os.Geteuid() == 0,
	}
}

func readLine(name string) string {
	b, _ := os.ReadFile(name) // absent is an answer, too
	return strings.TrimSpace(string(b))
}

// inContainer knows the marks of Docker, of Podman, and of those that name themselves to pid 1.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	b := readLine("/proc/1/cgroup")
	return strings.Contains(b, "docker") || strings.Contains(b, "kubepods") || strings.Contains(b, "libpod")
}

// diagnoseSpawn explains why the second stage could not be started.
func diagnoseSpawn(l *launch, err error) error {
	if l.enforced.Method != methodUserns {
		return fmt.Errorf("starting a sandbox: %w", err)
	}
	return spawnFailure(thisMachine(), err)
}

// spawnFailure explains an error of clone(2) with namespaces. Go reports the errno without the step,
// which may also have been the writing of the id maps or the execve.
func spawnFailure(m machine, err error) *UnavailableError {
	e := &UnavailableError{Runtime: nativeName, Step: "making namespaces", Err: err}
	denied := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	switch {
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS):
		e.Code = "userns-limit"
		e.Err = fmt.Errorf(
			"user namespaces are disabled or used up (user.max_user_namespaces=%s): %w", m.maxUserns, errnoOf(err),
		)
		e.Remedy = []string{"sudo sysctl user.max_user_namespaces=10000", remedyBwrap, remedyReduced}
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM):
		e.Code, e.Step = "resources", "starting a process"
		e.Err = fmt.Errorf("this user has too many processes, or the machine too little memory: %w", errnoOf(err))
		e.Remedy = []string{"End some processes, or raise the limit: ulimit -u"}
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) && !m.container:
		e.Code = "userns-kernel"
		e.Err = fmt.Errorf("this kernel was built without user namespaces: %w", errnoOf(err))
		e.Remedy = []string{remedyReduced}
	case denied && m.root && !m.executable:
		e.Code = "executable"
		e.Err = fmt.Errorf(
			"as root codemode gives up its privileges, and then may not execute %q: %w", m.exe, errnoOf(err),
		)
		e.Remedy = []string{fmt.Sprintf("chmod o+x %q", m.exe)}
	case denied && m.sysctlOff && !m.root:
		e.Code = "userns-sysctl"
		e.Err = fmt.Errorf(
			"unprivileged user namespaces are disabled (kernel.unprivileged_userns_clone=0): %w", errnoOf(err),
		)
		e.Remedy = []string{"sudo sysctl kernel.unprivileged_userns_clone=1", remedyBwrap, remedyReduced}
	case denied && m.apparmor && !m.root:
		apparmorFailure(e, m, err)
	case m.container:
		containerFailure(e, err)
	default:
		e.Code = "userns"
		e.Remedy = []string{remedyBwrap, remedyReduced}
	}
	return e
}

func apparmorFailure(e *UnavailableError, m machine, err error) {
	e.Code = "userns-apparmor"
	e.Err = fmt.Errorf(
		"AppArmor forbids user namespaces for %s (kernel.apparmor_restrict_unprivileged_userns=1): %w", m.exe,
		errnoOf(err),
	)
	e.Remedy = []string{
		"Install this AppArmor profile; if others can write to that path, they gain what it allows:",
		fmt.Sprintf(
			"printf '%%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile codemode \"%s\" flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/codemode",
			m.exe,
		),
		"sudo apparmor_parser -r /etc/apparmor.d/codemode",
		remedyBwrap,
		remedyReduced,
	}
}

func containerFailure(e *UnavailableError, err error) {
	e.Code = "container"
	e.Err = fmt.Errorf("this container's seccomp profile forbids namespaces: %w", errnoOf(err))
	e.Remedy = []string{
		"The container is a boundary already: set `sandbox.isolation = \"reduced\"` for Landlock and seccomp inside it.",
		"Start the container with a seccomp profile that allows clone(2) with namespaces, such as Podman's own or `--security-opt seccomp=unconfined`.",
	}
}

// errnoOf is the errno in an error, which says it without the command that failed.
func errnoOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// diagnoseStage2 explains why a second stage gave up. stderr is what it, or bubblewrap, printed.
func diagnoseStage2(l *launch, err error, stderr []byte) error {
	var failure *stage2Error
	if !errors.As(err, &failure) {
		return err
	}
	if l.view.guest != nil {
		if err := mountFailure(l.view.guest.mounts, failure); err != nil {
			return err
		}
	}
	if failure.Errno == 0 && len(stderr) > 0 {
		failure.Text += python.LastLine(string(stderr))
	}
	if l.enforced.Method == methodBwrap && failure.Errno == 0 {
		return &UnavailableError{
			Runtime: nativeName, Code: "userns-bwrap", Step: "starting bubblewrap", Err: errors.New(failure.Text),
			Remedy: []string{remedyReduced},
		}
	}
	return stage2Failure(thisMachine(), failure, l.config.Path, l.view.program)
}

// mountFailure is a failure at one of the user's own files and folders: the machine can do what it should.
func mountFailure(mounts []Mount, failure *stage2Error) error {
	for _, m := range mounts {
		for _, step := range []string{
			fmt.Sprintf("opening mount %q", m.Host), fmt.Sprintf("restricting mount %q", m.Host),
			fmt.Sprintf("mounting %q", path.Join(mountDir, m.Name)),
			fmt.Sprintf("allowing path %q", m.Host), // of reduced mode
		} {
			if failure.Step == step {
				return &MountError{Runtime: nativeName, Path: m.Host, Err: failure.Unwrap()}
			}
		}
	}
	return nil
}

// stage2Failure explains a step of the second stage that failed.
func stage2Failure(m machine, failure *stage2Error, exe string, program bool) *UnavailableError {
	e := &UnavailableError{Runtime: nativeName, Step: failure.Step, Err: errors.New(failure.Text)}
	if failure.Errno != 0 {
		e.Err = syscall.Errno(failure.Errno)
	}
	denied := errors.Is(e.Err, unix.EPERM) || errors.Is(e.Err, unix.EACCES)
	executing, entering := strings.HasPrefix(failure.Step, "executing "), strings.HasPrefix(failure.Step, "entering ")
	switch {
	case strings.HasPrefix(failure.Step, "opening mount ") && isOf(e.Err, replacedErrors), // in each other way, too
		strings.HasPrefix(failure.Step, "allowing path ") && errors.Is(e.Err, unix.ELOOP): // of reduced mode
		e.Code = "mount"
		e.Remedy = []string{"Something else is at that path now than when it was looked at; start the server again."}
	case program && (executing || entering):
		programFailure(e, executing)
	case executing:
		e.Code = "python"
		e.Err = fmt.Errorf("interpreter %q or the loader it needs cannot be executed in the sandbox: %w", exe, e.Err)
		e.Remedy = []string{
			"If codemode runs as root, its cache and `sandbox.python` must be readable by everybody.",
			"Set `sandbox.python` to another interpreter.",
		}
	case denied && m.root && (strings.HasPrefix(failure.Step, "allowing path ") || entering): // of reduced mode
		e.Code = "readable"
		e.Err = fmt.Errorf("as root codemode gives up its privileges, and then may not read it: %w", e.Err)
		e.Remedy = []string{
			"Use codemode as an ordinary user.", "Set XDG_CACHE_HOME and TMPDIR to folders that everybody may read.",
		}
	case errors.Is(e.Err, unix.ETOOMANYREFS):
		e.Code = "resources"
		e.Err = fmt.Errorf("programs of this user hold as many descriptors that were sent over sockets and not "+
			"received as codemode may have open files: %w", e.Err)
		e.Remedy = []string{"End the program that sends them, or allow more open files (`ulimit -Hn`)."}
	case failure.Step == "restricting paths":
		e.Code = "no-landlock"
		e.Err = fmt.Errorf("this kernel has no Landlock, without which the reduced sandbox would not hold: %w", e.Err)
		e.Remedy = []string{"Use Linux 5.13 or later with `landlock` in the `lsm=` boot parameter."}
	case failure.Step == "installing the system call filter":
		e.Code = "no-seccomp"
		e.Remedy = []string{"Use a kernel with CONFIG_SECCOMP_FILTER."}
	case errors.Is(e.Err, unix.ENOSYS):
		e.Code = "kernel-old"
		e.Err = fmt.Errorf("this kernel is older than Linux 5.12: %w", e.Err)
		e.Remedy = []string{remedyReduced}
	case denied && m.apparmor && !m.root:
		apparmorFailure(e, m, e.Err)
	case denied && m.selinux:
		e.Code = "selinux"
		e.Err = fmt.Errorf("SELinux forbids it to this user or domain: %w", e.Err)
		e.Remedy = []string{"Run codemode as an unconfined user (`semanage login -l` lists who is).", remedyReduced}
	case denied && m.container:
		containerFailure(e, e.Err)
	default:
		e.Code = "stage2"
		e.Remedy = []string{
			"Run `codemode exec -c pass` with CODEMODE_LOG_LEVEL=debug for the details, and report them.",
		}
	}
	return e
}

// programFailure explains a program that is not executed, or its folder that is not entered.
func programFailure(e *UnavailableError, executing bool) {
	e.Code = "program"
	if !executing {
		e.Remedy = []string{"Name the folder that the server starts in (`cwd`) in `sandbox_read`."}
		return
	}
	e.Err = fmt.Errorf(
		"the program, its interpreter or its loader cannot be seen or executed in the sandbox: %w", e.Err,
	)
	e.Remedy = []string{
		"Name the folder of its installation in `sandbox_read`.",
		"If it is a script that finds the program (pyenv, nvm, asdf), name the program itself as `command`.",
	}
}

// replacedErrors are those of a path that is another file's by now.
var replacedErrors = []error{unix.ELOOP, unix.ESTALE, unix.ENOENT, unix.ENOTDIR}

func isOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// namespacesRefused tells whether another way of making namespaces is worth trying.
func namespacesRefused(err error) bool {
	var e *UnavailableError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "container", "selinux", "kernel-old", "stage2":
		return true
	}
	return strings.HasPrefix(e.Code, "userns")
}

// cacheUnavailable explains that the cache is not to be trusted, if that is the error.
func cacheUnavailable(err error) error {
	var untrusted *cachedir.Error
	if !errors.As(err, &untrusted) {
		return err
	}
	return &UnavailableError{
		Runtime: nativeName, Code: "cache", Step: "checking the cache before anything of it is run", Err: err,
		Remedy: untrusted.Hint(),
	}
}

// pythonUnavailable explains why there is no interpreter.
func pythonUnavailable(interpreter string, err error) error {
	if errors.As(err, new(*cachedir.Error)) {
		return cacheUnavailable(err)
	}
	e := &UnavailableError{Runtime: nativeName, Code: "python", Step: "preparing the embedded Python", Err: err}
	switch {
	case interpreter != "":
		e.Step = "preparing the interpreter"
		e.Remedy = []string{
			"Name a python3 of version 3.9 or later (`sandbox.python`, or --python), or none for the embedded one.",
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EROFS):
		e.Remedy = []string{"Set XDG_CACHE_HOME to a directory that can be written and has 250 MB free."}
	default:
		e.Remedy = []string{"Set `sandbox.python` to a python3 of this system."}
	}
	return e
}
