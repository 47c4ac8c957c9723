package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"codemode/internal/audit"
	"codemode/internal/bridge"
	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/doctor"
	"codemode/internal/hint"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/upstream"

	"github.com/urfave/cli/v3"
)

func doctorCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "prove that everything works, or say what to do",
		Description: "It has guests try to get out of their sandboxes, and starts codemode as clients\n" +
			"do. It ends with 1 when something has failed; a warning is no failure.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "servers", Usage: "also start every server, and ask it for its tools", Local: true},
			&cli.BoolFlag{Name: "escape", Usage: "also make all attempts to escape, which takes minutes", Local: true},
			&cli.StringSliceFlag{
				Name:  "attempt",
				Usage: "`NAME` or group of those attempts that is made alone",
				Local: true,
			},
			&cli.BoolFlag{Name: "fix", Usage: "first repair what can be repaired without loss", Local: true},
			&cli.BoolFlag{
				Name: "yes", Aliases: []string{"y"}, Usage: "do not ask before --fix fetches an image", Local: true,
			},
			&cli.StringFlag{
				Name:  "report",
				Usage: "`FILE` for a bug report, without secrets; - is stdout",
				Local: true,
			},
			jsonFlag(),
		}, append(settingFlags("servers-file", "tenant", "runtime", "python"), configFlag())...),
		Metadata: examples("codemode doctor --servers --fix", "codemode doctor --escape --attempt network"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			if cmd.Bool("json") && cmd.String("report") == "-" {
				return &usageError{"--json and --report - both write to stdout", []string{"name a file for the report"}}
			}
			return runDoctor(ctx, env, ui, cmd)
		},
	}
}

func runDoctor(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	only, err := chosenAttempts(cmd)
	if err != nil {
		return err
	}
	p := newPatient(env, ui, cmd)
	defer p.close()
	report, err := newReport(env, cmd)
	if err != nil {
		return err
	}
	var pulls []doctor.Check
	if cmd.Bool("fix") {
		pulls = p.askPulls(ctx, cmd.Bool("yes")) // ^C ends the question
	}
	ctx, stop := interruptible(ctx)
	defer stop()

	show := newFindings(env, cmd)
	tell := func(f doctor.Finding) {
		ui.done()
		f.Remedy = p.config.Name(f.Remedy)
		show.add(f)
	}
	waiting := func(c doctor.Check) { ui.working("proving " + c.Proves) }
	if cmd.Bool("fix") {
		doctor.Run(ctx, append(p.repairs(), pulls...), waiting, tell)
	}
	if p.paths.Cache != "" {
		// Unpacking takes every processor, and engines have a few seconds to answer. What is wrong is told by a check.
		_, _ = p.python(p.ui).Prepare(ctx)
	}
	doctor.Run(ctx, p.checks(cmd.Bool("servers")), waiting, tell)
	if cmd.Bool("escape") && ctx.Err() == nil {
		p.escape(ctx, only, show, tell)
	}
	ui.done()
	if err := interrupted(ctx); err != nil {
		show.cut()
		return err
	}
	if err := errors.Join(show.finish(), report.write(ui, p, show.list)); err != nil {
		return err
	}
	if doctor.Count(show.list).Failed > 0 {
		return exit(exitFailed)
	}
	return nil
}

// A patient is what is examined. Where the settings cannot be used, the defaults stand in for them.
type patient struct {
	*tenancy
	ui        *ui
	explained config.Explained
	errs      []error // with the settings, which keep codemode from working
	runtimes  []*doctor.Runtime
	bridge    *bridge.Bridge // nil as long as no server is to be started
}

func newPatient(env Env, ui *ui, cmd *cli.Command) *patient {
	p := &patient{ui: ui}
	explained, err := config.Explain(settingsSource(env, cmd))
	p.explained = explained
	if err == nil {
		p.tenancy, err = openTenancy(env, cmd)
	}
	if err != nil {
		p.errs = separate(err)
		defaults, _ := config.Load(config.Source{}) // of nothing, which has no mistakes
		defaults.Problems = explained.Problems
		p.tenancy = &tenancy{env: env, config: defaults, paths: config.FindPaths(env.Lookup, runtime.GOOS)}
	}
	if p.paths.Cache != "" {
		p.addRuntimes()
	}
	return p
}

// addRuntimes adds those that the settings use, and then the others there are.
func (p *patient) addRuntimes() {
	used := runtimeNames(p.config.Sandbox)
	policy := bridge.Policy(p.config.Sandbox)
	for _, name := range slices.Concat(used, []string{config.RuntimeNative, container.Podman, container.Docker}) {
		r := &doctor.Runtime{Policy: policy, Used: slices.Contains(used, name)}
		r.Named = r.Used && len(used) == 1
		if name == config.RuntimeNative {
			r.Runtime = p.native(p.ui, slog.New(slog.DiscardHandler))
		} else {
			r.Policy.Interpreter = ""
			r.Runtime = p.engine(name, p.ui, slog.New(slog.DiscardHandler))
		}
		if !slices.ContainsFunc(p.runtimes, func(other *doctor.Runtime) bool { return other.Name() == r.Name() }) {
			p.runtimes = append(p.runtimes, r)
		}
	}
}

// close ends what the checks have started.
func (p *patient) close() {
	var work sync.WaitGroup
	for _, r := range p.runtimes {
		work.Go(func() { _ = r.Close() })
	}
	if p.bridge != nil {
		_ = p.bridge.Close()
	}
	work.Wait()
}

