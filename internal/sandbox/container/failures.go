package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/sandbox"
)

func (e *engine) unavailable(code, step string, err error, remedy ...string) *sandbox.UnavailableError {
	return &sandbox.UnavailableError{Runtime: e.name, Code: code, Step: step, Err: err, Remedy: remedy}
}

func notInstalled(name, command string, err error) error {
	e := &engine{name: name}
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
	base := strings.TrimSuffix(filepath.Base(command), ".exe")
	if missing && !slices.Contains([]string{Podman, Docker, kubectl}, base) { // to install podman would not mend it
		e.name = command
		return e.unavailable("no-engine", "looking for the command", errors.New("there is no such program"),
			"Set `sandbox.runtime` to podman, docker or kubernetes, or to the path of such a command.")
	}
	if name == Kubernetes {
		return e.unavailable("no-engine", "looking for the command", fmt.Errorf("there is no %q", command),
			"Install kubectl (https://kubernetes.io/docs/tasks/tools), or name it: `sandbox.runtime = \"/path/to/kubectl\"`.")
	}
	remedy := []string{"Install podman (package `podman`), which needs no daemon and no root."}
	if name == Docker {
		remedy = []string{
			"Install docker (https://docs.docker.com/engine/install), or use `sandbox.runtime = \"podman\"`.",
		}
	}
	if missing {
		err = fmt.Errorf("there is no %q", command)
	}
	return e.unavailable("no-engine", "looking for the command", err, remedy...)
}

func (e *engine) isPodman() error {
	return e.unavailable("docker-is-podman", "asking the engine what it is",
		fmt.Errorf("%q is podman's imitation of docker", e.path), "Set `sandbox.runtime = \"podman\"`.")
}

// A symptom is what an engine says when something is in the way. Engines have no codes for it; what they
// say was read from podman 4.3.1 and docker 20.10.24 and 28.2.2 (November 2026), and newer ones' source.
type symptom struct {
	engine string // "" for both
	any    []string
	code   string
	remedy []string
}

// Codes that are asked for.
const (
	codeMachine    = "machine-stopped" // a Podman machine that is not running
	codePermission = "no-permission"
	codeEngine     = "engine" // nothing of what is known
)

var symptoms = []symptom{
	{
		Docker,
		[]string{"Emulate Docker CLI using podman"},
		"docker-is-podman",
		[]string{"Set `sandbox.runtime = \"podman\"`."},
	},
	{"", []string{"no space left on device", "disk quota exceeded"}, "disk-full", []string{
		"Free space where the engine keeps its images and containers: `%s system df` tells what they use.",
	}},
	{Podman, []string{"opening seccomp profile failed"}, "profile", []string{
		"The machine where podman's containers run must see codemode's cache at the same path: " +
			"podman machine init --volume, or set XDG_CACHE_HOME to a directory that is shared.",
	}},
	{
		"",
		[]string{"image not known", "No such image", "Unable to find image", "no such image"},
		"image-missing",
		[]string{
			"codemode image pull",
		},
	},
	{"", []string{
		"\"python3\": executable file not found", "executable file `python3` not found", "exec: \"python3\"",
		"python3: no such file or directory", "python3`: No such file or directory",
	}, "image-python", []string{"Set `sandbox.image` to an image that has python3 3.9 or later on its PATH."}},
	{Docker, []string{
		"permission denied while trying to connect", "dial unix /var/run/docker.sock: connect: permission denied",
	}, codePermission, []string{
		"Use rootless docker (https://docs.docker.com/engine/security/rootless) or podman; " +
			"membership in the group `docker` would make this user root.",
	}},
	{Podman, []string{"machine is not running", "podman machine start", "podman machine init"}, codeMachine, []string{
		"podman machine start", "If there is none: podman machine init",
	}},
	{"", []string{
		"Cannot connect to the Docker daemon", "Is the docker daemon running", "error during connect",
		"failed to connect to the docker API", "Cannot connect to Podman", "unable to connect to Podman",
	}, "daemon", []string{"Start the engine's service, or set `sandbox.runtime` to another."}},
	{
		Podman,
		[]string{"newuidmap", "no subuid ranges", "insufficient UIDs or GIDs", "cannot set up namespace using"},
		"subids",
		[]string{
			"Install the package `uidmap`, and give this user subordinate ids: " +
				"sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\", then podman system migrate",
		},
	},
	{"", []string{"permission denied", "Permission denied", "operation not permitted"}, codePermission, []string{
		"Run `%s info` as this user to see what it is not allowed to do.",
	}},
	{"", []string{"crun: mount `", "error mounting \""}, "mount", []string{
		"As an ordinary user an engine cannot mount a folder below which others are mounted: " +
			"name a folder without, or use `sandbox.runtime = \"native\"`.",
	}},
}

// diagnose explains an engine's command that failed.
func (e *engine) diagnose(step string, err error) error {
	var failed *commandError
	if !errors.As(err, &failed) {
		return err
	}
	if errors.Is(failed.cause, errNoAnswer) || errors.Is(failed.cause, errStartTime) {
		if e.name == Kubernetes {
			return e.unavailable("no-answer", step, err, e.remedy())
		}
		return e.unavailable("no-answer", step, err,
			fmt.Sprintf("Run `%s info` to see whether the engine answers, and restart its service.", e.name))
	}
	if errors.Is(failed.cause, context.Canceled) || errors.Is(failed.cause, context.DeadlineExceeded) {
		return failed.cause
	}
	if failed.cause != nil {
		if errors.Is(failed.cause, fs.ErrPermission) {
			return e.unavailable(codePermission, step, err, fmt.Sprintf("Make %q executable for this user.", e.path))
		}
		if !isExit(failed.cause) {
			return failed.cause
		}
	}
	known := symptoms
	if e.name == Kubernetes {
		known = podSymptoms
	}
	for _, s := range known {
		if s.engine != "" && s.engine != e.name {
			continue
		}
		for _, text := range s.any {
			if strings.Contains(failed.stderr, text) {
				remedy := make([]string, len(s.remedy))
				for i, r := range s.remedy {
					remedy[i] = strings.ReplaceAll(r, "%s", e.name)
				}
				return e.unavailable(s.code, step, err, remedy...)
			}
		}
	}
	return e.unavailable(codeEngine, step, err, e.remedy())
}

// remedy is what to do about an engine that does not work, where nothing better is known.
func (e *engine) remedy() string {
	if e.name == Kubernetes {
		return "Run `kubectl get pods` and `kubectl get events` to see whether the cluster works."
	}
	return fmt.Sprintf("Run `%s info` to see whether the engine works.", e.name)
}

// killedCode is the exit status of what was killed (SIGKILL), as engines report it.
const killedCode = 128 + 9

// ended explains a container that has gone before its init could say why; code is its exit status.
func (e *engine) ended(said []byte, code int) error {
	err := errors.New("it was ended from outside")
	if code == killedCode {
		err = errors.New("its first process was killed: from outside, or because the code left no memory")
	}
	if words := lastLines(string(said)); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	if e.name == Kubernetes {
		return e.unavailable("ended", "running a pod", err, e.remedy())
	}
	return e.unavailable("ended", "running a container", err,
		fmt.Sprintf("Run `%s info` to see whether the engine works; the next run gets a container of its own.", e.name))
}

// isExit tells a command that was started and failed from one that was given up.
func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}
