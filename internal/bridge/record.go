package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"codemode/internal/audit"
	"codemode/internal/inquiry"
	"codemode/internal/visible"
)

// maxRefusals is how many calls of a run that were not made have a line each: they cost their caller nothing, and would
// push what was done out of the log.
const maxRefusals = 1000

// record writes a line about a run, after those of calls that ended before. A log that cannot be written loses no run,
// but the result says so.
func (r *run) record(rec audit.Record) (written bool) {
	if r.log == nil {
		return false
	}
	r.flushRecords()
	if err := r.log.Append(r.stamped(rec)); err != nil {
		r.addNote("the audit log lacks a part of this run: " + err.Error())
		return false
	}
	return true
}

// queueRecord keeps the line of a call's end until its answer has gone to the guest, which need not wait for it, or
// until the end of the run.
func (r *run) queueRecord(rec audit.Record) {
	if r.log == nil {
		return
	}
	rec = r.stamped(rec)
	r.ends.Lock()
	defer r.ends.Unlock()
	r.unwritten = append(r.unwritten, rec)
}

// flushRecords has the log take the lines of calls that have come to their end. When it returns it has all of them,
// whoever gave them to it.
func (r *run) flushRecords() {
	r.ends.Lock()
	defer r.ends.Unlock()
	for _, rec := range r.unwritten {
		r.log.AppendAsync(rec)
	}
	clear(r.unwritten)
	r.unwritten = r.unwritten[:0]
}

func (r *run) stamped(rec audit.Record) audit.Record {
	rec.Time, rec.Run, rec.Session = time.Now().UTC(), r.id, r.req.Session
	rec.Tenant, rec.Client = r.tenant, r.req.Client
	return rec
}

func (r *run) recordBegin() {
	if r.log != nil {
		r.logged = r.log.Lines()
		sum := sha256.Sum256([]byte(r.req.Code))
		r.record(audit.Record{Event: audit.RunBegins, Code: hex.EncodeToString(sum[:])})
	}
}

// recordEnd has the lines of a run be synced while its result is on its way, or before where the log is required. Where
// a line is lost, a result says so: the run's own, or the next when the disk says it too late.
func (r *run) recordEnd(out *Outcome, took time.Duration, required bool) {
	if r.log == nil {
		return
	}
	r.record(audit.Record{Event: audit.RunEnded, Outcome: string(out.Status), MS: ms(took)})
	if r.calls.Load()+r.refusals.Load() == 0 {
		return
	}
	settle := r.log.Settle
	if required {
		settle = r.log.Sync
	}
	if err := settle(r.logged); err != nil {
		of := "this run"
		if errors.As(err, new(audit.EarlierWriteError)) {
			of = "an earlier run"
		}
		r.addNote("the audit log lacks a part of " + of + ": " + err.Error())
	}
}

// recordedCall is the beginning of a call's lines.
func (r *run) recordedCall(server, tool string, arguments json.RawMessage) audit.Record {
	rec := audit.Record{
		Event: audit.Called, Call: int(r.calls.Add(1)), Server: server, Tool: tool, Sent: len(arguments),
	}
	if r.log == nil {
		return rec
	}
	var err error
	if rec.Hash, err = r.log.Hash(arguments); err != nil {
		r.addNote("the audit log lacks the hashes of this run's arguments: " + err.Error())
	}
	if r.shown != nil {
		rec.Arguments, rec.Note = r.shown(arguments)
	}
	return rec
}

// recordRefusal writes of a call that was not made.
func (r *run) recordRefusal(server, tool, rule string, how ending) {
	rec := audit.Record{Event: audit.Called, Server: server, Tool: tool, Rule: rule, Outcome: string(how)}
	switch n := r.refusals.Add(1); {
	case n > maxRefusals:
		return
	case n == maxRefusals:
		rec = audit.Record{
			Event: audit.Called, Outcome: string(how),
			Note: "further calls of this run that were not made have no lines",
		}
	}
	r.record(rec)
}

// ms is a time in milliseconds, to three places.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// recordQuestion writes of a question to the user about what is to be added, or where to sign in; err is why that was
// not done.
func (r *run) recordQuestion(server, kind string, err error, took time.Duration) {
	rec := audit.Record{Event: audit.Asked, Server: server, Tool: kind, Outcome: "ok", MS: ms(took)}
	if err != nil {
		rec.Outcome = string(callDenied)
	}
	r.record(rec)
}

// recordInquiry writes of what a server asked in the middle of a call, and not what was answered.
func (r *run) recordInquiry(
	server, tool string, request inquiry.Request, response inquiry.Response, err error, took time.Duration,
) {
	rec := audit.Record{
		Event: audit.Asked, Server: server, Tool: "sampling/createMessage", Outcome: "ok", MS: ms(took),
	}
	if inquiry.IsElicitation(request) {
		rec.Tool = "elicitation/create"
	}
	if rec.Note = "asked by the server"; tool != "" {
		rec.Note += " in " + visible.Name(tool)
	}
	if action := inquiry.Action(response); action != "" {
		rec.Note += ": " + action
	}
	if err != nil || response == nil {
		rec.Outcome = string(callFailed)
	}
	r.record(rec)
}
