package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// crds are agent-sandbox's kinds as far as codemode and this test's controller use them.
const crds = `{"apiVersion": "v1", "kind": "List", "items": [` +
	`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "sandboxclaims.extensions.agents.x-k8s.io"},
 "spec": {"group": "extensions.agents.x-k8s.io", "scope": "Namespaced",
  "names": {"plural": "sandboxclaims", "singular": "sandboxclaim", "kind": "SandboxClaim", "listKind": "SandboxClaimList"},
  "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
   "schema": {"openAPIV3Schema": {"type": "object", "properties": {
    "spec": {"type": "object", "required": ["warmPoolRef"], "properties": {
     "warmPoolRef": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
     "lifecycle": {"type": "object", "properties": {
      "shutdownTime": {"type": "string", "format": "date-time"},
      "shutdownPolicy": {"type": "string", "enum": ["Delete", "DeleteForeground", "Retain"]}}},
     "env": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}},
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "sandboxes.agents.x-k8s.io"},
 "spec": {"group": "agents.x-k8s.io", "scope": "Namespaced",
  "names": {"plural": "sandboxes", "singular": "sandbox", "kind": "Sandbox", "listKind": "SandboxList"},
  "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}]}`

// A controller does of agent-sandbox what codemode sees: it gives each claim a sandbox that owns a pod which waits.
type controller struct {
	t    *testing.T
	pods []string
}

// tell has kubectl do something with an object.
func tell(ctx context.Context, object any, args ...string) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, kubectl, append(args, "--filename=-")...)
	cmd.Stdin = strings.NewReader(string(text))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %q: %w: %s", args, err, out)
	}
	return nil
}

// newController makes pods wait, each of a pool's template as the cluster keeps it, and answers claims.
func newController(t *testing.T, specs ...object) *controller {
	c := &controller{t: t}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	for i, spec := range specs {
		name := fmt.Sprintf("codemode-test-warm-%d", i)
		pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name}, "spec": spec}
		if err := tell(ctx, pod, "create"); err != nil {
			t.Fatal(err)
		}
		c.pods = append(c.pods, name)
		t.Cleanup(func() { ask(t, "delete", "pod", name, "--now", "--ignore-not-found") })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // the API server ends a watch when it likes, as after a change of the kind
			if err := c.watch(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return c
}

// watch answers claims until it is stopped, the API server ends it, or it may be dead.
func (c *controller) watch(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	cmd := exec.CommandContext(bounded, kubectl, "get", claims, "--watch", "--output=json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for d := json.NewDecoder(out); ; {
		var claim struct {
			Metadata struct{ Name, UID, DeletionTimestamp string }
			Spec     struct{ WarmPoolRef struct{ Name string } }
			Status   struct{ Conditions []any }
		}
		if err := d.Decode(&claim); err != nil {
			return nil
		}
		if m := claim.Metadata; claim.Status.Conditions == nil && m.DeletionTimestamp == "" {
			if err := c.give(ctx, m.Name, m.UID, claim.Spec.WarmPoolRef.Name); err != nil {
				return err
			}
		}
	}
}

// give has a claim own a sandbox, and that one a pod: whoever deletes the claim deletes all three.
func (c *controller) give(ctx context.Context, claim, uid, pool string) error {
	status := object{"conditions": []object{{"type": "Ready", "status": "False", "reason": "WarmPoolNotFound", "message": pool + " not found"}}}
	if pool == "warm" && len(c.pods) > 0 {
		pod, sandbox := c.pods[0], "sandbox-of-"+claim
		c.pods = c.pods[1:]
		owned := func(api, kind, name, uid string) []object {
			return []object{{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true}}
		}
		err := tell(ctx, object{
			"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": object{
				"name": sandbox, "annotations": object{"agents.x-k8s.io/pod-name": pod},
				"ownerReferences": owned(claimAPI, "SandboxClaim", claim, uid),
			},
		}, "create")
		if err != nil {
			return err
		}
		its, err := exec.CommandContext(ctx, kubectl, "get", sandboxes, sandbox, "--output=jsonpath={.metadata.uid}").Output()
		if err != nil {
			return err
		}
		patch := object{"metadata": object{"ownerReferences": owned("agents.x-k8s.io/v1beta1", "Sandbox", sandbox, string(its))}}
		if err := merge(ctx, patch, "pod", pod); err != nil {
			return err
		}
		status = object{
			"conditions": []object{{"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": ""}},
			"sandbox":    object{"name": sandbox},
		}
	}
	return merge(ctx, object{"status": status}, claims, claim, "--subresource=status")
}

