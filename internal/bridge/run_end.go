package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codemode/internal/guest"
	"codemode/internal/sandbox"
	"codemode/internal/visible"
)

// interrupt stops a run that has had its time: softly, and after the grace period for good.
func (s *session) interrupt(l *live, r *run, answer <-chan guest.Message, reason string) Outcome {
	r.clock.stop()
	l.notify(guest.MethodInterrupt, guest.Interrupt{Run: r.n, Reason: reason})
	// The guest cancels what it no longer waits for, and code that cleans up may call tools. Calls that still hold
	// up the end are ended in time.
	defer time.AfterFunc(s.bridge.opts.Config.Run.Grace/2, func() { r.end(errRunOver) }).Stop()
	out := Outcome{Status: StatusTimeout, Ended: EndStopped, ExitCode: 124, Timeout: r.req.Timeout}
	out.Error = "timeout after " + seconds(r.req.Timeout)
	if reason == "cancelled" {
		out = Outcome{Status: StatusCancelled, Ended: EndStopped, ExitCode: 130, Error: "cancelled"}
	}
	grace := time.NewTimer(s.bridge.opts.Config.Run.Grace)
	defer grace.Stop()
	select {
	case m := <-answer:
		f := s.finished(l, m)
		if f.Lost {
			return f
		}
		if f.Status == StatusSuccess && reason == "timeout" {
			f.Notes = append(f.Notes, out.Error+" came as it ended")
			return f
		}
		out.Error += "; the session's variables are still there"
		if f.Error != "" { // where it was stopped
			out.Error += "\n" + f.Error
		}
		return out
	case <-l.gone:
		out.Error += "; Python ended with it"
	case <-grace.C:
		l.kill(errRunOver)
		<-l.gone
		out.Error += fmt.Sprintf(
			"; the code did not stop within %s, so Python was killed", seconds(s.bridge.opts.Config.Run.Grace),
		)
	}
	out.Lost = true
	<-l.box.Done()
	r.leftover(l)
	return out
}

// seconds writes a duration as people do: 30 s, 0.5 s.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// finished turns the guest's own account of a run into an outcome.
func (s *session) finished(l *live, m guest.Message) Outcome {
	if m.Error != nil {
		return NotRun(fmt.Errorf("the guest refused the run: %s", visible.Line(visible.Clip(m.Error.Message, maxNote))))
	}
	var g guest.RunResult
	done := l.decode(len(m.Result))
	err := json.Unmarshal(m.Result, &g)
	done()
	if err != nil {
		l.kill(err)
		<-l.gone
		return broke(fmt.Errorf("reading its result: %w", err))
	}
	l.news = g.Left
	out := Outcome{Status: StatusSuccess, Notes: g.Notes}
	switch g.Status {
	case guest.RunOK:
		if g.Value != nil {
			out.Repr, out.Value = g.Value.Repr, g.Value.JSON
		}
	case guest.RunExit:
		out.Ended = EndExit
		if g.Exit != nil && (g.Exit.Code != 0 || g.Exit.Message != "") {
			out.Status = StatusError
			out.ExitCode, out.Error = g.Exit.Code&0xff, g.Exit.Message
		}
	default: // an exception, also the KeyboardInterrupt of an interrupt that came from the code itself
		out.Status, out.Ended, out.ExitCode = StatusError, EndException, 1
		if g.Status == guest.RunInterrupted || g.Error != nil && g.Error.Type == "KeyboardInterrupt" {
			out.ExitCode = 130 // what a shell shows of a program that SIGINT has ended
		}
		if g.Error != nil {
			out.Error = raised(g.Error, s.bridge.opts.Config.Sandbox.Memory)
		}
	}
	return out
}

// died says what ended a guest that went away in the middle of a run.
func (s *session) died(l *live, r *run, answer <-chan guest.Message) Outcome {
	select {
	case m := <-answer: // it answered with its last breath
		return s.finished(l, m)
	default:
	}
	<-l.box.Done()
	r.leftover(l)
	l.mu.Lock()
	broken := l.broken
	l.mu.Unlock()
	if errors.Is(context.Cause(l.ctx), errClosed) {
		return Outcome{
			Status: StatusCancelled, Ended: EndStopped, ExitCode: 130, Error: "cancelled: " + errClosed.Error(),
			Lost: true,
		}
	}
	exit := l.box.Exit()
	lostEngine := exit.Cause == sandbox.ExitKilled && exit.Err != nil // it was killed because its channel had ended
	stopped := Outcome{Status: StatusError, Ended: EndStopped, ExitCode: 1, Lost: true}
	switch {
	case exit.Cause == sandbox.ExitEngine, lostEngine && broken == nil:
		out := NotRun(exit.Err)
		out.Lost = true
		return out
	case broken != nil:
		return broke(broken)
	case errors.Is(context.Cause(l.ctx), errWithdrawn):
		stopped.Error = "stopped: " + errWithdrawn.Error()
		return stopped
	case exit.Cause == sandbox.ExitKilled: // by the reader, because the guest had closed its end
		stopped.Error = "the code closed codemode's channel and was stopped"
		return stopped
	case len(l.greeting) == 0 && exit.Cause == sandbox.ExitSelf && exit.Code != 0:
		out := NotRun(errNoStart{exit.Code})
		out.Lost = true
		return out
	}
	return died(exit, s.bridge.opts.Config.Sandbox.Memory)
}

// errNoStart is an interpreter that ended before it had read a line of codemode's Python.
type errNoStart struct{ code int }

func (e errNoStart) Error() string {
	return fmt.Sprintf("Python could not start, so no code was run (exit code %d): its files may be damaged", e.code)
}

// Hint is what finds and mends that.
func (errNoStart) Hint() []string { return []string{"codemode doctor --fix"} }

// broke is the outcome of a run whose guest did not keep to the protocol.
func broke(err error) Outcome {
	return Outcome{
		Status: StatusError, Ended: EndStopped, ExitCode: 1, Lost: true,
		Error: "the code broke codemode's channel and was stopped: " + err.Error(),
	}
}

// leftover takes what a dead guest had written but never sent.
func (r *run) leftover(l *live) {
	exit := l.box.Exit()
	r.print("stdout", exit.Stdout)
	r.print("stderr", exit.Stderr)
}

// fill completes an outcome with what the run collected: notes, images, stdout and stderr.
func (s *session) fill(out *Outcome, r *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	out.Run = r.n
	told := func(note string) bool { return strings.Contains(out.Error, note) } // of a server that did not start
	out.Notes, out.Done = slices.Concat(r.done, slices.DeleteFunc(r.notes, told), out.Notes), r.done
	out.Images = r.images
	out.Stdout, out.Stderr = r.stdout.finish(), r.stderr.finish()
	for stream, t := range map[string]Text{"stdout": out.Stdout, "stderr": out.Stderr} {
		if t.spill != nil {
			t.spill.run, t.spill.stream = r.n, stream
		}
	}
	s.keep(out.Stdout, out.Stderr)
}
