package container

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// podNeeds are what codemode does in its namespace and cannot do without. The policy of the network is no part of it.
var podNeeds = []struct{ verbs, resource, sub string }{
	{"create,get,list,watch,delete", "pods", ""},
	{"create", "pods", "exec"},
	{"create,get,list,watch,delete,patch", "leases.coordination.k8s.io", ""},
}

// Lacks asks the cluster what of all that codemode does there its user may not do, as "create pods/exec".
func (r *Runtime) Lacks(ctx context.Context) (lacks []string, err error) {
	e := r.engine()
	if e == nil {
		if e, err = r.find(ctx); err != nil {
			return nil, err
		}
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	for _, need := range podNeeds {
		for verb := range strings.SplitSeq(need.verbs, ",") {
			work.Go(func() {
				args := []string{"auth", "can-i", verb, need.resource, "--subresource=" + need.sub}
				said, failed := e.ask(ctx, args...)
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(said, "no") {
					lacks = append(lacks, strings.TrimSuffix(verb+" "+need.resource+"/"+need.sub, "/"))
				} else if failed != nil {
					err = errors.Join(err, e.diagnose("asking what this user may do", failed))
				}
			})
		}
	}
	work.Wait()
	slices.Sort(lacks)
	return lacks, err
}

// PodRole is what to do about what Lacks tells.
func PodRole() string { return podRole }
