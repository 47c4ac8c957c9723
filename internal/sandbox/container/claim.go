package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox"
)

// codeWarmPool is a warm pool that gives no pod, or none for guests.
const codeWarmPool = "warm-pool"

// A cluster with agent-sandbox (https://github.com/kubernetes-sigs/agent-sandbox, v1beta1, read November 2026) keeps
// pods warm. Who makes a claim gets a sandbox that owns one of them, and all three are removed with the claim.
const (
	claimAPI  = "extensions.agents.x-k8s.io/v1beta1"
	claims    = "sandboxclaims.extensions.agents.x-k8s.io"
	sandboxes = "sandboxes.agents.x-k8s.io"

	podOfSandbox = `{.metadata.annotations.agents\.x-k8s\.io/pod-name}`
)

// kind is what is made for a guest, and what is deleted when it has ended.
func (c cluster) kind() string {
	if c.warmPool != "" {
		return claims
	}
	return "pod"
}

// A claimState is what the cluster tells of a claim.
type claimState struct {
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
		Sandbox    struct{ Name string }
	}
}

// lost are the reasons for which a claim is never bound unless an administrator acts.
var lost = []string{
	"WarmPoolNotFound", "TemplateNotFound", "InvalidMetadata", "ClaimExpired", "SandboxExpired", "PodFailed",
	"PodSucceeded",
}

// state is whether the claim's sandbox is ready, and why it is not.
func (c claimState) state() (ready bool, why string, hopeless bool) {
	for _, condition := range c.Status.Conditions {
		if condition.Type == "Ready" {
			why = condition.Reason + ": " + condition.Message
			ready = condition.Status == "True" && c.Status.Sandbox.Name != ""
			return ready, why, slices.Contains(lost, condition.Reason)
		}
	}
	return false, "", false
}

// takePod makes the pod of a guest, or claims one, and says what it is called and holds a guest to.
func (e *engine) takePod(ctx context.Context, o order) (string, sandbox.Enforcement, error) {
	if e.cluster.warmPool == "" {
		return o.name, o.means, e.makePod(ctx, o)
	}
	pod, spec, err := e.claimPod(ctx, o)
	if err != nil {
		return pod, o.means, err
	}
	means, err := e.judge(spec, o.spec.Policy)
	return pod, means, err
}

// claimPod has the warm pool give a pod, and says what it is called and what it holds. Nothing of the pod is asked to
// be otherwise, or it would be made anew.
func (e *engine) claimPod(ctx context.Context, o order) (pod string, spec podSpec, err error) {
	claim := object{
		"apiVersion": claimAPI, "kind": "SandboxClaim",
		"metadata": object{"name": o.name, "labels": e.podLabels(o.spec)},
		"spec": object{
			"warmPoolRef": object{"name": e.cluster.warmPool},
			"lifecycle": object{
				"shutdownTime":   time.Now().Add(podDeadline * time.Second).UTC().Format(time.RFC3339),
				"shutdownPolicy": "Delete",
			},
		},
	}
	if err := e.create(ctx, claim); err != nil {
		return "", spec, e.given(ctx, "claiming a pod", err)
	}
	name, err := e.awaitClaim(ctx, o.name)
	if err == nil {
		err = e.named(name)
	}
	if err != nil {
		return "", spec, err
	}
	if pod, err = e.ask(ctx, "get", sandboxes, name, "--output=jsonpath="+podOfSandbox); err != nil {
		return "", spec, e.given(ctx, "looking for a claim's pod", err)
	}
	pod = cmp.Or(strings.TrimSpace(pod), name)
	if err := e.named(pod); err != nil {
		return "", spec, err
	}
	state, err := e.awaitPod(ctx, pod)
	return pod, state.Spec, err
}

// named refuses what a cluster calls an object and what is no name of one: kubectl might take it for an option.
func (e *engine) named(name string) error {
	if len(name) <= 253 && objectName().MatchString(name) {
		return nil
	}
	return e.unavailable(codeWarmPool, "claiming a pod", fmt.Errorf("%q is no name of an object", clip(name)),
		"See who writes the status of claims and the annotations of sandboxes there.")
}

// objectName is a name by RFC 1123, with dots.
var objectName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// awaitClaim follows a claim until its sandbox is ready, and returns that one's name.
func (e *engine) awaitClaim(ctx context.Context, name string) (string, error) {
	const step = "claiming a pod"
	bounded, cancel := context.WithTimeoutCause(ctx, podTime, errPodTime)
	defer cancel()
	var last claimState
	why, ready, hopeless := "", false, false
	err := follow(bounded, e, claims, name, func(c claimState) bool {
		last = c
		ready, why, hopeless = c.state()
		return ready || hopeless
	})
	switch {
	case ready:
		return last.Status.Sandbox.Name, nil
	case context.Cause(ctx) != nil:
		return "", e.given(ctx, strings.TrimSuffix(step+": "+why, ": "), err)
	case hopeless || errors.Is(err, errPodTime) && why != "":
		return "", e.diagnose(step, &commandError{command: "kubectl get sandboxclaim", stderr: why})
	case errors.Is(err, errPodTime):
		return "", e.unavailable(codeWarmPool, step, errors.New("nothing has looked at the claim"),
			"See that agent-sandbox's controller runs, with its extensions.")
	}
	return "", e.diagnose(step, err)
}

