package bridge

import (
	"context"
	"time"

	"codemode/internal/audit"
)

// wire is told of what is sent for calls, see [upstream.Wire]. What goes out once more is judged, counted and logged as
// what goes out at all.
type wire struct{}

// Sent is [upstream.Wire]'s.
func (wire) Sent(ctx context.Context) {
	if u := callIn(ctx); u != nil {
		u.run.stats.sent(u.entry, 1)
	}
}

// Unsent is [upstream.Wire]'s.
func (wire) Unsent(ctx context.Context) {
	if u := callIn(ctx); u != nil {
		u.run.stats.sent(u.entry, -1)
	}
}

// Refused is [upstream.Wire]'s.
func (wire) Refused(ctx context.Context) {
	if u := callIn(ctx); u != nil {
		u.run.stats.markRefused(u.entry)
	}
}

// Again is [upstream.Wire]'s. Its user was asked about the call, and is not about the same once more.
func (wire) Again(ctx context.Context) error {
	u := callIn(ctx)
	if u == nil {
		return nil
	}
	a := u.live.bridge.admission
	if d := a.decide(u.run, u.permit.again); d.Denied {
		return deniedBy(d, u.call, a.reasonFor(d))
	}
	next := *u
	if no := next.recordBegin(); no != nil {
		return no
	}
	u.recordEnd(u.run.stats.again(u.entry), 0)
	u.rec, u.began = next.rec, next.began
	return nil
}

// costOfMasking is how many times as long as decoding a text looking for secrets in it may take.
const costOfMasking = 32

// Turn is [upstream.Wire]'s.
func (wire) Turn(ctx context.Context, bytes int) (done func()) {
	if u := callIn(ctx); u != nil {
		return u.live.mask(bytes)
	}
	return func() {}
}

// failureRests is how many times as long as it takes a session is left alone after a large answer that is an error,
// while others have runs: it is dealt with in one piece, and of what others do, little is to meet one.
const failureRests = 60

// Failure is [upstream.Wire]'s.
func (wire) Failure(ctx context.Context, bytes int) (done func()) {
	u := callIn(ctx)
	if u == nil {
		return func() {}
	}
	masked := u.live.mask(bytes)
	if bytes <= longText {
		return masked
	}
	began := time.Now()
	return func() {
		took := time.Since(began) + costOfByte*time.Duration(bytes)
		masked()
		if u.live.bridge.readings.runs.Users() > 1 {
			u.live.pace.Count(min(failureRests*took, longestReadingRest))
		}
	}
}

// largeAnswer is from how many bytes on an answer is large, whatever it says: the more it has beyond that, the longer
// its session is left alone. Those below come one after the other, for that is ordinary use.
const largeAnswer = 1 << 20

// Answered is [upstream.Wire]'s.
func (wire) Answered(ctx context.Context, bytes int) {
	u, beyond := callIn(ctx), bytes-largeAnswer
	if u == nil || beyond <= 0 || u.live.bridge.readings.runs.Users() < 2 {
		return
	}
	u.live.pace.Count(min(failureRests*costOfByte*time.Duration(beyond), longestReadingRest))
}

// mask is decode for who looks for secrets. How long that takes depends on the text, and is counted when it is known.
func (l *live) mask(bytes int) (done func()) {
	decoded := l.decode(costOfMasking * bytes)
	began := time.Now()
	return func() {
		decoded()
		most := costOfMasking * costOfByte * time.Duration(bytes) // it may have waited for a processor
		l.pace.count(min(time.Since(began), most), l.bridge.readings.runs.Users())
	}
}

// recordBegin starts the audit records of a call, before it is sent. It refuses the call where audit.required is set
// and the record cannot be written.
func (u *activeCall) recordBegin() *refusal {
	p, c := u.permit, u.call
	done := u.live.mask(len(c.Arguments))
	u.rec = u.run.recordedCall(c.Server, c.Tool, c.Arguments)
	done()
	u.rec.Rule, u.began = p.rule, time.Now()
	required := u.live.bridge.opts.Config.Audit.Required
	if p.reads && !required {
		return nil
	}
	sending := u.rec // known even if codemode dies before there is an answer
	sending.Event = audit.Sending
	if !u.run.record(sending) && required {
		return unrecorded(c)
	}
	return nil
}

// recordEnd has the line of what was sent last written.
func (u *activeCall) recordEnd(how ending, received int) {
	u.rec.Outcome, u.rec.MS, u.rec.Received = string(how), ms(time.Since(u.began)), received
	u.run.queueRecord(u.rec)
}
