package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
)

// A Runtime is one of those there could be, and what the settings make of it.
type Runtime struct {
	sandbox.Runtime
	Policy sandbox.Policy
	Used   bool // auto tries it, or it is the one that is asked for by name
	Named  bool // it is that one: nothing takes its place

	once sync.Once
	exam exam
}

// An exam is what there is to know of a runtime. It is made once, for all checks that are about it.
type exam struct {
	report sandbox.Report
	err    error // why it cannot be used at all

	image    string // empty where it needs none
	present  bool
	imageErr error // why that is unknown

	gaps     []sandbox.Gap // what keeps it from being used
	accepted []sandbox.Gap // what the user does without

	trial    trial
	trialErr error
	took     time.Duration // of the trial
}

// examine asks the runtime what it is, and has a guest try to get out of it.
func (r *Runtime) examine(ctx context.Context) *exam {
	r.once.Do(func() {
		x := &r.exam
		if x.report, x.err = r.Probe(ctx); x.err != nil {
			return
		}
		var enforced sandbox.Enforcement
		enforced, x.gaps = sandbox.Effective(r.Policy, x.report)
		x.accepted = enforced.Gaps
		if engine, ok := r.Runtime.(*container.Runtime); ok {
			image := engine.Image()
			x.image = image.Name()
			if x.present, x.imageErr = image.Present(ctx); !x.present {
				return
			}
		}
		began := time.Now()
		if x.trial, x.trialErr = try(ctx, r, r.Policy); x.trial.cutShort != "" { // on a busy machine, once in a while
			x.trial, x.trialErr = try(ctx, r, r.Policy)
		}
		x.took = time.Since(began)
	})
	return &r.exam
}

// works says whether code can run here.
func (x *exam) works() bool {
	return x.err == nil && len(x.gaps) == 0 && x.trialErr == nil && (x.image == "" || x.present) &&
		len(x.trial.escaped()) == 0
}

// Runtimes examines every runtime, and says which of them code runs in. gap says what to do about one.
func Runtimes(all []*Runtime, gap func([]sandbox.Gap) string) []Check {
	checks := make([]Check, 0, len(all)+2)
	for _, r := range all {
		checks = append(checks, Check{
			Name: "runtime", Proves: "what " + r.Name() + " holds a guest to",
			Examine: func(ctx context.Context, found func(Finding)) {
				x := r.examine(ctx)
				found(r.presence(x))
				if f, ok := r.permission(ctx); ok {
					found(f)
				}
				if x.err == nil && x.report.Method != "container" {
					found(r.helper(x.report))
				}
				if x.err == nil {
					f := r.limits(x, gap)
					f.Check = "limits"
					found(f)
				}
			},
		})
	}
	return append(checks, Check{
		Name: "runtime", Proves: "which runtime code runs in",
		Examine: func(ctx context.Context, found func(Finding)) { found(choice(ctx, all)) },
	})
}

// choice is the runtime that codemode will use.
func choice(ctx context.Context, all []*Runtime) Finding {
	var remedy []string
	var used []string
	for _, r := range all {
		if !r.Used {
			continue
		}
		x := r.examine(ctx)
		if x.works() {
			return Finding{Verdict: OK, Summary: "code runs in " + r.Name()}
		}
		used = append(used, r.Name())
		remedy = append(remedy, remedies(cmpErr(x.err, x.trialErr))...)
	}
	summary := fmt.Sprintf(
		"runtime %q, which the settings ask for, does not work here, so no code runs", strings.Join(used, ""),
	)
	if len(used) > 1 {
		summary = fmt.Sprintf("none of %s works here, so no code runs", strings.Join(used, ", "))
	}
	return Finding{Verdict: Failed, Summary: summary, Remedy: slices.Compact(remedy)}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// remedies are what an error of a runtime's says to do.
func remedies(err error) []string {
	if e, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
		return e.Remedy
	}
	return nil
}

// bad is how bad it is that a runtime does not do what it should.
func (r *Runtime) bad() Verdict {
	switch {
	case r.Named:
		return Failed
	case r.Used:
		return Warning // whether another does is told at the end
	}
	return Skipped
}

