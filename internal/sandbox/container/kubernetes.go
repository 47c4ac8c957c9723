package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox"
)

// KubernetesOptions say where pods are made. The zero value is what kubectl takes by itself.
type KubernetesOptions struct {
	Context      string // of kubectl's configuration
	Namespace    string
	RuntimeClass string   // of the cluster: gVisor's, Kata's
	NodeSelector []string // NAME=VALUE: labels of the nodes that may have the pods
	Requests     []string // NAME=VALUE: what a pod asks its node for
	Template     string   // a file: where pods are placed and from where images are pulled, see template
	WarmPool     string   // of agent-sandbox: it makes the pods, by a template of its own
}

// A cluster is what an engine knows of the pods it makes.
type cluster struct {
	runtimeClass string
	template     template
	warmPool     string
}

// inPod is how processes are started in a pod beside its first one.
func (e *engine) inPod(name string, command ...string) []string {
	args := append([]string(nil), e.global...)
	return append(append(args, "exec", "--stdin", name, "--container", guestName, "--"), command...)
}

// askKubernetes asks the cluster what it is.
func (e *engine) askKubernetes(ctx context.Context, opts KubernetesOptions) (err error) {
	if opts.Context != "" {
		e.global = append(e.global, "--context="+opts.Context)
	}
	if opts.Namespace != "" && !labelText().MatchString(opts.Namespace) {
		err := fmt.Errorf("%q is no name of a namespace", opts.Namespace)
		return e.unavailable("namespace", "reading the settings", err,
			"Set `sandbox.kubernetes.namespace` to small letters, digits and '-', at most 63.")
	}
	if opts.Namespace != "" {
		e.global = append(e.global, "--namespace="+opts.Namespace)
	}
	e.cluster.runtimeClass, e.cluster.warmPool = opts.RuntimeClass, opts.WarmPool
	if e.cluster.template, err = opts.template(); err != nil {
		return e.unavailable("template", "reading the template of pods", err,
			"Correct the file that `sandbox.kubernetes.template` names; docs/guide/kubernetes.md says what may be in it.")
	}
	text, err := e.ask(ctx, "version", "--output=json")
	if err != nil {
		return e.diagnose("asking the cluster what it is", err)
	}
	var v struct{ ClientVersion, ServerVersion struct{ GitVersion string } }
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.ServerVersion.GitVersion == "" {
		return e.unavailable(codeEngine, "asking the cluster what it is",
			fmt.Errorf("`kubectl version` said %q", clip(text)), e.remedy())
	}
	var minor int
	if _, err := fmt.Sscanf(v.ClientVersion.GitVersion, "v1.%d", &minor); err == nil && minor < oldestKubectl {
		return e.unavailable("old-kubectl", "asking the cluster what it is",
			fmt.Errorf("%q is kubectl %s; it must be 1.%d or later", e.path, v.ClientVersion.GitVersion, oldestKubectl),
			"Install a kubectl of the cluster's version, "+v.ServerVersion.GitVersion+", or one close to it.")
	}
	e.version, e.seccomp = v.ServerVersion.GitVersion, true
	e.memory, e.pids, e.cpus = byCgroup, byRlimit, byCgroup // a pod cannot be told how many processes it may have
	return nil
}

// labelText is a name by RFC 1123, as those of namespaces are.
var labelText = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// oldestKubectl is the minor version of the oldest that was seen to work.
const oldestKubectl = 20

// makePod makes a pod and waits until its container runs.
func (e *engine) makePod(ctx context.Context, o order) error {
	pod, err := e.pod(o)
	if err != nil {
		return err
	}
	if err := e.create(ctx, pod); err != nil {
		return e.given(ctx, "making a pod", err)
	}
	_, err = e.awaitPod(ctx, o.name)
	return err
}

// create hands the cluster an object.
func (e *engine) create(ctx context.Context, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	bounded, cancel := withAnswer(ctx, podAnswerTime)
	defer cancel()
	args := append(append([]string(nil), e.global...), "create", "--filename=-")
	if e.cluster.template.spec == nil { // all of it is ours: kubectl need not fetch the schemas, which takes it long
		args = append(args, "--validate=false")
	}
	_, err = e.feed(bounded, text, nil, args...)
	return err
}

