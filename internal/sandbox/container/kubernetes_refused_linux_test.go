package container

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// apply makes objects in a namespace.
func apply(t *testing.T, namespace, objects string) {
	t.Helper()
	cmd := exec.Command(kubectl, "--namespace", namespace, "create", "--filename=-")
	cmd.Stdin = strings.NewReader(objects)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, objects)
	}
}

// newNamespace makes one that ends with the test.
func newNamespace(t *testing.T) string {
	t.Helper()
	name := "codemode-test-" + strings.ToLower(rand.Text())
	ask(t, "create", "namespace", name)
	t.Cleanup(func() { ask(t, "delete", "namespace", name, "--wait=false") })
	return name
}

// actAs has kubectl be a service account with some rights in a namespace.
func actAs(t *testing.T, namespace, verbs, resources string) {
	t.Helper()
	ask(t, "--namespace", namespace, "create", "serviceaccount", "tester")
	if verbs != "" {
		ask(t, "--namespace", namespace, "create", "role", "tester", "--verb="+verbs, "--resource="+resources)
		ask(t, "--namespace", namespace, "create", "rolebinding", "tester", "--role=tester",
			"--serviceaccount="+namespace+":tester")
	}
	token := ask(t, "--namespace", namespace, "create", "token", "tester")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	for _, args := range [][]string{
		{"config", "view", "--raw", "--flatten", "--minify"},
		{"--kubeconfig", file, "config", "set-credentials", "tester", "--token=" + token},
		{"--kubeconfig", file, "config", "set-context", "--current", "--user=tester", "--namespace=" + namespace},
	} {
		out := ask(t, args...)
		if args[1] == "view" {
			if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("KUBECONFIG", file)
}

const (
	roleVerbs     = "create,get,list,watch,delete,patch"
	roleResources = "pods,pods/exec,leases.coordination.k8s.io,networkpolicies.networking.k8s.io"
)

// TestPodRefused: what a cluster has against a pod is told as a thing of its own, with what to do.
func TestPodRefused(t *testing.T) {
	sandboxtest.NeedCluster(t)
	template := func(text string) func(t *testing.T, o *Options) {
		return func(t *testing.T, o *Options) {
			o.Kubernetes.Template = filepath.Join(t.TempDir(), "pod.yaml")
			if err := os.WriteFile(o.Kubernetes.Template, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	in := func(objects string) func(t *testing.T, o *Options) {
		return func(t *testing.T, o *Options) { apply(t, o.Kubernetes.Namespace, objects) }
	}
	for _, c := range []struct {
		name         string
		prepare      func(t *testing.T, o *Options)
		code, remedy string
	}{
		{
			"no permission", func(t *testing.T, o *Options) { actAs(t, o.Kubernetes.Namespace, "", "") },
			codePermission, "create role",
		},
		{"no permission for pods/exec", func(t *testing.T, o *Options) {
			actAs(t, o.Kubernetes.Namespace, roleVerbs, strings.Replace(roleResources, "pods/exec,", "", 1))
		}, codePermission, "pods/exec"},
		{"a token that counts no more", func(t *testing.T, o *Options) {
			actAs(t, o.Kubernetes.Namespace, roleVerbs, roleResources)
			ask(t, "config", "set-credentials", "tester", "--token=no.such.token")
		}, "credentials", "Sign in"},
		{
			"quota",
			in(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none"},"spec":{"hard":{"pods":"0"}}}`),
			"quota", "describe quota",
		},
		{
			"limits",
			in(`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"small"},` +
				`"spec":{"limits":[{"type":"Container","max":{"memory":"64Mi"}}]}}`),
			"quota", "describe limits",
		},
		{
			"image missing", func(_ *testing.T, o *Options) { o.Image = "127.0.0.1:9/none:none" }, "image-missing",
			"sandbox.image",
		},
		{"image that nobody may pull", func(t *testing.T, o *Options) {
			o.Image = "localhost/none:none"
			template("spec: {containers: [{imagePullPolicy: Never}]}")(t, o)
		}, "image-missing", "sandbox.image"},
		{
			"image with a bad name", func(_ *testing.T, o *Options) { o.Image = "NONE" }, "image-missing",
			"sandbox.image",
		},
		{"no node", template("spec: {nodeSelector: {disk: none}}"), "unschedulable", "nodes"},
		{
			"no node so large",
			template("spec: {containers: [{resources: {requests: {cpu: 1000}, limits: {cpu: 1000}}}]}"),
			"unschedulable", "resources.requests",
		},
		{"no service account", template("spec: {serviceAccountName: none}"), "admission", "serviceAccountName"},
		{"no priority class", template("spec: {priorityClassName: none}"), "admission", "priorityClassName"},
		{
			"no runtime class", func(_ *testing.T, o *Options) { o.Kubernetes.RuntimeClass = "none" },
			"runtime-class", "runtimeclasses",
		},
		{"admission", refuses, "admission", "labels"},
		{
			"no such namespace", func(_ *testing.T, o *Options) { o.Kubernetes.Namespace = "codemode-none" },
			"namespace", "create namespace",
		},
		{"a namespace that is going", func(t *testing.T, o *Options) {
			in(`{"apiVersion":"v1","kind":"ConfigMap",`+
				`"metadata":{"name":"stays","finalizers":["codemode.test/stays"]}}`)(t, o)
			ask(t, "delete", "namespace", o.Kubernetes.Namespace, "--wait=false")
			t.Cleanup(func() {
				ask(t, "--namespace", o.Kubernetes.Namespace, "patch", "configmap", "stays", "--type=merge",
					`--patch={"metadata":{"finalizers":null}}`)
			})
		}, "namespace", "anew"},
		{
			"no such context", func(_ *testing.T, o *Options) { o.Kubernetes.Context = "none" }, "context",
			"get-contexts",
		},
		{"no cluster", func(t *testing.T, _ *Options) {
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
		}, "context", "KUBECONFIG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := Options{
				Engine: Kubernetes, Image: sandboxtest.PodImage(), CacheDir: t.TempDir(),
				Lookup: os.LookupEnv, Log: testLog(t),
				Kubernetes: KubernetesOptions{Namespace: newNamespace(t)},
			}
			c.prepare(t, &opts)
			r := New(opts)
			policy := sandbox.DefaultPolicy()
			sb, err := r.Start(t.Context(), sandbox.Spec{Files: script("pass"), Boot: "boot.py", Policy: policy})
			if err == nil {
				sb.Close()
			}
			_ = r.Close() // whoever may nothing cannot remove anything either; there is nothing
			var unavailable *sandbox.UnavailableError
			if !errors.As(err, &unavailable) || unavailable.Code != c.code {
				t.Fatalf("%v (%T), want code %q", err, err, c.code)
			}
			if !strings.Contains(strings.Join(unavailable.Remedy, " "), c.remedy) {
				t.Errorf("%v\n%q, want %q", err, unavailable.Remedy, c.remedy)
			}
			t.Log(err)
		})
	}
}

// refuses has the cluster admit no pods to a namespace.
func refuses(t *testing.T, o *Options) {
	name := o.Kubernetes.Namespace
	apply(t, name, fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":%q},"spec":{
 "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
  "operations":["CREATE"],"resources":["pods"]}]},
 "validations":[{"expression":"false","message":"pods need a label"}]}},
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
 "metadata":{"name":%q},"spec":{
 "policyName":%q,"validationActions":["Deny"],
 "matchResources":{"namespaceSelector":{"matchLabels":
  {"kubernetes.io/metadata.name":%q}}}}}]}`, name, name, name, name))
	t.Cleanup(func() {
		ask(t, "delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", name)
	})
	trial := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"trial"},` +
		`"spec":{"containers":[{"name":"c","image":"i"}]}}`
	waitUntil(t, "the policy does not come into force", func() bool {
		cmd := exec.Command(kubectl, "--namespace", name, "create", "--dry-run=server", "--filename=-")
		cmd.Stdin = strings.NewReader(trial)
		return cmd.Run() != nil
	})
}