// presence says what a runtime is, or why it cannot be used.
func (r *Runtime) presence(x *exam) Finding {
	f := Finding{Subject: r.Name(), Verdict: OK}
	if x.err == nil {
		f.Summary = about(x.report)
		if !r.Used {
			f.Summary += "; the settings do not use it"
		}
		if notes := weaker(x.report); len(notes) > 0 {
			f.Details = notes
		}
		return f
	}
	f.Verdict, f.Remedy = r.bad(), remedies(x.err)
	e, ok := errors.AsType[*sandbox.UnavailableError](x.err)
	switch {
	case !ok:
		f.Summary = x.err.Error()
	case (e.Code == "no-engine" || e.Code == "not-linux") && !r.Named:
		f.Verdict, f.Remedy = Skipped, nil
		f.Summary = "not here: " + e.Err.Error()
	default:
		f.Summary = fmt.Sprintf("%s: %v", e.Step, e.Err)
	}
	return f
}

// permission says whether a cluster lets this user do what a pod takes. Where it cannot be asked, presence says why.
func (r *Runtime) permission(ctx context.Context) (f Finding, ok bool) {
	cluster, ok := r.Runtime.(*container.Runtime)
	if !ok || r.Name() != container.Kubernetes {
		return f, false
	}
	lacks, err := cluster.Lacks(ctx)
	if err != nil {
		return f, false
	}
	f = Finding{
		Check: "permission", Subject: r.Name(), Verdict: OK, Summary: "this user may do all that pods and leases take",
	}
	if len(lacks) > 0 {
		f.Verdict, f.Summary = r.bad(), "this user may not do all that pods and leases take"
		f.Details, f.Remedy = lacks, []string{container.PodRole()}
	}
	return f, true
}

// helper says which program makes the native runtime's sandboxes.
func (r *Runtime) helper(report sandbox.Report) Finding {
	f := Finding{Check: "helper", Subject: r.Name(), Verdict: OK}
	switch {
	case report.Helper:
		f.Summary = "codemode-sandbox makes sandboxes, and watches over them"
	case report.Refused != "":
		f.Verdict, f.Summary = Warning, "codemode makes sandboxes itself, a little slower: "+report.Refused
		f.Remedy = []string{"Install codemode and codemode-sandbox from one archive, or remove codemode-sandbox."}
	default:
		f.Summary = "codemode makes sandboxes itself, a little slower: there is no codemode-sandbox beside it"
	}
	return f
}

// about is a runtime in one line.
func about(r sandbox.Report) string {
	who := "as root"
	if r.Rootless {
		who = "rootless"
	}
	switch {
	case r.Runtime == container.Kubernetes:
		return "version " + r.Version
	case r.Method == "container":
		return fmt.Sprintf("version %s, %s", r.Version, who)
	case r.Method == "none":
		return fmt.Sprintf("%s, without namespaces, %s", r.Version, who)
	}
	return fmt.Sprintf(
		"%s, namespaces by %s, %s; a guest starts in %v", r.Version, r.Method, who, r.Start.Round(time.Millisecond),
	)
}

// weaker is what a machine does less well than another, and no gap.
func weaker(r sandbox.Report) (notes []string) {
	if r.Memory == "watchdog" {
		notes = append(
			notes, "memory is held by looking at it, not by the kernel: a guest may exceed its limit for a moment",
		)
	}
	if r.Method == "container" {
		if r.Runtime == container.Docker && !r.Rootless {
			notes = append(notes, "its daemon runs as root; rootless docker, or podman, is safer")
		}
		return notes
	}
	if r.Landlock == 0 {
		notes = append(notes, "this kernel has no Landlock, the second restriction around files")
	}
	if !r.Proc {
		notes = append(notes, "a guest has no /proc here")
	}
	return notes
}

// limits says what a guest could not do.
func (r *Runtime) limits(x *exam, gap func([]sandbox.Gap) string) Finding {
	f := Finding{Subject: r.Name(), Verdict: OK}
	switch {
	case x.image != "" && !x.present:
		f.Verdict, f.Summary = Skipped, "not tried, for want of the image"
		return f
	case x.trialErr != nil:
		f.Verdict, f.Remedy = r.bad(), remedies(x.trialErr)
		f.Summary = "no guest starts: " + x.trialErr.Error()
		return f
	case len(x.gaps) > 0:
		f.Verdict, f.Summary, f.Remedy = r.bad(), "cannot hold a guest to what the settings ask for", []string{
			gap(x.gaps),
		}
	case len(x.accepted) > 0:
		f.Verdict, f.Summary = Warning, "does without what the settings allow to be missing"
	case x.trial.cutShort != "":
		f.Verdict, f.Summary, f.Remedy = Warning, "not all was tried: "+x.trial.cutShort, []string{
			"Try it again, when the machine has less to do: codemode doctor",
		}
	default:
		f.Summary = holds(x.trial)
	}
	for _, g := range slices.Concat(x.gaps, x.accepted) {
		f.Details = append(f.Details, g.Name+": "+g.Detail)
	}
	if escaped := x.trial.escaped(); len(escaped) > 0 {
		f.Verdict, f.Summary = Failed, "a guest got out"
		if !r.Used {
			f.Verdict = Warning
		}
		for _, a := range escaped {
			f.Details = append(f.Details, a.Attempt+": "+a.Detail)
		}
		f.Remedy = []string{"Use another runtime (sandbox.runtime), and report this: codemode doctor --report FILE"}
	}
	return f
}

