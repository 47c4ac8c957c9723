package bridge

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/guest"
)

// TestClockStandsStill is about a run of ten seconds whose user is asked twice, once twice at the same time.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newClock(10*time.Second, time.Hour)
		time.AfterFunc(4*time.Second, func() { c.hold() })
		time.AfterFunc(5*time.Second, func() { c.hold() })
		time.AfterFunc(64*time.Second, c.release)
		time.AfterFunc(94*time.Second, c.release)
		time.AfterFunc(95*time.Second, func() { c.hold() })
		time.AfterFunc(100*time.Second, c.release)
		<-c.over()
		if took := time.Since(began); took != 105*time.Second {
			t.Errorf("it was over after %v, want 10 s and the 95 s it was held", took)
		}
		if asked, _ := c.paused(); asked != 95*time.Second {
			t.Errorf("it was held for %v", asked)
		}
		c.stop()
		if c.hold() {
			t.Error("a run that is being stopped can be held up")
		}
	})
}

// TestClockCounts is about runs of ten seconds whose user is asked for ever: what they go on to do meanwhile counts.
func TestClockCounts(t *testing.T) {
	for name, c := range map[string]struct {
		used  func() time.Duration // of the time since the beginning
		pause time.Duration
		want  time.Duration
	}{
		"idle":                         {func() time.Duration { return 0 }, time.Hour, time.Hour + 10*time.Second},
		"a processor":                  {nil, time.Hour, 10 * time.Second},
		"that cannot be seen":          {func() time.Duration { return unseen }, time.Hour, unseenPause + 10*time.Second},
		"nor stand still for as long":  {func() time.Duration { return unseen }, time.Second, 11 * time.Second},
		"no longer than it may at all": {func() time.Duration { return 0 }, 5 * time.Second, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				if c.used == nil {
					c.used = func() time.Duration { return time.Since(began) }
				}
				clock := newClock(10*time.Second, c.pause, func() time.Duration { return 0 }, c.used)
				clock.hold()
				<-clock.over()
				if took := time.Since(began); took != c.want {
					t.Errorf("it was over after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestClockWaitsForStarts is about a run of ten seconds that needs two servers, each of which may take four to start,
// one of them again and again.
func TestClockWaitsForStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newClock(10*time.Second, 0)
		for range 2 {
			release := c.holdStart("a", 4*time.Second)
			<-time.After(3 * time.Second)
			release()
		}
		c.holdStart("b", 4*time.Second)
		<-c.over()
		if took := time.Since(began); took != 18*time.Second {
			t.Errorf("it was over after %v, want 10 s and the 8 s that two servers may take", took)
		}
		if asked, starting := c.paused(); asked != 0 || starting != 18*time.Second {
			t.Errorf("asked for %v, and servers started for %v", asked, starting)
		}
	})
}

// TestTwoToolsShown holds that tool "c" of server "a.b" and tool "b.c" of server "a" are two in questions and receipts.
func TestTwoToolsShown(t *testing.T) {
	var asked []string
	r, stats := &run{}, newCallStats()
	r.req.Ask = func(_ context.Context, q Question) (Answer, error) {
		asked = append(asked, q.Server+"."+q.Tool)
		return No, nil
	}
	l := &live{bridge: &Bridge{admission: &admission{confirmTimeout: time.Minute}}}
	for _, c := range []guest.ToolCall{{Server: "a.b", Tool: "c"}, {Server: "a", Tool: "b.c"}} {
		if _, err := l.askUser(t.Context(), r, c, reason{why: "of a rule"}); err != nil {
			t.Fatal(err)
		}
		stats.refuse(c.Server, c.Tool, callDenied)
	}
	if want := []string{`"a.b".c`, "a.b.c"}; !slices.Equal(asked, want) {
		t.Errorf("asked is about %q, want %q", asked, want)
	}
	if len(stats.byTool) != 2 {
		t.Errorf("counted are %v", stats.byTool)
	}
}

// TestSlowStart is about a server that takes longer to start than the run may: whether the run has named it or not, the
// deadline is that of the code.
func TestSlowStart(t *testing.T) {
	for name, servers := range map[string][]string{"named": {"slow"}, "on first use": nil} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, nil, fake("slow", "-start-delay", "3s"))
			k.text("pass") // the sandbox's own start is not what the deadline is about
			out := k.run(Request{Code: "await mcp_slow.echo(message='up')", Servers: servers, Timeout: 2 * time.Second})
			want(t, out.compact(), "result: 'up'")
			if out.Receipt.StartMS < 2900 || out.Receipt.PythonMS > 2900 {
				t.Errorf(
					"the receipt says that starting took %d ms, and Python %d ms", out.Receipt.StartMS,
					out.Receipt.PythonMS,
				)
			}
		})
	}
}

