package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/sandbox"
)

// TestRunKeepsTheOrder has the last check be done first.
func TestRunKeepsTheOrder(t *testing.T) {
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	var checks []Check
	for i, name := range []string{"a", "b", "c"} {
		checks = append(checks, Check{Name: name, Examine: func(_ context.Context, found func(Finding)) {
			if i < 2 {
				<-gates[i+1]
			}
			found(Finding{Verdict: OK})
			found(Finding{Check: name + "2", Verdict: Failed})
			close(gates[i])
		}})
	}
	var told, waited []string
	Run(
		t.Context(), checks, func(c Check) { waited = append(waited, c.Name) },
		func(f Finding) { told = append(told, f.Check) },
	)
	if want := []string{"a", "a2", "b", "b2", "c", "c2"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(waited, want) {
		t.Errorf("waited for %v, want %v", waited, want)
	}
}

// TestRunEnds holds that nothing is told once the user has had enough, and that every check has ended by then.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := false
	checks := []Check{
		{Name: "quick", Examine: func(_ context.Context, found func(Finding)) { found(Finding{}) }},
		{Name: "slow", Examine: func(ctx context.Context, found func(Finding)) {
			<-ctx.Done()
			found(Finding{})
			ended = true
		}},
	}
	var told []string
	Run(ctx, checks, func(Check) {}, func(f Finding) {
		told = append(told, f.Check)
		cancel()
	})
	if !slices.Equal(told, []string{"quick"}) || !ended {
		t.Errorf("told %v; the slow one has ended: %v", told, ended)
	}
}

func TestCount(t *testing.T) {
	list := []Finding{{Verdict: OK}, {Verdict: OK}, {Verdict: Warning}, {Verdict: Failed}, {Verdict: Skipped}}
	if got := Count(list); got != (Summary{OK: 2, Warnings: 1, Failed: 1, Skipped: 1}) {
		t.Errorf("%+v", got)
	}
}

// examined is a runtime of which everything is known.
type named string

func (n named) Name() string                                               { return string(n) }
func (named) Probe(context.Context) (sandbox.Report, error)                { panic("it is known") }
func (named) Close() error                                                 { return nil }
func (named) Start(context.Context, sandbox.Spec) (sandbox.Sandbox, error) { panic("it is known") }

func examined(name string, used, alone bool, x exam) *Runtime {
	r := &Runtime{Runtime: named(name), Used: used, Named: alone, exam: x}
	r.once.Do(func() {})
	return r
}

var (
	held    = trial{python: "3.14.6", attempts: []attempt{{"memory", true, ""}, {"root", true, ""}}}
	escaped = trial{attempts: []attempt{{"network", false, "reached"}}}
	early   = trial{python: "3.14.6", attempts: held.attempts[:1], cutShort: "the guest ended"}
	absent  = &sandbox.UnavailableError{
		Runtime: "podman",
		Code:    "no-engine",
		Step:    "looking for the command",
		Err:     errors.New(`there is no "podman"`),
		Remedy:  []string{"Install podman."},
	}
	stopped = &sandbox.UnavailableError{
		Runtime: "docker", Code: "daemon", Step: "asking the engine", Err: errors.New("no daemon"),
		Remedy: []string{"Start it."},
	}
)

