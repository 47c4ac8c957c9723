package container

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/sandbox"
)

// A podSpec is what decides what a pod holds that somebody else has made. fields is all of it, as the cluster says it.
type podSpec struct {
	HostNetwork, HostPID, HostIPC, ShareProcessNamespace bool
	HostUsers, AutomountServiceAccountToken              *bool
	RestartPolicy                                        string
	SecurityContext                                      securityContext
	Containers                                           []podContainer
	Volumes                                              []struct {
		Name     string
		EmptyDir *struct{ Medium, SizeLimit string }
	}

	fields object
}

type podContainer struct {
	Name                               string
	Command                            []string
	WorkingDir, TerminationMessagePath string
	Env                                []object
	VolumeMounts                       []struct{ Name, MountPath string }
	SecurityContext                    securityContext
	Resources                          struct{ Limits map[string]string }
}

type securityContext struct {
	RunAsNonRoot, Privileged, AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
	RunAsUser, RunAsGroup, FSGroup                                             *int64
	ProcMount                                                                  string
	SeccompProfile, AppArmorProfile                                            *struct{ Type string }
	Capabilities                                                               struct{ Add, Drop []string }
}

func (s *podSpec) UnmarshalJSON(text []byte) error {
	type plain podSpec
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	return json.Unmarshal(text, &s.fields)
}

// known are the fields that each part of a claimed pod may have: those that lacks looks at, and those that say where a
// pod is placed, how it is called and from where its image comes.
var known = map[string][]string{
	"spec": {
		"activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy",
		"enableServiceLinks", "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "imagePullSecrets",
		"nodeName", "nodeSelector", "overhead", "preemptionPolicy", "priority", "priorityClassName", "restartPolicy",
		"runtimeClassName", "schedulerName", "securityContext", "serviceAccount", "serviceAccountName",
		"shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds", "tolerations",
		"topologySpreadConstraints", "volumes",
	},
	"spec.containers": {
		"command", "env", "image", "imagePullPolicy", "name", "resources", "securityContext",
		"terminationMessagePath", "terminationMessagePolicy", "volumeMounts", "workingDir",
	},
	"spec.containers.volumeMounts": {"mountPath", "name", "readOnly"},
	"spec.containers.resources":    {"limits", "requests"},
	"spec.volumes":                 {"emptyDir", "name"},
	"spec.securityContext": {
		"appArmorProfile", "fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot", "runAsUser",
		"seLinuxOptions", "seccompProfile", "supplementalGroupsPolicy",
	},
	"spec.securityContext.seLinuxOptions": {"level"},
	"spec.containers.securityContext": {
		"allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
		"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
	},
	"spec.containers.securityContext.seLinuxOptions": {"level"},
}

