package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	noClaims  = `resource type "sandboxclaims` // in what kubectl says where there are none
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
	pod, state, err := e.claimPod(ctx, o)
	if err != nil {
		return pod, o.means, err
	}
	means, err := e.judge(state, o.spec)
	return pod, means, err
}

// claimPod has the warm pool give a pod, and says what it is called and what it holds. Nothing of the pod is asked to
// be otherwise, or it would be made anew.
func (e *engine) claimPod(ctx context.Context, o order) (pod string, state podState, err error) {
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
		return "", state, e.given(ctx, "claiming a pod", err)
	}
	name, err := e.awaitClaim(ctx, o.name)
	if err == nil {
		err = e.named(name)
	}
	if err != nil {
		return "", state, err
	}
	if pod, err = e.ask(ctx, "get", sandboxes, name, "--output=jsonpath="+podOfSandbox); err != nil {
		return "", state, e.given(ctx, "looking for a claim's pod", err)
	}
	pod = cmp.Or(strings.TrimSpace(pod), name)
	if err := e.named(pod); err != nil {
		return "", state, err
	}
	state, err = e.awaitPod(ctx, pod)
	return pod, state, err
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
	container["command"] = append(podCommand(), waitForever)
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