// holds lists what held, with the means where there are several.
func holds(t trial) string {
	how := map[string]string{"memory": t.enforced.Memory, "processes": t.enforced.Pids}
	var list []string
	for _, a := range attempts {
		if !slices.ContainsFunc(t.attempts, func(made attempt) bool { return made.Attempt == a.name }) {
			continue
		}
		text := a.about
		if m := how[a.name]; m != "" {
			text += " (" + m + ")"
		}
		list = append(list, text)
	}
	return "a guest got past none of: " + strings.Join(list, ", ")
}

// Images says of each engine that is here whether it has the image, and whether there is Python in it. missing is
// whether one that is missing is fetched by the start that needs it.
func Images(all []*Runtime, missing bool) Check {
	return Check{
		Name: "image", Proves: "that containers have an image with Python",
		Examine: func(ctx context.Context, found func(Finding)) {
			for _, r := range all {
				if x := r.examine(ctx); x.err == nil && x.image != "" {
					found(r.picture(x, missing))
				}
			}
		},
	}
}

// picture says what there is to say of an image.
func (r *Runtime) picture(x *exam, missing bool) Finding {
	f := Finding{Subject: r.Name(), Verdict: OK}
	pull := "codemode image pull --runtime " + r.Name()
	e, noPython := errors.AsType[*sandbox.UnavailableError](x.trialErr)
	switch {
	case x.imageErr != nil:
		f.Verdict, f.Summary, f.Remedy = r.bad(), x.imageErr.Error(), remedies(x.imageErr)
	case !x.present && missing:
		f.Verdict, f.Summary = Skipped, fmt.Sprintf("%q is not here yet; the first start fetches it", x.image)
	case !x.present && r.Named:
		f.Verdict, f.Summary, f.Remedy = Failed, fmt.Sprintf("%q is not here", x.image), []string{pull}
	case !x.present:
		f.Verdict, f.Summary = Skipped, fmt.Sprintf("%q is not here; `%s` fetches it", x.image, pull)
	case noPython && e.Code == "image-python":
		f.Verdict, f.Summary, f.Remedy = r.bad(), fmt.Sprintf("%q has no Python that can be used", x.image), e.Remedy
	case x.trial.python == "":
		f.Verdict, f.Summary = Skipped, fmt.Sprintf("%q is here; no container of it has started", x.image)
	default:
		f.Summary = fmt.Sprintf("%q has Python %s", x.image, x.trial.python)
	}
	return f
}

// Shares has a container of each engine read a folder of this machine. No run needs one; an engine in a virtual machine
// reads the filter of system calls there. remedy says what to do about an error.
func Shares(all []*Runtime, folder string, remedy func(error) []string) Check {
	return Check{
		Name: "share", Proves: "that engines see codemode's folder",
		Examine: func(ctx context.Context, found func(Finding)) {
			for _, r := range all {
				engine, ok := r.Runtime.(*container.Runtime)
				if x := r.examine(ctx); !ok || x.err != nil || !x.present || x.trialErr != nil {
					continue
				}
				f := Finding{Subject: r.Name(), Verdict: OK, Summary: fmt.Sprintf("its containers can read %q", folder)}
				_, err := engine.ProveShare(ctx, folder)
				share, notShared := errors.AsType[*container.ShareError](err)
				switch {
				case notShared && share.VM == "":
					f.Verdict, f.Summary = Skipped, "not needed: "+err.Error()
				case err != nil:
					f.Verdict, f.Summary, f.Remedy = Warning, err.Error(), remedy(err)
				}
				found(f)
			}
		},
	}
}