// unknown are the fields of a part that are not known, by their path. One that says nothing is as good as none.
func unknown(where string, part any) (list []string) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			list = append(list, unknown(where, item)...)
		}
	case object:
		allowed, judged := known[where]
		for name, value := range part {
			path := where + "." + name
			switch {
			case !judged || value == nil || value == false:
			case !slices.Contains(allowed, name):
				list = append(list, path)
			default:
				list = append(list, unknown(path, value)...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
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
	return c != nil && slices.Equal(c.Command, append(podCommand(), waitForever))
}

// lacks is what a pod has not of what Pod Security calls restricted, and of what codemode's own hold beside it; and
// what it has that none of those have.
func (s podSpec) lacks(p sandbox.Policy) (list []string) {
	c := s.guest()
	is := func(v *bool, want bool) bool { return v != nil && *v == want }
	other := func(v *int64) bool { return v != nil && *v != 0 }
	confined := func(v *struct{ Type string }) bool { return v.Type == "RuntimeDefault" || v.Type == "Localhost" }
	lack := func(held bool, what string) {
		if !held {
			list = append(list, what)
		}
	}
	ours, its := s.SecurityContext, c.SecurityContext
	user, group := cmp.Or(its.RunAsUser, ours.RunAsUser), cmp.Or(its.RunAsGroup, ours.RunAsGroup)
	seccomp := cmp.Or(its.SeccompProfile, ours.SeccompProfile)
	armor := cmp.Or(its.AppArmorProfile, ours.AppArmorProfile)
	lack(!s.HostNetwork && !s.HostPID && !s.HostIPC && !s.ShareProcessNamespace, "namespaces of its own")
	lack(is(cmp.Or(its.RunAsNonRoot, ours.RunAsNonRoot), true) && (user == nil || *user != 0), "runAsNonRoot")
	lack(other(group) && (ours.FSGroup == nil || other(ours.FSGroup)), "a group that is not root's")
	lack(seccomp != nil && confined(seccomp), "a seccompProfile")
	lack(armor == nil || confined(armor), "an appArmorProfile")
	lack(is(its.AllowPrivilegeEscalation, false) && !is(its.Privileged, true), "allowPrivilegeEscalation: false")
	lack(slices.Contains(its.Capabilities.Drop, "ALL") && len(its.Capabilities.Add) == 0, "capabilities: {drop: [ALL]}")
	lack(is(its.ReadOnlyRootFilesystem, true), "readOnlyRootFilesystem")
	lack(its.ProcMount == "" || its.ProcMount == "Default", "procMount: Default")
	lack(is(s.AutomountServiceAccountToken, false), "automountServiceAccountToken: false")
	lack(s.RestartPolicy == "Never", "restartPolicy: Never") // or it would begin anew among what a guest has left
	lack(c.WorkingDir == besideDir, "workingDir: "+besideDir)
	lack(c.TerminationMessagePath == "" || c.TerminationMessagePath == "/dev/termination-log", "terminationMessagePath")
	lack(len(s.Containers) == 1, "a spec of one container")
	lack(quantity(c.Resources.Limits["ephemeral-storage"]) <= quantity(nodeDisk), "ephemeral-storage: "+nodeDisk)
	list = append(list, s.wide(c, p)...)
	list = append(list, s.strange(c)...)
	return list
}

// wide is what of the folders that a guest writes to is not in memory, is larger than the policy has it, or is there
// twice: what is at /tmp and at /codemode, too, changes what a guest is started from.
func (s podSpec) wide(c *podContainer, p sandbox.Policy) (list []string) {
	sizes := map[string]float64{}
	volumes, mounts := podVolumes(p)
	for i, m := range mounts {
		limit, _ := volumes[i]["emptyDir"].(object)["sizeLimit"].(string)
		sizes[m["mountPath"].(string)] = quantity(limit)
	}
	for _, v := range s.Volumes {
		places, most := 0, math.Inf(1)
		for _, m := range c.VolumeMounts {
			if m.Name == v.Name {
				places++
				most = min(most, cmp.Or(sizes[m.MountPath], most))
			}
		}
		if places > 1 {
			list = append(list, fmt.Sprintf("volume %q at one place", v.Name))
		}
		if v.EmptyDir == nil || v.EmptyDir.Medium != "Memory" || quantity(cmp.Or(v.EmptyDir.SizeLimit, "0")) <= 0 {
			list = append(list, fmt.Sprintf("volume %q in memory, with a size", v.Name)) // 0 is no limit
		} else if quantity(v.EmptyDir.SizeLimit) > most {
			list = append(list, fmt.Sprintf("volume %q of %.0f bytes at most", v.Name, most))
		}
	}
	return list
}

// strange is what a pod has that none of codemode's own have.
func (s podSpec) strange(c *podContainer) (list []string) {
	_, mounts := podVolumes(sandbox.Policy{})
	for _, m := range c.VolumeMounts {
		if !slices.ContainsFunc(mounts, func(o object) bool { return o["mountPath"] == m.MountPath }) {
			list = append(list, fmt.Sprintf("a spec without a volume at %q", m.MountPath))
		}
	}
	for _, v := range c.Env {
		if !slices.ContainsFunc(podEnvironment(), func(o object) bool { return maps.Equal(o, v) }) {
			list = append(list, fmt.Sprintf("a spec without variable %q", v["name"]))
		}
	}
	for _, field := range unknown("spec", s.fields) {
		list = append(list, "a spec without "+field)
	}
	return list
}

// judge is what a claimed pod holds a guest to. All pods of a pool have one user, and the kernel counts processes by
// user, so that without user namespaces they would share what one may have.
func (e *engine) judge(pod podState, spec sandbox.Spec) (sandbox.Enforcement, error) {
	s, p := pod.Spec, spec.Policy
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
	r.Lacks = s.lacks(p)
	ours := e.podLabels(spec) // as a claim's pod may have them
	for _, name := range slices.Sorted(maps.Keys(pod.Metadata.Labels)) {
		if strings.HasPrefix(name, labelPrefix) && ours[name] != pod.Metadata.Labels[name] {
			r.Lacks = append(r.Lacks, "labels without "+name)
		}
	}
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