// given explains an error of a step whose caller may have given up.
func (e *engine) given(ctx context.Context, step string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", step, cause)
	}
	return e.diagnose(step, err)
}

const (
	// podTime bounds the start of a pod: its node may have to fetch the image first.
	podTime = 2 * time.Minute

	// unplacedTime is how long a pod may be without a node: some clusters add nodes, which takes longer than anybody
	// waits for a run.
	unplacedTime = 10 * time.Second

	// watchTime is how long a watch that says nothing is believed: its connection may be dead, and neither end know.
	watchTime = 5 * time.Second

	// watchAgain is how long a watch that has ended is not asked for again.
	watchAgain = 100 * time.Millisecond
)

// A podState is what the cluster tells of a pod.
type podState struct {
	Metadata struct {
		DeletionTimestamp string
		Labels            map[string]string
	}
	Spec   podSpec
	Status struct {
		Phase, Reason, Message string
		Conditions             []struct{ Type, Status, Reason, Message string }
		ContainerStatuses      []struct {
			Name  string
			State struct {
				Running             *struct{}
				Waiting, Terminated *struct {
					Reason, Message string
					ExitCode        int
				}
			}
		}
	}
}

// notYet are the reasons of a container that waits as it should.
var notYet = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// trouble is why a pod's container does not run, and never will; empty is none. placed is whether it has a node.
func (p podState) trouble() (why string, placed bool) {
	placed = true
	for _, c := range p.Status.Conditions {
		if c.Type == "DisruptionTarget" && c.Status == "True" {
			return "Evicted: " + c.Reason + ": " + c.Message, placed
		}
	}
	if p.Metadata.DeletionTimestamp != "" {
		return "Deleted: somebody has deleted the pod", placed
	}
	if len(p.Spec.Containers) > 0 && p.Spec.guest() == nil {
		return fmt.Sprintf("NoGuest: it has no container %q", guestName), placed
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name != guestName {
			continue
		}
		if w := c.State.Waiting; w != nil && !notYet[w.Reason] {
			return w.Reason + ": " + w.Message, placed
		}
		if t := c.State.Terminated; t != nil && p.Status.Reason == "" {
			return fmt.Sprintf("%s: exit code %d %s", t.Reason, t.ExitCode, t.Message), placed
		}
	}
	if p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" {
		return strings.TrimSpace(p.Status.Reason + ": " + p.Status.Message), placed
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return c.Reason + ": " + c.Message, false
		}
	}
	return "", placed
}

func (p podState) runs() bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == guestName && c.State.Running != nil {
			return true
		}
	}
	return false
}

// awaitPod follows a pod until its container runs.
func (e *engine) awaitPod(ctx context.Context, name string) (last podState, err error) {
	const step = "starting a pod"
	bounded, cancel := context.WithTimeoutCause(ctx, podTime, errPodTime)
	defer cancel()
	bounded, give := context.WithCancelCause(bounded)
	defer give(nil)
	var unplaced *time.Timer
	why := ""
	err = follow(bounded, e, "pod", name, func(p podState) bool {
		var placed bool
		last = p
		if why, placed = p.trouble(); placed {
			return why != "" || p.runs()
		}
		if unplaced == nil {
			unplaced = time.AfterFunc(unplacedTime, func() { give(errUnplaced) })
		}
		return false
	})
	if unplaced != nil {
		unplaced.Stop()
	}
	switch {
	case context.Cause(ctx) != nil:
		return last, e.given(ctx, strings.TrimSuffix(step+": "+why, ": "), err)
	case err == nil && why == "":
		return last, nil
	case why == "" && errors.Is(err, errPodTime):
		return last, e.unavailable("no-answer", step, errPodTime, e.remedy())
	case why == "":
		return last, e.diagnose(step, err)
	}
	return last, e.diagnose(step, &commandError{command: "kubectl get pod", stderr: why})
}