// merge changes what a patch names of an object.
func merge(ctx context.Context, patch object, args ...string) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	args = append([]string{"patch", "--type=merge", "--patch=" + string(text)}, args...)
	if out, err := exec.CommandContext(ctx, kubectl, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %q: %w: %s", args, err, out)
	}
	return nil
}

// withAgentSandbox gives the cluster its kinds, and takes them back.
func withAgentSandbox(t *testing.T) {
	t.Helper()
	var list any
	if err := json.Unmarshal([]byte(crds), &list); err != nil {
		t.Fatal(err)
	}
	if err := tell(t.Context(), list, "apply"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ask(t, "delete", "crd", "sandboxclaims.extensions.agents.x-k8s.io", "sandboxes.agents.x-k8s.io")
	})
	ask(t, "wait", "--for=condition=Established", "crd/sandboxclaims.extensions.agents.x-k8s.io", "crd/sandboxes.agents.x-k8s.io")
}

// warmSpec is the pod of the pool that codemode prints.
func warmSpec(t *testing.T, p sandbox.Policy) object {
	t.Helper()
	r := New(Options{Engine: Kubernetes, Image: sandboxtest.PodImage(), Kubernetes: KubernetesOptions{WarmPool: "warm"}})
	defer r.Close()
	text, err := r.WarmPool(p)
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Spec struct {
			PodTemplate struct{ Spec object } `yaml:"podTemplate"`
		}
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	return template.Spec.PodTemplate.Spec
}

// TestPodClaim: of a warm pool a guest gets a pod that waited; what such a pod lacks is a gap; and whatever ends the
// guest, its claim goes, and with it the pod.
func TestPodClaim(t *testing.T) {
	warm := func(o *Options) { o.Kubernetes.WarmPool = "warm" }
	require.OptIn(t, Kubernetes)
	withAgentSandbox(t)
	r := newCluster(t, warm)
	spec := warmSpec(t, sandbox.DefaultPolicy())
	newController(t, slices.Repeat([]object{spec}, 4)...)
	policy := sandbox.DefaultPolicy()
	waits := script(channelCode + "tell(ready=True)\nos.read(source, 1)") // until it is ended
	run := func(policy sandbox.Policy) (sandbox.Sandbox, error) {
		return r.Start(t.Context(), sandbox.Spec{Files: waits, Boot: "boot.py", Policy: policy, Session: "s"})
	}
	var gap *sandbox.GapError
	if _, err := run(policy); !errors.As(err, &gap) || len(gap.Gaps) != 1 || gap.Gaps[0].Name != "pids" {
		t.Errorf("pods of one user on a node: %v", err)
	}
	policy.AllowGaps = []string{"pids"}
	sb, err := run(policy)
	if err != nil {
		t.Fatal(err)
	}
	g := sb.(*guest)
	if !strings.HasPrefix(g.pod, "codemode-test-warm-") || g.pod == g.name {
		t.Errorf("its pod is %q", g.pod)
	}
	mine := "--selector=" + labelOwner + "=" + thisProcess().String()
	const path = "{.items[*].metadata.name} {.items[*].spec.lifecycle.shutdownPolicy}"
	if got := ask(t, "get", claims, mine, "--output=jsonpath="+path); !strings.Contains(got, g.name) || !strings.HasSuffix(got, "Delete") {
		t.Errorf("its claims are %q", got)
	}
	var ready any
	answer(t, sb, &ready)
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	waitUntil(t, "a claim or its pod is left", func() bool {
		return ask(t, "get", claims, mine, "--output=name") == "" && ask(t, "get", "pod", g.pod, "--ignore-not-found", "--output=name") == ""
	})

	wide := policy
	wide.Memory /= 2
	if _, err := run(wide); !errors.As(err, &gap) || gap.Gaps[0].Name != "memory" {
		t.Errorf("a pod that may have more memory: %v", err)
	}
	left, err := run(policy)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	other := *r.engine()
	if err := other.release(t.Context(), thisProcess().String(), false); err != nil { // as the next codemode would
		t.Fatal(err)
	}
	<-left.Done()
	if _, err := run(policy); err == nil || !strings.Contains(err.Error(), "WarmPoolNotFound") || !strings.Contains(fmt.Sprint(hints(err)), "image warm-pool") {
		t.Errorf("of a pool without pods: %v", err)
	}
}