// WarmPool is a pool of pods for these guests, and its template, as `kubectl apply` takes them.
func (r *Runtime) WarmPool(p sandbox.Policy) ([]byte, error) {
	e := &engine{name: Kubernetes, cluster: cluster{runtimeClass: r.opts.Kubernetes.RuntimeClass}}
	t, err := r.opts.Kubernetes.template()
	if err != nil {
		return nil, err
	}
	e.cluster.template = t
	pod, err := e.pod(order{image: r.opts.Image, user: r.opts.User, spec: sandbox.Spec{Policy: p}})
	if err != nil {
		return nil, err
	}
	spec := pod["spec"].(object)
	delete(spec, "activeDeadlineSeconds") // of a claim's pod, the claim says it
	container := spec["containers"].([]object)[0]
	container["command"] = append(container["command"].([]string), "forever")
	name := object{"name": cmp.Or(r.opts.Kubernetes.WarmPool, "codemode")}
	text, err := yaml.Marshal(object{
		"apiVersion": claimAPI, "kind": "SandboxTemplate", "metadata": name,
		"spec": object{
			"networkPolicy": object{}, // nothing in, nothing out: by itself it would be the internet
			"podTemplate":   object{"metadata": object{"labels": t.labels}, "spec": spec},
		},
	})
	if err != nil {
		return nil, err
	}
	pool, err := yaml.Marshal(object{
		"apiVersion": claimAPI, "kind": "SandboxWarmPool", "metadata": name,
		"spec": object{"replicas": 3, "sandboxTemplateRef": name},
	})
	return slices.Concat(text, []byte("---\n"), pool), err
}

// A podSpec is what decides what a pod holds that somebody else has made.
type podSpec struct {
	HostNetwork, HostPID, HostIPC           bool
	HostUsers, AutomountServiceAccountToken *bool
	SecurityContext                         securityContext
	Containers                              []podContainer
	Volumes                                 []struct {
		Name     string
		EmptyDir *struct{ Medium, SizeLimit string }
	}
}

type podContainer struct {
	Name            string
	Command         []string
	SecurityContext securityContext
	Resources       struct{ Limits map[string]string }
}

type securityContext struct {
	RunAsNonRoot, Privileged, AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
	RunAsUser                                                                  *int64
	SeccompProfile                                                             *struct{ Type string }
	Capabilities                                                               struct{ Add, Drop []string }
}

// guest is the container that guests are started in, nil without one.
func (s podSpec) guest() *podContainer {
	for i, c := range s.Containers {
		if c.Name == guestName {
			return &s.Containers[i]
		}
	}
	return nil
}

// waits tells whether the guest's container is one that waits for this codemode's guests.
func (s podSpec) waits() bool {
	c := s.guest()
	return c != nil && slices.Contains(c.Command, idleCode) && slices.Contains(c.Command, bootCode)
}

// lacks is what a pod has not of what Pod Security calls restricted, and of what codemode's own hold beside it.
func (s podSpec) lacks() (list []string) {
	c := s.guest()
	is := func(v *bool, want bool) bool { return v != nil && *v == want }
	lack := func(held bool, what string) {
		if !held {
			list = append(list, what)
		}
	}
	user := cmp.Or(c.SecurityContext.RunAsUser, s.SecurityContext.RunAsUser)
	seccomp := cmp.Or(c.SecurityContext.SeccompProfile, s.SecurityContext.SeccompProfile)
	lack(!s.HostNetwork && !s.HostPID && !s.HostIPC, "namespaces of its own")
	nonRoot := is(cmp.Or(c.SecurityContext.RunAsNonRoot, s.SecurityContext.RunAsNonRoot), true)
	lack(nonRoot && (user == nil || *user != 0), "runAsNonRoot")
	lack(seccomp != nil && (seccomp.Type == "RuntimeDefault" || seccomp.Type == "Localhost"), "a seccompProfile")
	lack(is(c.SecurityContext.AllowPrivilegeEscalation, false) && !is(c.SecurityContext.Privileged, true),
		"allowPrivilegeEscalation: false")
	lack(slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") && len(c.SecurityContext.Capabilities.Add) == 0,
		"capabilities: {drop: [ALL]}")
	lack(is(c.SecurityContext.ReadOnlyRootFilesystem, true), "readOnlyRootFilesystem")
	lack(is(s.AutomountServiceAccountToken, false), "automountServiceAccountToken: false")
	for _, v := range s.Volumes {
		lack(v.EmptyDir != nil && v.EmptyDir.Medium == "Memory" && v.EmptyDir.SizeLimit != "",
			fmt.Sprintf("volume %q in memory, with a size", v.Name))
	}
	return list
}

// judge is what a claimed pod holds a guest to. All pods of a pool have one user, and the kernel counts processes by
// user, so that without user namespaces they would share what one may have.
func (e *engine) judge(s podSpec, p sandbox.Policy) (sandbox.Enforcement, error) {
	if !s.waits() {
		return sandbox.Enforcement{}, e.diagnose("taking a claimed pod", &commandError{
			command: "kubectl get pod",
			stderr:  "NoGuest: its container \"" + guestName + "\" does not wait for this codemode",
		})
	}
	r := e.report("")
	limits := s.guest().Resources.Limits
	if quantity(limits["memory"]) > float64(p.Memory) {
		r.Memory = byNothing
	}
	if quantity(limits["cpu"]) > p.CPUs {
		r.CPUs = byNothing
	}
	if s.HostUsers == nil || *s.HostUsers {
		r.Pids = byNothing
	}
	r.Lacks = s.lacks()
	means, gaps := sandbox.Effective(p, r)
	if len(gaps) > 0 {
		return means, &sandbox.GapError{Runtime: e.name, Gaps: gaps}
	}
	means.Isolation = sandbox.IsolationFull
	return means, nil
}

// quantity reads what the API server writes for a quantity; what is none, or absent, is as much as there is.
func quantity(text string) float64 {
	n := strings.TrimRight(text, "KMGTPEikm")
	value, err := strconv.ParseFloat(n, 64)
	factor, known := map[string]float64{
		"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
	}[text[len(n):]]
	if err != nil || !known {
		return math.Inf(1)
	}
	return value * factor
}
