package sandboxtest

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/seccomp"
)

//go:embed escapes
var escapeScripts embed.FS

var escapeFiles = sync.OnceValue(func() fs.FS { return rooted(escapeScripts, "escapes") })

// clock is when an attempt is killed that never ends by itself.
const clock = time.Second

// Verdicts of an attempt. The first four come from scripts, the last from the host.
const (
	held     = "held"     // refused, or contained
	escaped  = "escaped"  // it succeeded
	measured = "measured" // known to succeed, and known to be harmless
	broken   = "broken"   // the script has a mistake
	killed   = "killed"   // by a limit or by the clock
)

// An attempt is a script of escapes/ with what its heading says.
type attempt struct {
	name string
	must []string // acceptable verdicts
}

var heading = regexp.MustCompile(`\A# tries: (.+)\n# must: (held|killed|measured|held or killed): (.+)\n`)

func attempts(t *testing.T) []attempt {
	t.Helper()
	names, err := fs.Glob(escapeFiles(), "*.py")
	if err != nil {
		t.Fatal(err)
	}
	var all []attempt
	for _, file := range names {
		if file == "run.py" || file == "attempt.py" {
			continue
		}
		src, err := fs.ReadFile(escapeFiles(), file)
		if err != nil {
			t.Fatal(err)
		}
		m := heading.FindSubmatch(src)
		if m == nil {
			t.Fatalf("%s does not begin with what it tries and what must happen", file)
		}
		must := strings.Split(string(m[2]), " or ")
		if slices.Contains(must, measured) {
			must = append(must, held) // a stricter runtime may refuse it
		}
		all = append(all, attempt{strings.TrimSuffix(file, ".py"), must})
	}
	return all
}

// Escapes runs every attempt against a runtime, and fails for each that succeeds. known lists attempts
// that do succeed under this policy, with the reason; one of them that is refused fails as well, so that
// the list stays true. Afterwards nothing that stood outside may have been touched.
func Escapes(t *testing.T, rt sandbox.Runtime, policy sandbox.Policy, known map[string]string) {
	d := newDecoys(t)
	facts := d.facts(policy)
	t.Run("attempts", func(t *testing.T) {
		for _, a := range attempts(t) {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				verdict, detail := tryEscape(t, rt, policy, a, facts)
				if why, ok := known[a.name]; ok {
					if slices.Contains(a.must, verdict) {
						t.Errorf("%s, though it is known that %s: %s", verdict, why, detail)
					}
					return
				}
				if !slices.Contains(a.must, verdict) {
					t.Errorf("%s, must be %s: %s", verdict, strings.Join(a.must, " or "), detail)
				}
			})
		}
	})
	d.check(t)
}

// tryEscape runs one attempt. What the host saw counts more than what the script says: a guest that was
// killed did not get what it tried to get by staying.
func tryEscape(t *testing.T, rt sandbox.Runtime, policy sandbox.Policy, a attempt, facts string) (verdict, detail string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sb, err := rt.Start(ctx, sandbox.Spec{
		Session: a.name,
		Files:   escapeFiles(),
		Boot:    "run.py",
		Env:     []string{"CODEMODE_TEST_ATTEMPT=" + a.name, "CODEMODE_TEST_HOST=" + facts},
		Policy:  policy,
	})
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	defer sb.Close()
	wait := patience // for those that end by themselves, however busy the machine
	if slices.Equal(a.must, []string{killed}) {
		wait = clock
	}
	timer := time.AfterFunc(wait, sb.Kill)
	defer timer.Stop()
	var report struct{ Verdict, Detail string }
	lines := bufio.NewReader(sb.Channel())
	for {
		line, err := lines.ReadSlice('\n')
		// Whatever else an attempt writes to the channel is part of the attempt.
		if bytes.HasPrefix(line, []byte(`{"verdict"`)) {
			_ = json.Unmarshal(line, &report)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	<-sb.Done()
	e := sb.Exit()
	if e.Signal == sigkill && e.Cause != sandbox.ExitSelf && report.Verdict != escaped {
		return killed, describe(e)
	}
	if report.Verdict == "" {
		return broken, describe(e)
	}
	return report.Verdict, report.Detail
}

// facts tells the scripts what there is to reach for, and what the limits are.
func (d *decoys) facts(p sandbox.Policy) string {
	b, err := json.Marshal(map[string]any{
		"home": d.home, "sock": d.sock, "abstract": d.abstract,
		"port": d.port, "udpPort": d.udpPort, "pid": d.victim.Process.Pid, "shmKey": d.shmKey,
		"memory": p.Memory, "processes": p.Processes, "openFiles": p.OpenFiles,
		"fileSize": p.FileSize, "tmpSize": p.TmpSize, "workSize": p.WorkSize,
		"calls": seccomp.Numbers(runtime.GOARCH),
	})
	if err != nil {
		panic(err) // of strings and numbers
	}
	return string(b)
}
