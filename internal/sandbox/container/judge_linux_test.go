package container

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

// TestClaimedPodJudged: each thing that a pod of somebody else's lacks is named.
func TestClaimedPodJudged(t *testing.T) {
	policy := sandbox.DefaultPolicy()
	policy.CPUs, policy.AllowGaps = 1, []string{"pids"}
	e := &engine{name: Kubernetes, memory: byCgroup, pids: byRlimit, cpus: byCgroup, seccomp: true}
	size := func(spec object, volume int, limit any) {
		spec["volumes"].([]any)[volume].(object)["emptyDir"].(object)["sizeLimit"] = limit
	}
	for _, c := range []struct {
		change func(spec, container object)
		gap    string
	}{
		{func(spec, _ object) {}, ""},
		{func(spec, _ object) { spec["hostPID"] = true }, "namespaces of its own"},
		{func(spec, _ object) { spec["securityContext"] = object{"runAsNonRoot": true} }, "a seccompProfile"},
		{func(spec, _ object) { spec["automountServiceAccountToken"] = nil }, "automountServiceAccountToken"},
		{func(_, c object) { c["securityContext"].(object)["runAsUser"] = 0 }, "runAsNonRoot"},
		{func(_, c object) { c["securityContext"].(object)["privileged"] = true }, "allowPrivilegeEscalation"},
		{func(_, c object) {
			c["securityContext"].(object)["capabilities"] = object{"drop": []string{"ALL"}, "add": []string{"NET_RAW"}}
		}, "capabilities"},
		{func(_, c object) { c["securityContext"].(object)["readOnlyRootFilesystem"] = false }, "readOnlyRootFilesystem"},
		{func(spec, _ object) {
			spec["volumes"] = []object{{"name": "host", "hostPath": object{"path": "/"}}}
		}, `volume "host"`},
		{func(_, c object) { c["resources"].(object)["limits"].(object)["memory"] = "1Gi" }, "memory"},
		{func(spec, _ object) { spec["shareProcessNamespace"] = true }, "namespaces of its own"},
		{func(spec, _ object) { spec["restartPolicy"] = "Always" }, "restartPolicy"},
		{func(spec, _ object) { spec["securityContext"].(object)["runAsGroup"] = 0 }, "group"},
		{func(spec, _ object) { spec["securityContext"].(object)["fsGroup"] = 0 }, "group"},
		{func(spec, _ object) { spec["securityContext"].(object)["fsGroup"] = 1000 }, ""},
		{func(spec, _ object) { delete(spec["securityContext"].(object), "runAsGroup") }, "group"},
		{func(spec, _ object) { spec["securityContext"].(object)["supplementalGroups"] = []int{0} }, "spec.securityContext.supplementalGroups"},
		{func(spec, _ object) { spec["securityContext"].(object)["sysctls"] = []object{{"name": "a"}} }, "spec.securityContext.sysctls"},
		{func(spec, _ object) {
			spec["securityContext"].(object)["seLinuxOptions"] = object{"type": "spc_t"}
		}, "spec.securityContext.seLinuxOptions.type"},
		{func(spec, _ object) {
			spec["securityContext"].(object)["appArmorProfile"] = object{"type": "Unconfined"}
		}, "appArmorProfile"},
		{func(_, c object) { c["securityContext"].(object)["procMount"] = "Unmasked" }, "procMount"},
		{func(spec, _ object) { spec["containers"] = append(spec["containers"].([]any), object{"name": "side"}) }, "one container"},
		{func(spec, _ object) { spec["initContainers"] = []object{{"name": "i"}} }, "spec.initContainers"},
		{func(spec, _ object) { spec["ephemeralContainers"] = []object{{"name": "e"}} }, "spec.ephemeralContainers"},
		{func(spec, _ object) { spec["resources"] = object{} }, "spec.resources"},
		{func(_, c object) { setEnv(c, object{"name": "LD_PRELOAD", "value": "/tmp/x.so"}) }, `"LD_PRELOAD"`},
		{func(_, c object) {
			setEnv(c, object{"name": "HOME", "valueFrom": object{"secretKeyRef": object{"name": "s", "key": "k"}}})
		}, `"HOME"`},
		{func(_, c object) { c["envFrom"] = []object{{"secretRef": object{"name": "s"}}} }, "spec.containers.envFrom"},
		{func(_, c object) { c["livenessProbe"] = object{"exec": object{}} }, "spec.containers.livenessProbe"},
		{func(_, c object) { c["lifecycle"] = object{"postStart": object{}} }, "spec.containers.lifecycle"},
		{func(_, c object) { c["tty"], c["stdin"] = true, true }, "spec.containers.stdin, a spec without spec.containers.tty"},
		{func(_, c object) { c["ports"] = []object{{"hostPort": 80}} }, "spec.containers.ports"},
		{func(_, c object) { c["args"] = []string{"x"} }, "spec.containers.args"},
		{func(_, c object) { c["volumeDevices"] = []object{{"name": "d"}} }, "spec.containers.volumeDevices"},
		{func(_, c object) { c["resources"].(object)["claims"] = []object{{"name": "d"}} }, "spec.containers.resources.claims"},
		{func(_, c object) { c["terminationMessagePath"] = "/tmp/tm" }, "terminationMessagePath"},
		{func(_, c object) { c["terminationMessagePath"] = "/dev/termination-log" }, ""},
		{func(_, c object) { c["workingDir"] = "/workspace" }, "workingDir"},
		{func(_, c object) { c["volumeMounts"].([]any)[0].(object)["mountPath"] = "/usr/lib" }, `a volume at "/usr/lib"`},
		{func(_, c object) { c["volumeMounts"].([]any)[0].(object)["subPath"] = "a" }, "volumeMounts.subPath"},
		{func(_, c object) { c["command"] = append([]any{"sh", "-c", "x", "--"}, c["command"].([]any)...) }, "does not wait"},
		{func(_, c object) { delete(c["resources"].(object)["limits"].(object), "cpu") }, "cores"},
		{func(_, c object) { c["command"] = []string{"sleep", "1h"} }, "does not wait"},
		{func(_, c object) { c["name"] = "main" }, "does not wait"},
		{func(spec, _ object) { size(spec, 0, "100Gi") }, `volume "workspace" of 134217728 bytes`},
		{func(spec, _ object) { size(spec, 1, "65Mi") }, `volume "tmp" of 67108864 bytes`},
		{func(spec, _ object) { size(spec, 2, "0") }, `volume "shm" in memory, with a size`},
		{func(spec, _ object) { size(spec, 3, nil) }, `volume "files" in memory, with a size`},
		{func(spec, _ object) { size(spec, 3, "1Gi") }, `volume "files" of`},
		{func(spec, _ object) { size(spec, 0, "1Mi") }, ""},
		{func(_, c object) { c["volumeMounts"].([]any)[3].(object)["name"] = "tmp" }, `volume "tmp" at one place`},
		{func(_, c object) { delete(c["resources"].(object)["limits"].(object), "ephemeral-storage") }, "ephemeral-storage: 64Mi"},
		{func(_, c object) { c["resources"].(object)["limits"].(object)["ephemeral-storage"] = "65Mi" }, "ephemeral-storage: 64Mi"},
	} {
		spec := warmSpec(t, policy)
		c.change(spec, spec["containers"].([]any)[0].(object))
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var pod podState
		if err := json.Unmarshal(text, &pod.Spec); err != nil {
			t.Fatal(err)
		}
		_, err = e.judge(pod, sandbox.Spec{Policy: policy})
		if said := fmt.Sprint(err); err == nil && c.gap != "" || !strings.Contains(said, c.gap) {
			t.Errorf("without %q: %v", c.gap, err)
		}
	}
	for text, want := range map[string]float64{"1": 1, "500m": 0.5, "2Gi": 2 << 30, "1k": 1000, "1e3": 1000} {
		if got := quantity(text); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	for _, text := range []string{"", "many", "1Qi"} {
		if got := quantity(text); got < 1<<62 {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestClaimedPodLabels: a claimed pod has no labels by which codemode would take it for something else.
func TestClaimedPodLabels(t *testing.T) {
	spec := sandbox.Spec{Policy: sandbox.DefaultPolicy(), Session: "s"}
	spec.Policy.CPUs, spec.Policy.AllowGaps = 1, []string{"pids"}
	text, err := json.Marshal(warmSpec(t, spec.Policy))
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{name: Kubernetes, memory: byCgroup, pids: byRlimit, cpus: byCgroup, seccomp: true}
	for label, taken := range map[string]bool{
		"team=a": true, labelSession + "=s": true, labelSession + "=t": false, labelServer + "=yes": false, labelOwner + "=": false,
	} {
		name, value, _ := strings.Cut(label, "=")
		var pod podState
		if err := json.Unmarshal(text, &pod.Spec); err != nil {
			t.Fatal(err)
		}
		pod.Metadata.Labels = map[string]string{name: value}
		if _, err := e.judge(pod, spec); (err == nil) != taken || !taken && !strings.Contains(err.Error(), "labels without "+name) {
			t.Errorf("%s: %v", label, err)
		}
	}
}

// setEnv gives a container a variable, and what it has another value.
func setEnv(container, variable object) {
	others := slices.DeleteFunc(container["env"].([]any), func(v any) bool { return v.(object)["name"] == variable["name"] })
	container["env"] = append(others, variable)
}
