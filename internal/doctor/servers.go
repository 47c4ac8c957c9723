package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/upstream"
)

// Settings tells what is wrong with the settings: errs, which keep codemode from working, and what stops nothing.
func Settings(file string, errs, problems []error, remedy func(error) []string) Check {
	return Check{
		Name: "settings", Proves: "that the settings can be used",
		Examine: func(_ context.Context, found func(Finding)) {
			for _, err := range errs {
				found(Finding{Verdict: Failed, Summary: err.Error(), Remedy: remedy(err)})
			}
			for _, err := range problems {
				found(Finding{Verdict: Warning, Summary: err.Error(), Remedy: remedy(err)})
			}
			if len(errs)+len(problems) == 0 {
				what := fmt.Sprintf("%q and the environment have no mistakes", file)
				if _, err := os.Stat(file); err != nil {
					what = "the environment has no mistakes; there is no config.toml, and none is needed"
				}
				found(Finding{Verdict: OK, Summary: what})
			}
		},
	}
}

// Servers tells what was found where. An entry's status is what the tenant makes of it.
// idle are patterns of the settings that fit none.
func Servers(entries []clientcfg.Entry, problems []clientcfg.Problem, idle []string) Check {
	return Check{
		Name: "servers", Proves: "which servers there are",
		Examine: func(_ context.Context, found func(Finding)) {
			found(counted(entries))
			if unused := unused(entries); len(unused) > 0 {
				found(Finding{
					Verdict: Skipped, Summary: plural(len(unused), "entry is not used", "entries are not used"),
					Details: unused, Remedy: lacking(entries),
				})
			}
			if len(idle) > 0 {
				found(Finding{
					Verdict: Warning,
					Summary: plural(
						len(idle), "pattern of the settings fits", "patterns of the settings fit",
					) + " no server",
					Details: idle,
				})
			}
			for _, p := range problems {
				found(Finding{Verdict: Warning, Subject: p.Server, Summary: p.Error()})
			}
		},
	}
}

// counted says how many servers can be used, and how many come from each source.
func counted(entries []clientcfg.Entry) Finding {
	var sources []string
	ready, by := 0, map[string]int{}
	for _, e := range entries {
		if e.Status != clientcfg.Ready {
			continue
		}
		ready++
		if by[e.Client] == 0 {
			sources = append(sources, e.Client)
		}
		by[e.Client]++
	}
	if ready == 0 {
		return Finding{
			Verdict: OK, Summary: "no MCP server is configured; codemode servers add NAME -- COMMAND adds one",
		}
	}
	for i, s := range sources {
		sources[i] = fmt.Sprintf("%s %d", s, by[s])
	}
	return Finding{
		Verdict: OK,
		Summary: fmt.Sprintf("%s ready: %s", plural(ready, "server is", "servers are"), strings.Join(sources, ", ")),
	}
}

// unused says of each entry that is not used why. What is one with another is used.
func unused(entries []clientcfg.Entry) (list []string) {
	for _, e := range entries {
		switch e.Status {
		case clientcfg.Ready,
			clientcfg.Duplicate,
			clientcfg.Shadowed,
			clientcfg.Invalid: // the last is told as a problem
			continue
		}
		text := fmt.Sprintf("%q in %s: %s", e.Written, e.Place(), e.Status)
		if e.Reason != "" {
			text += ", " + e.Reason
		}
		list = append(list, text)
	}
	return list
}

// lacking is what to do about entries that could be used if they had what they lack.
func lacking(entries []clientcfg.Entry) (list []string) {
	for _, e := range entries {
		text := map[clientcfg.Status]string{
			clientcfg.NeedsInput:    "set what %s refers to where codemode is started; codemode servers show %[1]s",
			clientcfg.NeedsProgram:  "install the program of %s, or correct its command; codemode servers show %[1]s",
			clientcfg.NeedsApproval: "codemode servers approve %s",
		}[e.Status]
		if e.Status == clientcfg.NeedsInput && e.Asks() {
			text = "write an entry of your own for %s, with a variable in the place of what only its program can ask for: " +
				"codemode servers add %[1]s …"
		}
		ways := e.Ways
		if text != "" && ways == nil {
			ways = []string{fmt.Sprintf(text, hint.Word(e.Server.Name))}
		}
		for _, way := range ways {
			if len(list) < maxLacking && !slices.Contains(list, way) {
				list = append(list, way)
			}
		}
	}
	return list
}

// maxLacking is how many entries a doctor says something to do about.
const maxLacking = 5

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Unasked says that servers were not started.
func Unasked(n int) Check {
	return Check{
		Name: "tools", Proves: "that servers list their tools",
		Examine: func(_ context.Context, found func(Finding)) {
			if n > 0 {
				found(
					Finding{
						Verdict: Skipped,
						Summary: plural(n, "server", "servers") + " not started; --servers starts them",
					},
				)
			}
		},
	}
}

// Tools starts servers, side by side, and asks them for their tools. sandboxed says of those in a sandbox what they may
// use.
func Tools(b *bridge.Bridge, names []string, sandboxed map[string]string, remedy func(error) []string) Check {
	return Check{
		Name: "tools", Proves: "that servers list their tools",
		Examine: func(ctx context.Context, found func(Finding)) {
			began := time.Now()
			b.Servers().List(ctx, names, func(name string, tools int, err error) {
				where := ""
				if restrictions, ok := sandboxed[name]; ok {
					where = ", in a sandbox: " + restrictions
				}
				if err != nil {
					f := broken(name, err, append(remedy(err), "codemode servers show "+hint.Word(name)))
					f.Summary += where
					found(f)
					return
				}
				found(
					Finding{
						Subject: name,
						Verdict: OK,
						Summary: fmt.Sprintf(
							"%s after %s%s", plural(tools, "tool", "tools"), seconds(time.Since(began)), where,
						),
					},
				)
			})
		},
	}
}

// broken tells of a server that could not be used, with its last words.
func broken(subject string, err error, remedy []string) Finding {
	f := Finding{Subject: subject, Verdict: Failed, Summary: err.Error(), Remedy: remedy}
	start, ok := errors.AsType[*upstream.StartError](err)
	if ok && start.Stderr != "" {
		f.Details = start.LastWords()
		f.Remedy = slices.DeleteFunc(f.Remedy, func(r string) bool { return strings.HasPrefix(r, "its last words: ") })
	}
	if ok && start.SandboxHint() != "" && !slices.Contains(f.Remedy, start.SandboxHint()) {
		f.Remedy = append(f.Remedy, start.SandboxHint())
	}
	return f
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// ownEntries are the entries by which clients start codemode. Those of a project are a stranger's, and not started.
func ownEntries(entries []clientcfg.Entry) []clientcfg.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e clientcfg.Entry) bool {
		return !e.StartsSelf || e.Server.Command == ""
	})
}

// servers are entries as a pool takes them, each with a name of its own.
func servers(entries []clientcfg.Entry) []config.Server {
	list := make([]config.Server, len(entries))
	for i, e := range entries {
		list[i] = e.Server
		list[i].Name = subject(e, i)
	}
	return list
}

// subject names an entry among those of all clients.
func subject(e clientcfg.Entry, i int) string { return fmt.Sprintf("%s#%d", e.Client, i) }