var (
	errPodTime  = fmt.Errorf("its container did not run within %v", podTime)
	errUnplaced = fmt.Errorf("no node took it within %v", unplacedTime)
)

// follow reads what becomes of an object until enough says so, however often a watch ends before or falls silent.
func follow[T any](ctx context.Context, e *engine, kind, name string, enough func(T) bool) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, watchTime)
		ended, err := watch(bounded, e, kind, name, enough)
		silent := bounded.Err() != nil && ctx.Err() == nil && err != nil
		cancel()
		if !ended && !silent {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

// watch is one watch of an object; ended says that it was over before enough was satisfied, with nothing wrong.
func watch[T any](ctx context.Context, e *engine, kind, name string, enough func(T) bool) (ended bool, err error) {
	command := "kubectl get " + kind
	args := append(append([]string(nil), e.global...), "get", kind, name, "--watch", "--output=json")
	cmd := e.command(args...)
	var stderr strings.Builder
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, &commandError{command: command, cause: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	decoder := json.NewDecoder(out)
	for err == nil {
		var state T
		if err = decoder.Decode(&state); err == nil && enough(state) {
			break
		}
	}
	if err != io.EOF {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	switch code := cmd.ProcessState.ExitCode(); {
	case !stop():
		return false, &commandError{command: command, cause: context.Cause(ctx)}
	case err == io.EOF && code == 0 && stderr.Len() == 0:
		return true, nil
	case err != nil:
		return false, &commandError{command: command, stderr: stderr.String(), code: code}
	}
	return false, nil
}

// whyEnded asks what became of a pod whose init could not say it. The cluster may know a moment later, or not at all.
func (e *engine) whyEnded(name string, said []byte) (exit sandbox.ExitCause, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), endedTime)
	defer cancel()
	why := ""
	asked := follow(ctx, e, "pod", name, func(p podState) bool {
		why, _ = p.trouble()
		return why != ""
	})
	const cut = "the connection to the pod was lost"
	failed, refused := errors.AsType[*commandError](asked)
	refused = refused && failed.cause == nil
	switch {
	case strings.HasPrefix(why, "OOMKilled"):
		return sandbox.ExitMemory, nil
	case why == "" && refused && strings.Contains(failed.stderr, "NotFound"):
		why = "Deleted: somebody has deleted the pod"
	case why == "" && refused:
		return sandbox.ExitEngine, e.diagnose("running a pod: "+cut, failed)
	case why == "":
		why = strings.TrimSuffix(cut+": "+lastLines(string(said)), ": ")
	case strings.HasPrefix(why, "Completed"): // by its init, which had nobody to tell
		why = cut
	}
	return sandbox.ExitEngine, e.unavailable("ended", "running a pod",
		fmt.Errorf("it was ended from outside: %s", why),
		"The next run gets a pod of its own. `kubectl get events` tells more.")
}

// endedTime bounds the question what became of a pod.
const endedTime = 3 * time.Second

// removePod deletes a guest's pod, or the claim to it. One that is not there is fine. Of one whose processes have
// ended, nothing is waited for.
func (e *engine) removePod(ctx context.Context, name string, ended bool) error {
	ctx, cancel := withAnswer(ctx, podAnswerTime)
	defer cancel()
	args := append(append([]string(nil), e.global...), "delete", e.cluster.kind(), name, "--ignore-not-found")
	switch {
	case ended && e.cluster.warmPool == "":
		args = append(args, "--grace-period=0", "--force", "--wait=false")
	case ended:
		args = append(args, "--wait=false")
	case e.cluster.warmPool != "":
		args = append(args, "--cascade=foreground") // or it would not wait for the pod
	default:
		args = append(args, "--now")
	}
	_, err := e.run(ctx, nil, args...)
	return err
}

// abandonPod has a pod deleted whose connection was lost: whether its node still answers, nobody knows. Its init ends
// when it notices, and its node removes the rest when it can.
func (e *engine) abandonPod(name string) error {
	_, err := e.ask(
		context.Background(), "delete", e.cluster.kind(), name, "--ignore-not-found", "--now", "--wait=false",
	)
	return err
}