// TestClaimUnavailable: what is in the way of a claim is told in the cluster's words, with what to do.
func TestClaimUnavailable(t *testing.T) {
	t.Parallel()
	claim := func(status string) string {
		return kubectlMakes + `*"get sandboxclaims"*--watch*) echo '{"metadata":{},"status":` + status + `}'; exec sleep 60 ;; esac`
	}
	const noPool = `{"conditions":[{"type":"Ready","status":"False","reason":"WarmPoolNotFound","message":"SandboxWarmPool \"p\" not found"}]}`
	for _, c := range []struct{ name, script, says, remedy string }{
		{
			"no agent-sandbox", createFails(`error: resource mapping not found for name: "c" namespace: "" from "STDIN": no matches for kind "SandboxClaim" in version "extensions.agents.x-k8s.io/v1beta1"`),
			"no matches for kind", "Install agent-sandbox",
		},
		{
			"no such pool", claim(noPool),
			`SandboxWarmPool "p" not found`, "codemode image warm-pool",
		},
		{
			"a watch that the API server ends first",
			strings.Replace(claim(noPool), `echo '{"metadata"`, "mkdir "+filepath.Join(t.TempDir(), "ended")+" && exit 0; echo '{\"metadata\"", 1),
			`SandboxWarmPool "p" not found`, "codemode image warm-pool",
		},
		{
			"a watch whose connection is dead",
			strings.Replace(claim(noPool), `echo '{"metadata"`, "mkdir "+filepath.Join(t.TempDir(), "dead")+" && exec sleep 60; echo '{\"metadata\"", 1),
			`SandboxWarmPool "p" not found`, "codemode image warm-pool",
		},
	} {
		opts := fakeEngine(t, kubectl, c.script)
		opts.Kubernetes.WarmPool = "p"
		r := New(opts)
		_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != codeWarmPool || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(fmt.Sprint(unavailable.Remedy), c.remedy) {
			t.Errorf("%s: %v, %q", c.name, err, hints(err))
		}
		_ = r.Close()
	}
}

// TestNoClaims: where a cluster has no claims any more, pods and leases are removed all the same.
func TestNoClaims(t *testing.T) {
	t.Parallel()
	opts := fakeEngine(t, kubectl, `case "$*" in *sandboxclaims*)
echo "error: the server doesn't have a resource type \"sandboxclaims\"" >&2; exit 1 ;;
esac
`+kubectlMakes+"esac")
	opts.Kubernetes.WarmPool = "p"
	r := New(opts)
	e, err := r.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = e.release(t.Context(), "somebody", false)
	_ = r.Close()
	calls, readErr := os.ReadFile(filepath.Join(filepath.Dir(opts.Engine), "calls"))
	deleted := "delete pods,leases --selector=" + labelOwner + "=somebody"
	if err != nil || readErr != nil || !strings.Contains(string(calls), deleted) {
		t.Errorf("%v, %v: %s", err, readErr, calls)
	}
}

// TestNamesOfCluster: what a cluster says in the place of a name reaches no command line, where it might be an option.
func TestNamesOfCluster(t *testing.T) {
	t.Parallel()
	const claimed = kubectlMakes + `*"get sandboxclaims"*) echo '{"status":{"conditions":[{"type":"Ready","status":"True"}],"sandbox":{"name":"SANDBOX"}}}'; exec sleep 60 ;;
*"get sandboxes"*) echo 'POD' ;;
esac`
	for _, c := range []struct{ sandbox, pod string }{
		{"--kubeconfig=k", ""},
		{"s", "--kubeconfig=k"},
		{"s", "-A --kubeconfig=k"},
		{"s", "p/--kubeconfig=k"},
		{"s", "P.kubeconfig"},
		{"s", strings.Repeat("kubeconfig.", 30) + "p"},
	} {
		opts := fakeEngine(t, kubectl, strings.NewReplacer("SANDBOX", c.sandbox, "POD", c.pod).Replace(claimed))
		opts.Kubernetes.WarmPool = "p"
		r := New(opts)
		_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
		_ = r.Close()
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != codeWarmPool || !strings.Contains(err.Error(), "no name") {
			t.Errorf("%+v: %v", c, err)
		}
		calls, err := os.ReadFile(filepath.Join(filepath.Dir(opts.Engine), "calls"))
		if err != nil || strings.Contains(string(calls), "kubeconfig") {
			t.Errorf("%+v reached kubectl: %v: %s", c, err, calls)
		}
	}
}

// hints are what an error says is to be done.
func hints(err error) []string {
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) {
		return nil
	}
	return slices.Clone(unavailable.Remedy)
}
