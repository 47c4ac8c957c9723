//go:build unix

package container

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// kubectlAnswers is a kubectl whose cluster works until a pod is made.
const kubectlAnswers = `case "$*" in
*version*) echo '{"clientVersion":{"gitVersion":"v1.34.4"},"serverVersion":{"gitVersion":"v1.34.4"}}' ;;
*"get pods,leases"*) echo '{"items":[]}' ;;
*delete*|*patch*) ;;
`

const kubectlMakes = kubectlAnswers + `*create*) cat >>"${0%/*}/made" ;;
`

// waiting is a pod that is told of in the words of the API.
func podTold(status string) string {
	return kubectlMakes + `*"get pod "*) echo '{"metadata":{},"status":` + status + `}'; exec sleep 60 ;;
esac`
}

func containerTold(state string) string {
	return podTold(`{"phase":"Pending","containerStatuses":[{"name":"guest","state":` + state + `}]}`)
}

func createFails(says string) string {
	return kubectlAnswers + `*create*) case "$(cat)" in *Lease*) ;; *) echo '` + says + `' >&2; exit 1 ;; esac ;;
esac`
}

// TestPodUnavailable: what is in the way of a pod is told in the cluster's words, with what to do.
func TestPodUnavailable(t *testing.T) {
	for _, c := range []struct{ name, script, code, says, remedy string }{
		{"context", `echo 'error: context "x" does not exist' >&2; exit 1`, "context", `"x"`, "get-contexts"},
		{"no cluster", `echo 'The connection to the server localhost:8080 was refused - did you specify the right host or port?' >&2; exit 1`, "context", "localhost:8080", "KUBECONFIG"},
		{"token expired", `echo 'error: You must be logged in to the server (Unauthorized)' >&2; exit 1`, "credentials", "logged in", "Sign in"},
		{"clock", `echo 'Unable to connect to the server: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-11-01T00:00:00Z' >&2; exit 1`, "clock", "not yet valid", "clock is right"},
		{"old kubectl", `echo '{"clientVersion":{"gitVersion":"v1.19.16"},"serverVersion":{"gitVersion":"v1.34.4"}}'`, "old-kubectl", "v1.19.16", "v1.34.4"},
		{"policy", createFails(`The pods "p" is invalid: : ValidatingAdmissionPolicy "w" with binding "w" denied request: no`), "admission", "denied request", "labels"},
		{"no lease", kubectlAnswers + `*create*) echo 'Error from server (Forbidden): error when creating "STDIN": leases.coordination.k8s.io is forbidden: User "u" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "n"' >&2; exit 1 ;; esac`, "no-permission", "leases", "create role"},
		{"namespace", kubectlAnswers + `*create*) echo 'Error from server (NotFound): error when creating "STDIN": namespaces "n" not found' >&2; exit 1 ;; esac`, "namespace", `"n"`, "create namespace"},
		{"no permission", createFails(`Error from server (Forbidden): error when creating "STDIN": pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "n"`), "no-permission", "cannot create", "pods/exec"},
		{"quota", createFails(`Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5`), "quota", "limited: pods=5", "describe quota"},
		{"admission", createFails(`Error from server: error when creating "STDIN": admission webhook "w" denied the request: no`), "admission", "denied", "labels"},
		{"terminating", createFails(`Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: unable to create new content in namespace n because it is being terminated`), "namespace", "terminated", "anew"},
		{"runtime class", createFails(`Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: pod rejected: RuntimeClass "kata" not found`), "runtime-class", "kata", "runtimeclasses"},
		{"image missing", containerTold(`{"waiting":{"reason":"ErrImagePull","message":"not found"}}`), "image-missing", "ErrImagePull: not found", "sandbox.image"},
		{"pull back-off", containerTold(`{"waiting":{"reason":"ImagePullBackOff","message":"Back-off"}}`), "image-missing", "Back-off", "sandbox.image"},
		{"no Python", containerTold(`{"terminated":{"reason":"StartError","exitCode":128,"message":"exec: \"python3\": executable file not found in $PATH"}}`), "image-python", "python3", "3.9"},
		{"unschedulable", podTold(`{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes are available"}]}`), "unschedulable", "0/1 nodes", "nodes"},
		{"evicted", podTold(`{"phase":"Failed","reason":"Evicted","message":"the node was low on memory"}`), "evicted", "low on memory", "other nodes"},
		{"deleted", kubectlMakes + `*"get pod "*) echo '{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Pending"}}'; exec sleep 60 ;; esac`, "deleted", "somebody", "events"},
		{"exec refused", containerRuns(`echo 'Error from server (Forbidden): pods "p" is forbidden: User "u" cannot create resource "pods/exec" in API group "" in the namespace "n"' >&2; exit 1`), "no-permission", "pods/exec", "create role"},
		{"network open", containerRuns(`echo 'codemode: the network is open: a socket of family 2' >&2; exit 1`), "network", "family 2", "runtime class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.code == "unschedulable" { // for ten seconds a node may turn up
				require.OptIn(t, "soak")
			}
			r := New(fakeEngine(t, kubectl, c.script))
			defer r.Close()
			_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
			var unavailable *sandbox.UnavailableError
			if !errors.As(err, &unavailable) || unavailable.Code != c.code || unavailable.Runtime != Kubernetes {
				t.Fatalf("%v (%T), want code %q", err, err, c.code)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(strings.Join(unavailable.Remedy, " "), c.remedy) {
				t.Errorf("%v\n%q, want %q and %q", err, unavailable.Remedy, c.says, c.remedy)
			}
		})
	}
	r := New(Options{Engine: Kubernetes, Image: "i", LookPath: func(name string) (string, error) { return "", os.ErrNotExist }})
	defer r.Close()
	var unavailable *sandbox.UnavailableError
	if _, err := r.Probe(t.Context()); !errors.As(err, &unavailable) || unavailable.Code != "no-engine" ||
		!strings.Contains(err.Error(), `"kubectl"`) {
		t.Errorf("without kubectl: %v", err)
	}
}