// TestVerdicts is who is blamed for what does not work: what stands in for something else is no failure.
func TestVerdicts(t *testing.T) {
	gap := sandbox.Gap{Name: "cpus", Detail: "no cgroup"}
	for _, tt := range []struct {
		name        string
		used, alone bool
		exam        exam
		presence    Verdict
		limits      Verdict
		remedy      string // in either
		works       bool
	}{
		{"works", true, false, exam{trial: held}, OK, OK, "", true},
		{"absent, asked for by name", true, true, exam{err: absent}, Failed, "", "Install podman.", false},
		{"absent, of several", true, false, exam{err: absent}, Skipped, "", "", false},
		{"absent, not used", false, false, exam{err: absent}, Skipped, "", "", false},
		{"stopped, asked for by name", true, true, exam{err: stopped}, Failed, "", "Start it.", false},
		{"stopped, of several", true, false, exam{err: stopped}, Warning, "", "Start it.", false},
		{"stopped, not used", false, false, exam{err: stopped}, Skipped, "", "Start it.", false},
		{"gap", true, true, exam{gaps: []sandbox.Gap{gap}, trial: held}, OK, Failed, "allow cpus", false},
		{"accepted gap", true, true, exam{accepted: []sandbox.Gap{gap}, trial: held}, OK, Warning, "", true},
		{"escape", true, false, exam{trial: escaped}, OK, Failed, "report", false},
		{"escape from one that is not used", false, false, exam{trial: escaped}, OK, Warning, "report", false},
		{"image missing", true, true, exam{image: "i"}, OK, Skipped, "", false},
		{"ended early", true, true, exam{trial: early}, OK, Warning, "again", true},
		{"does not start", true, true, exam{trialErr: stopped}, OK, Failed, "Start it.", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := examined("podman", tt.used, tt.alone, tt.exam)
			x := r.examine(t.Context())
			found := []Finding{r.presence(x)}
			if x.err == nil {
				found = append(found, r.limits(x, func(gaps []sandbox.Gap) string { return "allow " + gaps[0].Name }))
			}
			if found[0].Verdict != tt.presence {
				t.Errorf("presence is %+v, want %s", found[0], tt.presence)
			}
			if len(found) > 1 && found[1].Verdict != tt.limits || len(found) == 1 && tt.limits != "" {
				t.Errorf("limits are %+v, want %s", found[1:], tt.limits)
			}
			var remedy []string
			for _, f := range found {
				remedy = append(remedy, f.Remedy...)
			}
			if got := strings.Join(remedy, " "); (tt.remedy == "") != (got == "") || !strings.Contains(got, tt.remedy) {
				t.Errorf("the remedy is %q, want %q", got, tt.remedy)
			}
			if x.works() != tt.works {
				t.Errorf("works: %v, want %v", x.works(), tt.works)
			}
		})
	}
}

// TestHelper is which program makes sandboxes, and what to do about one that is not used.
func TestHelper(t *testing.T) {
	r := examined("native", true, false, exam{})
	for _, tt := range []struct {
		report  sandbox.Report
		verdict Verdict
		summary string
	}{
		{sandbox.Report{Helper: true}, OK, "codemode-sandbox makes"},
		{sandbox.Report{}, OK, "no codemode-sandbox beside it"},
		{sandbox.Report{Refused: "it is of another build"}, Warning, "of another build"},
	} {
		f := r.helper(tt.report)
		if f.Verdict != tt.verdict || !strings.Contains(f.Summary, tt.summary) ||
			(len(f.Remedy) > 0) != (tt.verdict == Warning) {
			t.Errorf("%+v: %+v", tt.report, f)
		}
	}
}

// TestChoice is the first of those that are used that works, whatever else does.
func TestChoice(t *testing.T) {
	native := examined("native", true, false, exam{err: stopped})
	podman := examined("podman", true, false, exam{trial: held})
	docker := examined("docker", false, false, exam{trial: held})
	if f := choice(t.Context(), []*Runtime{native, podman, docker}); f.Verdict != OK ||
		f.Summary != "code runs in podman" {
		t.Errorf("%+v", f)
	}
	f := choice(t.Context(), []*Runtime{native, docker})
	if f.Verdict != Failed || !strings.Contains(f.Summary, `"native"`) ||
		!slices.Equal(f.Remedy, []string{"Start it."}) {
		t.Errorf("%+v", f)
	}
}

