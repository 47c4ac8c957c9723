package container

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
)

// guestName is the container's in its pod.
const guestName = "guest"

// idleCode is the pod's process 1. It waits for the streams of handoverCode, which kubectl exec starts and which stays
// as long as codemode is connected, and then runs boot.py as in any container: the guest cannot signal process 1.
// handoverCode has no system call filter, so it makes itself undumpable (PR_SET_DUMPABLE): nobody can write to its
// memory.
//
//go:embed idle.py
var idleCode string

//go:embed handover.py
var handoverCode string

type object = map[string]any

const (
	// podDeadline is the longest that a pod lives, whatever becomes of everybody who could end it.
	podDeadline = 24 * 60 * 60

	// The resource requests of a guest; its limits are the policy's. Most guests need less than the limits.
	askedMemory = 128 << 20
	askedCPU    = "50m"

	// nodeDisk is the limit of ephemeral storage. A guest can write to none of it: the kubelet's own files count.
	nodeDisk = "64Mi"
)

// pod is the manifest of a guest's pod: the template's fields, then ours, which win. It meets the Pod Security Standard
// "restricted".
func (e *engine) pod(o order) (object, error) {
	uid, gid, err := numbers(o.user)
	if err != nil {
		return nil, err
	}
	t := e.cluster.template
	spec := maps.Clone(t.spec)
	if spec == nil {
		spec = object{}
	}
	maps.Copy(spec, object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"hostNetwork": false, "hostPID": false, "hostIPC": false, "shareProcessNamespace": false,
		"hostname": "codemode", "dnsPolicy": "None", "dnsConfig": object{"nameservers": []string{"127.0.0.1"}},
		"terminationGracePeriodSeconds": 1, "activeDeadlineSeconds": podDeadline,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": uid, "runAsGroup": gid,
			"seccompProfile": object{"type": "RuntimeDefault"},
		},
	})
	if e.cluster.runtimeClass != "" {
		spec["runtimeClassName"] = e.cluster.runtimeClass
	}
	if t.nodes != nil {
		spec["nodeSelector"] = t.nodes
	}
	container := maps.Clone(t.container)
	if container == nil {
		container = object{}
	}
	maps.Copy(container, object{
		"name": guestName, "image": o.image, "stdin": false, "tty": false,
		"command":    podCommand(),
		"workingDir": besideDir, "env": podEnvironment(), "resources": t.resources(o),
		"securityContext": object{
			"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
			"runAsNonRoot": true, "capabilities": object{"drop": []string{"ALL"}},
		},
	})
	spec["volumes"], container["volumeMounts"] = podVolumes(o.spec.Policy)
	spec["containers"] = []object{container}
	return object{
		"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": object{"name": o.name, "labels": e.podLabels(o.spec)},
	}, nil
}

// podCommand is process 1 of a guest's pod. It waits for some minutes, unless waitForever is behind it.
func podCommand() []string {
	return []string{"python3", "-I", "-S", "-u", "-X", "utf8", "-c", idleCode, bootCode}
}

const waitForever = "forever"

// podLabels say whose pod it is, or whose claim to one.
func (e *engine) podLabels(spec sandbox.Spec) object {
	labels := maps.Clone(e.cluster.template.labels)
	if labels == nil {
		labels = object{}
	}
	maps.Copy(labels, object{
		labelOwner: e.owner.String(), labelPID: strconv.Itoa(e.owner.pid),
		labelSession: labelValue(spec.Session), labelTenant: labelValue(spec.Tenant),
	})
	return labels
}

// podVolumes are the folders that a guest writes to, in memory, and where its container has them.
func podVolumes(p sandbox.Policy) (volumes, mounts []object) {
	for _, v := range []struct {
		name, dir string
		size      int64
	}{
		{"workspace", sandbox.WorkDir, p.WorkSize},
		{"tmp", "/tmp", p.TmpSize},
		{"shm", "/dev/shm", p.TmpSize},
		{"files", sandbox.GuestDir, filesSize},
	} {
		memory := object{"medium": "Memory"}
		if v.size > 0 {
			memory["sizeLimit"] = strconv.FormatInt(v.size, 10)
		}
		volumes = append(volumes, object{"name": v.name, "emptyDir": memory})
		mounts = append(mounts, object{"name": v.name, "mountPath": v.dir})
	}
	return volumes, mounts
}

func podEnvironment() (list []object) {
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		list = append(list, object{"name": name, "value": value})
	}
	return list
}