// TestPodRole: the role that the guide names is all that codemode needs. When its token counts no more, what runs goes
// on, and the next start says why there is none.
func TestPodRole(t *testing.T) {
	sandboxtest.NeedCluster(t)
	namespace, administrator := newNamespace(t), os.Getenv("KUBECONFIG")
	if !strings.Contains(podRole, roleVerbs) || !strings.Contains(podRole, roleResources) {
		t.Errorf("the role that users are told of is another: %s", podRole)
	}
	actAs(t, namespace, roleVerbs, roleResources)
	r := New(Options{
		Engine: Kubernetes, Image: sandboxtest.PodImage(), CacheDir: t.TempDir(), Lookup: os.LookupEnv, Log: testLog(t),
	})
	defer r.Close() // which may no longer remove anything; the namespace is
	if lacks, err := r.Lacks(t.Context()); err != nil || len(lacks) > 0 {
		t.Errorf("with the role it lacks %q, %v", lacks, err)
	}
	sb := start(t, r, "tell(ready=True)\nos.read(source, 1)\ntell(ready=True)\nos.read(source, 1)")
	var ready any
	answer(t, sb, &ready)
	ask(t, "--kubeconfig", administrator, "--namespace", namespace, "delete", "serviceaccount", "tester")
	var unavailable *sandbox.UnavailableError
	waitUntil(t, "the token still counts", func() bool {
		other, err := r.Start(t.Context(), sandbox.Spec{
			Files: script("pass"), Boot: "boot.py", Policy: sandbox.DefaultPolicy(),
		})
		if err == nil {
			other.Close()
		}
		return errors.As(err, &unavailable) && unavailable.Code == "credentials"
	})
	t.Log(unavailable)
	if _, err := sb.Channel().Write([]byte("x")); err != nil {
		t.Error(err)
	}
	answer(t, sb, &ready)
}

// TestPodLacks: each right that is missing is told by itself.
func TestPodLacks(t *testing.T) {
	sandboxtest.NeedCluster(t)
	actAs(t, newNamespace(t), "get,list,watch", roleResources)
	r := New(Options{Engine: Kubernetes, Image: sandboxtest.PodImage(), CacheDir: t.TempDir(), Lookup: os.LookupEnv})
	defer r.Close()
	lacks, err := r.Lacks(t.Context())
	want := []string{
		"create leases.coordination.k8s.io", "create pods", "create pods/exec", "delete leases.coordination.k8s.io",
		"delete pods", "patch leases.coordination.k8s.io",
	}
	if err != nil || !slices.Equal(lacks, want) {
		t.Errorf("it lacks %q, %v; want %q", lacks, err, want)
	}
}
