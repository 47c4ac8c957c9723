package container

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A codemode that makes pods holds a lease in their namespace, which it renews. Whoever finds one that was not renewed
// for leaseTime, by its own clock, removes what its owner has left: no two clocks are compared.
const (
	leaseTime  = time.Minute
	leaseRenew = leaseTime / 3
)

// netpolName is the NetworkPolicy that all guests of a namespace share. It is never deleted.
const netpolName = "codemode-guests"

func (e *engine) leaseName() string {
	return "codemode-" + strings.ToLower(labelValue(e.owner.String()))
}

func renewal() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

// takeLease creates the Lease, and the NetworkPolicy that denies guests all traffic where the cluster enforces such
// policies. Where it does not, that is no gap: the init's system call filter denies sockets in any cluster.
func (e *engine) takeLease(ctx context.Context) error {
	list := object{"apiVersion": "v1", "kind": "List", "items": []object{
		{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": object{"name": e.leaseName(), "labels": object{labelOwner: e.owner.String()}},
			"spec": object{
				"holderIdentity": e.owner.String(), "leaseDurationSeconds": int(leaseTime.Seconds()),
				"renewTime": renewal(),
			},
		},
		{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": object{"name": netpolName},
			"spec": object{
				"policyTypes": []string{"Ingress", "Egress"},
				"podSelector": object{"matchExpressions": []object{
					{"key": labelOwner, "operator": "Exists"}, {"key": labelServer, "operator": "DoesNotExist"},
				}},
			},
		},
	}}
	err := e.create(ctx, list)
	failed, ok := err.(*commandError)
	if !ok || failed.cause != nil {
		return e.given(ctx, "taking a lease", err)
	}
	var others []string
	for line := range strings.Lines(failed.stderr) {
		if !strings.Contains(line, "networkpolicies.networking.k8s.io") && !strings.Contains(line, "AlreadyExists") {
			others = append(others, line)
		}
	}
	if len(others) == 0 {
		return nil
	}
	failed.stderr = strings.Join(others, "")
	return e.diagnose("taking a lease", failed)
}

// tend renews the lease until ctx is over, and removes what others have left.
func (r *Runtime) tend(ctx context.Context, e *engine) {
	ticker := time.NewTicker(leaseRenew)
	defer ticker.Stop()
	seen := r.reapPods(ctx, e, nil)
	for looked := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, renewal())
		_, err := e.ask(ctx, "patch", "lease", e.leaseName(), "--type=merge", "--patch="+patch)
		if err != nil && strings.Contains(err.Error(), "NotFound") {
			err = e.takeLease(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("renewing the lease of the pods", "error", err)
		}
		if time.Since(looked) > leaseTime {
			looked, seen = time.Now(), r.reapPods(ctx, e, seen)
		}
	}
}

// reapPods removes what codemodes have left: those of this boot of this host that have ended, and those whose lease is
// as it was seen before. Another boot may be that of another machine. It returns what was seen of each owner.
func (r *Runtime) reapPods(ctx context.Context, e *engine, before map[string]string) map[string]string {
	text, err := e.ofOwned("get", func(args ...string) (string, error) {
		return e.ask(ctx, append(args, "--selector="+labelOwner, "--output=json")...)
	})
	if err != nil {
		if ctx.Err() == nil {
			r.log.Debug("looking for pods that were left", "error", err)
		}
		return before
	}
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct{ Labels map[string]string }
			Spec     struct{ RenewTime string }
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return before
	}
	now := map[string]string{}
	for _, item := range list.Items {
		if name := item.Metadata.Labels[labelOwner]; now[name] == "" {
			now[name] = item.Spec.RenewTime
		}
	}
	for name, renewed := range now {
		o, ok := parseOwner(name)
		if !ok || name == e.owner.String() || name != labelValue(name) {
			continue
		}
		last, seen := before[name]
		if o.gone(e.owner) && o.sameBoot(e.owner) || seen && last == renewed {
			r.log.Info("removing pods whose codemode has ended", "owner", name)
			if err := e.release(ctx, name, false); err != nil {
				r.log.Warn("removing pods whose codemode has ended", "owner", name, "error", err)
			}
		}
	}
	return now
}

// ofOwned has kubectl do something with all kinds of objects that carry their owner's label. Where the cluster has no
// claims, not yet or not any more, there are the others.
func (e *engine) ofOwned(verb string, do func(args ...string) (string, error)) (text string, err error) {
	const others = "pods,leases"
	if e.cluster.warmPool != "" {
		text, err = do(verb, claims+","+others)
		if err == nil || !strings.Contains(err.Error(), noClaims) {
			return text, err
		}
	}
	return do(verb, others)
}

// release removes all that an owner has in the namespace.
func (e *engine) release(ctx context.Context, owner string, wait bool) error {
	ctx, cancel := withAnswer(ctx, podAnswerTime)
	defer cancel()
	_, err := e.ofOwned("delete", func(args ...string) (string, error) {
		args = append(append(slices.Clone(e.global), args...), "--selector="+labelOwner+"="+owner,
			"--now", "--ignore-not-found", fmt.Sprintf("--wait=%t", wait))
		if e.cluster.warmPool != "" {
			args = append(args, "--cascade=foreground")
		}
		return e.run(ctx, nil, args...)
	})
	return err
}