func TestImage(t *testing.T) {
	python := &sandbox.UnavailableError{
		Code: "image-python", Err: errors.New("none"), Remedy: []string{"another image"},
	}
	for _, tt := range []struct {
		name    string
		alone   bool
		missing bool
		exam    exam
		want    Verdict
		text    string
	}{
		{"here", true, false, exam{image: "i", present: true, trial: held}, OK, `"i" has Python 3.14.6`},
		{"missing", true, false, exam{image: "i"}, Failed, "not here"},
		{"missing from one of several", false, false, exam{image: "i"}, Skipped, "codemode image pull --runtime podman"},
		{"fetched when needed", true, true, exam{image: "i"}, Skipped, "the first start fetches it"},
		{"without Python", true, false, exam{image: "i", present: true, trialErr: python}, Failed, "no Python"},
		{"not to be started", true, false, exam{image: "i", present: true, trialErr: stopped}, Skipped, "no container"},
	} {
		r := examined("podman", true, tt.alone, tt.exam)
		if f := r.picture(&r.exam, tt.missing); f.Verdict != tt.want || !strings.Contains(f.Summary, tt.text) {
			t.Errorf("%s: %+v, want %s: %s", tt.name, f, tt.want, tt.text)
		}
	}
}

// TestDisk looks at the fullest disk.
func TestDisk(t *testing.T) {
	for _, tt := range []struct {
		a, b uint64
		want Verdict
	}{{1 << 40, 600 << 20, OK}, {1 << 40, 499 << 20, Warning}, {49 << 20, 1 << 40, Failed}} {
		free := func(dir string) (uint64, error) { return map[string]uint64{"/": tt.a, "/dev": tt.b}[dir], nil }
		f := disk(free, "/", "", "/dev")
		if f.Verdict != tt.want || (f.Verdict == OK) != (f.Remedy == nil) {
			t.Errorf("%d and %d MB: %+v, want %s", tt.a>>20, tt.b>>20, f, tt.want)
		}
	}
	unknown := func(string) (uint64, error) { return 0, errors.New("no") }
	if f := disk(unknown, "/"); f.Verdict != Skipped {
		t.Errorf("where nobody can tell: %+v", f)
	}
}

func TestAnswer(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"42\n"}]}`:                                                                "",
		`{"content":[{"type":"text","text":"status: error\nexit: 125\nerror: no runtime works\nx"}],"isError":true}`: "no runtime works",
		`{"content":[{"type":"text","text":"41"}]}`:                                                                  "41",
		`{"content":[]}`: "it answered nothing",
		`nonsense`:       "it answered nothing",
	} {
		if got := answer([]byte(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

// TestRedactor puts secrets into every place that an entry has.
func TestRedactor(t *testing.T) {
	r := NewRedactor("/home/alice")
	r.AddVariables([]string{"GITHUB_TOKEN=correct horse battery", "EDITOR=vim-tiny", "SHORT_KEY=abc"})
	r.AddServer(config.Server{
		Name: "s", Command: "npx", Args: []string{"-y", "--token", "staple-of-mine", "--api-key=arg-of-mine"},
		Env:     map[string]string{"ANYTHING": "value-of-mine", "DEBUG": "true"},
		Headers: map[string]string{"Authorization": "Bearer header-of-mine"},
		URL:     "https://user:password-of-mine@example.com/mcp?sid=query-of-mine",
	})
	text := `/home/alice/.config: vim-tiny said correct horse battery, staple-of-mine, arg-of-mine, value-of-mine,
header-of-mine, https://user:password-of-mine@example.com/mcp?sid=query-of-mine and ghp_0123456789abcdefghij; abc, true, npx`
	got := r.Text(text)
	for _, secret := range []string{"/home/alice", "correct horse", "-of-mine", "ghp_"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %s", secret, got)
		}
	}
	for _, plain := range []string{"~/.config: vim-tiny said", "***, true, npx"} {
		if !strings.Contains(got, plain) {
			t.Errorf("%q is no longer in %s", plain, got)
		}
	}
}