func containerRuns(exec string) string {
	return kubectlMakes + `*"get pod "*) echo '{"metadata":{},"status":{"phase":"Running","containerStatuses":[{"name":"guest","state":{"running":{}}}]}}'; exec sleep 60 ;;
*exec*) ` + exec + ` ;;
esac`
}

// TestPodTemplate: a template says where a pod is placed, and can say nothing else.
func TestPodTemplate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, word := range map[string]string{
		"spec: {hostNetwork: true}":                                   "spec.hostNetwork",
		"spec: {securityContext: {runAsUser: 0}}":                     "spec.securityContext",
		"spec: {volumes: []}":                                         "spec.volumes",
		"spec: {containers: [{image: x}]}":                            "spec.containers[0].image",
		"spec: {containers: [{securityContext: {privileged: true}}]}": "spec.containers[0].securityContext",
		"spec: {containers: [{}, {}]}":                                "has 2",
		"metadata: {annotations: {a: b}}":                             "annotations",
		"spec: {initContainers: []}":                                  "spec.initContainers",
		"spec: {containers: [{resources: {claims: []}}]}":             "resources.claims",
		"spec: [":                        "yaml",
		"spec: {}\n---\nkind: Pod\n":     "second document",
		"spec: {}\n---\nhostPID: true\n": "second document",
	} {
		write(text)
		if _, err := readTemplate(file); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %q", text, err, word)
		}
	}
	write(`apiVersion: v1
kind: Pod
metadata: {labels: {team: data, codemode.owner: me, codemode.server: "yes"}}
spec:
  nodeSelector: {disk: slow}
  containers:
  - imagePullPolicy: Never
    resources: {requests: {cpu: 2}, limits: {memory: 64Gi, cpu: 4}}
`)
	opts := KubernetesOptions{
		Template: file, NodeSelector: []string{"pool=sandboxes", "disk=fast"}, Requests: []string{"memory=256Mi"},
	}
	template, err := opts.template()
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{name: Kubernetes, owner: thisProcess(), cluster: cluster{template: template, runtimeClass: "gvisor"}}
	made, err := e.pod(order{name: "p", image: "i", user: Nobody, spec: sandbox.Spec{Session: "a/ü", Policy: sandbox.DefaultPolicy()}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"team":"data"`, `"codemode.owner":"` + e.owner.String() + `"`, `"nodeSelector":{"disk":"fast","pool":"sandboxes"}`,
		`"imagePullPolicy":"Never"`, `"limits":{"cpu":4,"ephemeral-storage":"64Mi","memory":"536870912"}`,
		`"requests":{"cpu":2,"ephemeral-storage":"1Mi","memory":"256Mi"}`, `"image":"i"`, `"readOnlyRootFilesystem":true`, `"drop":["ALL"]`,
		`"type":"RuntimeDefault"`, `"runAsUser":65534`, `"automountServiceAccountToken":false`,
		`"runtimeClassName":"gvisor"`, `"codemode.session":"a"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(string(text), labelServer) {
		t.Errorf("the template's label would take a guest out of the network's policy: %s", text)
	}
	for _, user := range []string{"0:0", "root", "1000:users"} {
		if _, err := e.pod(order{user: user}); err == nil {
			t.Errorf("user %q is taken", user)
		}
	}
}

// TestUnfenced: a guest that could take over what codemode starts beside it is not started, unless that is allowed.
func TestUnfenced(t *testing.T) {
	g := &guest{engine: &engine{name: Kubernetes}}
	var gap *sandbox.GapError
	if err := g.beside(sandbox.DefaultPolicy()); !errors.As(err, &gap) || gap.Gaps[0].Name != "network" {
		t.Errorf("without Landlock: %v", err)
	}
	if err := g.beside(sandbox.Policy{AllowGaps: []string{"network"}}); err != nil || len(g.means.Gaps) != 1 {
		t.Errorf("without Landlock, which is allowed: %v, %v", err, g.means.Gaps)
	}
	g = &guest{engine: &engine{name: Kubernetes}, hello: greeting{fenced: true, reach: "LD_PRELOAD"}}
	if err := g.beside(sandbox.DefaultPolicy()); !errors.As(err, &gap) || !strings.Contains(gap.Gaps[0].Detail, "LD_PRELOAD") {
		t.Errorf("with a variable that leads into the guest's folders: %v", err)
	}
	g = &guest{engine: &engine{name: Kubernetes}, hello: greeting{fenced: true}}
	if err := g.beside(sandbox.DefaultPolicy()); err != nil || len(g.means.Gaps) != 0 {
		t.Errorf("with Landlock: %v, %v", err, g.means.Gaps)
	}
}

// TestServerUnfenced: a server that could write to its node's disk, or take all of its node's processes, is not started,
// unless that is allowed.
func TestServerUnfenced(t *testing.T) {
	held := []string{"limited", "fenced"}
	for i, name := range []string{"disk", "pids"} {
		var gap *sandbox.GapError
		other := held[i : i+1]
		command, err := serverCommand(other, []string{"cpus"})
		if !errors.As(err, &gap) || len(gap.Gaps) != 1 || gap.Gaps[0].Name != name {
			t.Errorf("only %q: %q, %v", other, command, err)
		}
		command, err = serverCommand(other, []string{name})
		if fenced := slices.Contains(command, fencePath); err != nil || fenced != (name != "disk") {
			t.Errorf("only %q, which is allowed: %q, %v", other, command, err)
		}
	}
	if command, err := serverCommand(held, []string{"disk"}); err != nil || !slices.Contains(command, fencePath) {
		t.Errorf("with all: %q, %v", command, err)
	}
}