// numbers are a user and group as a pod must have them.
func numbers(user string) (uid, gid int, err error) {
	u, g, ok := strings.Cut(user, ":")
	if !ok {
		g = u
	}
	uid, uerr := strconv.Atoi(u)
	gid, gerr := strconv.Atoi(g)
	if uerr != nil || gerr != nil || uid == 0 {
		return 0, 0, fmt.Errorf("starting a pod: user %q must be two numbers, the first not 0 (sandbox.user)", user)
	}
	return uid, gid, nil
}

// labelValue is a name as the value of a label: names of sessions are chosen by agents.
func labelValue(s string) string {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	s = strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, s)
	return strings.Trim(s[:min(len(s), 63)], "-_.")
}

// A template is what a cluster wants of its pods and that loosens nothing: where they are placed, what they are called
// and from where their image comes.
type template struct {
	labels, spec, container object
	requests, limits        object
	nodes                   object // a nodeSelector
}

// template is that of the file, with what the settings say, which wins.
func (o KubernetesOptions) template() (template, error) {
	t, err := readTemplate(o.Template)
	if err != nil {
		return t, err
	}
	selector, _ := t.spec["nodeSelector"].(object)
	t.nodes, t.requests = withPairs(selector, o.NodeSelector), withPairs(t.requests, o.Requests)
	return t, nil
}

// withPairs is an object with pairs NAME=VALUE, and nil without any.
func withPairs(of object, pairs []string) object {
	if len(pairs) == 0 {
		return of
	}
	of = maps.Clone(of)
	if of == nil {
		of = object{}
	}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		of[name] = value
	}
	return of
}

// What a template may have.
var (
	templateSpec = []string{
		"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName", "schedulerName",
		"imagePullSecrets", "runtimeClassName", "serviceAccountName", "containers",
	}
	templateContainer = []string{"name", "imagePullPolicy", "resources"}
)

const maxTemplate = 1 << 20 // bytes

// readTemplate reads a file of a pod, or of the part of one. What is not known to be harmless is refused by name.
func readTemplate(file string) (t template, err error) {
	if file == "" {
		return t, nil
	}
	text, err := plainfile.Read(file, maxTemplate)
	if err != nil {
		return t, fmt.Errorf("reading %q: %w", file, err)
	}
	var pod struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Labels object }
		Spec       object
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&pod); err != nil {
		return t, fmt.Errorf("%s: %w", file, err)
	}
	if err := decoder.Decode(new(any)); err != io.EOF {
		return t, fmt.Errorf("%s: it has a second document", file)
	}
	if err := only(pod.Spec, "spec", templateSpec); err != nil {
		return t, fmt.Errorf("%s: %w", file, err)
	}
	t.labels, t.spec = pod.Metadata.Labels, pod.Spec
	maps.DeleteFunc(t.labels, func(name string, _ any) bool { return strings.HasPrefix(name, labelPrefix) })
	containers, _ := pod.Spec["containers"].([]any)
	if len(containers) > 1 {
		return t, fmt.Errorf("%s: spec.containers has %d; a guest has one", file, len(containers))
	}
	for _, c := range containers {
		t.container, _ = c.(object)
		if err := only(t.container, "spec.containers[0]", templateContainer); err != nil {
			return t, fmt.Errorf("%s: %w", file, err)
		}
		resources, _ := t.container["resources"].(object)
		if err := only(resources, "spec.containers[0].resources", []string{"requests", "limits"}); err != nil {
			return t, fmt.Errorf("%s: %w", file, err)
		}
		t.requests, _ = resources["requests"].(object)
		t.limits, _ = resources["limits"].(object)
	}
	return t, nil
}

// only refuses what a part of a template may not have.
func only(part object, where string, allowed []string) error {
	for name := range part {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("%s.%s is not for a template: it may have %s", where, name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// resources are the policy's limits, and the template's where the policy has none.
func (t template) resources(o order) object {
	p := o.spec.Policy
	requests := object{"memory": strconv.Itoa(askedMemory), "cpu": askedCPU, "ephemeral-storage": "1Mi"}
	limits := object{}
	maps.Copy(requests, t.requests)
	maps.Copy(limits, t.limits)
	limits["ephemeral-storage"] = nodeDisk
	if p.Memory > 0 {
		limits["memory"] = strconv.FormatInt(p.Memory, 10)
		if t.requests["memory"] == nil {
			requests["memory"] = strconv.FormatInt(min(p.Memory, askedMemory), 10)
		}
	}
	if p.CPUs > 0 {
		limits["cpu"] = strconv.FormatInt(int64(p.CPUs*1000), 10) + "m"
		if t.requests["cpu"] == nil {
			requests["cpu"] = strconv.FormatInt(int64(min(p.CPUs*1000, 50)), 10) + "m"
		}
	}
	return object{"requests": requests, "limits": limits}
}