// checks are all there are, in the order they are told.
func (p *patient) checks(servers bool) []doctor.Check {
	var problems []error
	if len(p.errs) == 0 {
		problems = p.sessionProblems()
	} else {
		problems = p.config.Problems
	}
	list := []doctor.Check{doctor.Settings(p.explained.File, p.errs, problems, hint.Of)}
	if len(p.errs) == 0 {
		list = append(list, doctor.Servers(p.entries(), p.foreignProblems(), p.idlePatterns()))
	}
	if p.paths.Cache == "" {
		list = append(list, doctor.Fails("runtime", errNoCache, hint.Of))
	} else {
		list = append(list, doctor.Runtimes(p.runtimes, func(gaps []sandbox.Gap) string {
			return strings.Join((&sandbox.GapError{Gaps: gaps}).Hint(), "; ")
		})...)
		list = append(list,
			doctor.Images(p.runtimes, p.config.Sandbox.Pull == "missing"),
			doctor.Shares(p.runtimes, p.paths.Cache, hint.Of),
			doctor.Python(p.python(p.ui)),
		)
	}
	if len(p.errs) == 0 {
		list = append(list, p.tools(servers), p.clients())
	}
	list = append(list, doctor.Folders(p.paths.TenantState(p.config.Tenant), p.paths.TenantCache(p.config.Tenant))...)
	if dir := p.auditDir(); dir != "" && p.config.Audit.Keep > 0 {
		list = append(list, doctor.AuditLog(dir, p.config.Audit.Required, audit.Writable))
	}
	return append(list, doctor.Files(p.kept()))
}

// entries are those of discovery, with the tenant's choice.
func (p *patient) entries() []clientcfg.Entry {
	list := make([]clientcfg.Entry, len(p.found.Entries))
	for i, e := range p.found.Entries {
		list[i] = p.chosen(e)
	}
	return list
}

// idlePatterns are those of the settings that fit no server there is, whatever becomes of it.
func (p *patient) idlePatterns() []string {
	var names []string
	for _, e := range p.found.Entries {
		names = append(names, e.Server.Names()...)
	}
	return p.config.IdlePatterns(names, slices.Collect(maps.Values(catalog.Aliases(names))))
}

// foreignProblems are those in the files of other programs; the others are among the settings'.
func (p *patient) foreignProblems() []clientcfg.Problem {
	return slices.DeleteFunc(slices.Clone(p.found.Problems), clientcfg.Problem.Own)
}

// tools starts every server that lacks nothing, where that is asked for.
func (p *patient) tools(start bool) doctor.Check {
	if !start {
		return doctor.Unasked(len(p.ready))
	}
	opts := p.bridgeOptions(slog.New(slog.DiscardHandler))
	opts.Progress = p.ui.waiting
	p.bridge = bridge.New(opts)
	sandboxed := map[string]string{}
	for _, e := range p.found.Entries {
		if e.Restrictions != nil && e.Counts() {
			e.Server.Sandbox = e.Restrictions
			sandboxed[e.Server.Name] = restricted(shown(e).Sandbox)
		}
	}
	return doctor.Tools(p.bridge, slices.Concat(p.ready, p.lacking(clientcfg.NeedsProgram)), sandboxed, hint.Of)
}

// clients starts what AI clients start.
func (p *patient) clients() doctor.Check {
	return doctor.Clients(p.found.Entries, upstream.Options{
		Lookup: p.env.Lookup, Expand: p.expand, Token: p.token, SignInSecrets: p.signInSecrets,
		Version:      readVersion().Version,
		StartTimeout: p.config.Servers.StartTimeout, CallTimeout: p.config.Servers.CallTimeout,
	}, p.env.Self)
}

// kept is where the tenant's things are.
func (p *patient) kept() doctor.Kept {
	k := doctor.Kept{
		State: p.paths.TenantState(p.config.Tenant),
		Tools: p.listsDir(),
		ReadSecrets: func() error {
			_, err := p.secretStore().List()
			return err
		},
	}
	for _, e := range p.found.Entries {
		if isOwn(e) && len(e.Server.Env)+len(e.Server.Headers) > 0 && filepath.IsAbs(e.Server.Source) &&
			e.Scope != clientcfg.Project {
			k.Own = append(k.Own, e.Server.Source)
		}
	}
	return k
}

func (p *patient) repairs() []doctor.Check {
	if p.paths.Cache == "" {
		return nil
	}
	return doctor.Repairs(p.kept(), p.python(p.ui))
}

// askPulls asks about each image that is missing from a runtime that has no substitute, unless --yes answers it. Where
// there is no terminal, no image is fetched without --yes.
func (p *patient) askPulls(ctx context.Context, yes bool) (checks []doctor.Check) {
	if !yes && (!p.ui.live || !isTerminal(p.env.Stdin)) {
		return nil
	}
	for _, r := range p.runtimes {
		engine, ok := r.Runtime.(*container.Runtime)
		if !ok || !r.Named {
			continue
		}
		image := engine.Image()
		present, err := image.Present(ctx)
		question := fmt.Sprintf("fetch the image %q with %s?", image.Name(), r.Name())
		if err == nil && !present && (yes || p.ui.ask(p.env.Stdin, question)) {
			checks = append(checks, doctor.Check{
				Name: "repair", Proves: "that the image is here",
				Examine: func(ctx context.Context, found func(doctor.Finding)) {
					f := doctor.Finding{
						Subject: r.Name(), Verdict: doctor.OK,
						Summary: fmt.Sprintf("image %q is fetched", image.Name()),
					}
					if err := image.Pull(ctx, p.ui.working); err != nil {
						f.Verdict, f.Summary, f.Remedy = doctor.Failed, err.Error(), hint.Of(err)
					}
					found(f)
				},
			})
		}
	}
	return checks
}