// TestSpinWhileAsked is about a run that goes on while its user is asked: in a thread of its own, and in processes that
// each live some milliseconds, whose parents are not told of what they have used.
func TestSpinWhileAsked(t *testing.T) {
	for name, code := range map[string]string{
		"thread": "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\n",
		"relay": `
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while True:
        while time.process_time() < .01: pass
        if os.fork(): os._exit(0)
`,
		"children": `
import os, signal, threading, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def breed():
    while True:
        if os.fork() == 0:
            while time.process_time() < .01: pass
            os._exit(0)
        time.sleep(.01)
if os.fork() == 0: breed()
`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(
				t, func(o *Options) { o.Config.Policy.Confirm = []string{"*.delete_*"} },
				fake("notes", "-notes", filepath.Join(t.TempDir(), "notes")),
			)
			out := k.run(Request{
				Timeout: time.Second, Code: code + "await mcp_notes.delete_note(message='x')",
				Ask: func(ctx context.Context, _ Question) (Answer, error) {
					<-ctx.Done()
					return No, ctx.Err()
				},
			})
			if out.Status != StatusTimeout || out.Receipt.AskedMS > 15_000 {
				t.Errorf("asked for %d ms: %s", out.Receipt.AskedMS, out.compact())
			}
			t.Logf("asked for %d ms", out.Receipt.AskedMS)
		})
	}
}

// TestTooManyQuestions is about code that asks about one tool after the other.
func TestTooManyQuestions(t *testing.T) {
	k := newKit(t, func(o *Options) {
		o.Config.Policy.Confirm, o.Config.Policy.Questions = []string{"fake.*"}, 3
	}, fake("fake", "-tools", "8"))
	asked := 0
	out := k.run(Request{
		Code: "for n in range(1, 9):\n    try: await runtime.call_tool('fake', f'tool_{n}', {'message': 'x'})\n" +
			"    except mcp.PolicyError as e: print(e)",
		Ask: func(context.Context, Question) (Answer, error) { asked++; return No, nil },
	})
	text := out.compact()
	if n := strings.Count(text, "and the run has asked its user 3 times, and policy.questions is 3"); asked != 3 ||
		n != 5 {
		t.Errorf("asked %d times, %d refusals: %s", asked, n, text)
	}
}

func TestClockWithoutDeadline(t *testing.T) {
	c := newClock(0, time.Hour)
	if !c.hold() || c.over() != nil {
		t.Error("no deadline can be held, and is never over")
	}
	c.release()
	c.stop()
}

// TestAnswersHold is about a tool whose server describes it anew after each answer.
func TestAnswersHold(t *testing.T) {
	first, second := answerKey{"notes", "delete", 0}, answerKey{"notes", "delete", 1}
	for _, c := range []struct {
		said               Answer
		yes, known, anew   bool // of the same tool, and of one described anew
		laterYes, laterNew bool // of the session's next run
	}{
		{said: No, known: true, anew: true},
		{said: Answer(99), known: true, anew: true},
		{said: Dismissed, known: true, anew: true},
		{said: Unanswered, known: true, anew: true},
		{said: Once},
		{said: ForRun, yes: true, known: true},
		{said: ForSession, yes: true, known: true, laterYes: true},
	} {
		kept := newAnswers()
		r := &run{answers: kept, said: map[answerKey]Answer{}}
		r.remember(first, c.said)
		yes := func(a Answer, known bool) (bool, bool) { return known && a.refusal() == nil, known }
		if yes, known := yes(r.known(first)); yes != c.yes || known != c.known {
			t.Errorf("%d: %v, %v", c.said, yes, known)
		}
		if yes, known := yes(r.known(second)); yes || known != c.anew {
			t.Errorf("%d, described anew: %v, %v", c.said, yes, known)
		}
		if _, known := r.known(answerKey{"notes", "add", 0}); known {
			t.Errorf("%d: it is an answer to another question", c.said)
		}
		later := &run{answers: kept, said: map[answerKey]Answer{}}
		if yes, known := yes(later.known(first)); yes != c.laterYes || known != c.laterYes {
			t.Errorf("%d, in the next run: %v, %v", c.said, yes, known)
		}
		if _, known := later.known(second); known != c.laterNew {
			t.Errorf("%d, in the next run, described anew: %v", c.said, known)
		}
	}
}
