package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/visible"
)

// A Question is a call that the user is asked about, or what is to be added: a server, or packages. Its texts are one
// line each, but for the packages, and hold nothing that a terminal would obey or a reader would not see.
type Question struct {
	Server, Tool string
	Arguments    string // as visible.Members has them
	Why          string // the rule, and where it is set
	Exposed      bool   // no code asks but the client's model itself
	Choose       bool   // a yes must be chosen: the tool may change something, or its arguments are not all shown

	LookupAt string   // the registry that would be told Server, a name code has chosen; empty for all else
	AddTo    string   // the file that a server would be added to, Arguments being its entry; empty for all else
	Given    []string // what of the user's that server would be given, as its entry refers to it
	Remote   bool     // it is reached by URL

	Packages bool // Server names packages, which would be added to what AddTo says, Arguments being a line for each
}

// Answer is what the user says of a call.
type Answer int

// The answers. Whatever is none of the others is a no.
const (
	No Answer = iota
	Once
	ForRun     // also to later calls of the tool in the run
	ForSession // also in the session's later runs
	Dismissed  // no answer: the question was closed
	Unanswered // no answer: it did not come in time, or could not
)

// An Asker asks the user. Its error is why there is no answer.
type Asker func(context.Context, Question) (Answer, error)

// Adding says whether it is about what is to be added.
func (q Question) Adding() bool { return q.AddTo != "" || q.LookupAt != "" }

// Added is what is to be added.
func (q Question) Added() string {
	if q.Packages {
		return "the packages " + q.Server
	}
	return "the server " + q.Server
}

// Addition is what a question about an addition says, behind the words for who asks.
func (q Question) Addition() string {
	if q.Packages {
		return q.addsPackages()
	}
	if q.LookupAt != "" {
		return fmt.Sprintf("asks for a server by its name in the MCP registry, %s.\nThat name would be sent to %s; "+
			"what would be added is put before you then.\nThe code says why: %s", q.Server, q.LookupAt, q.Why)
	}
	what := "It would run on this machine, outside of the sandbox, now and later"
	if q.Remote {
		what = "It would get what code sends it, and these headers, now and later"
	}
	text := fmt.Sprintf("asks for a server, %s. %s:\n%s\n", q.Server, what, q.Arguments)
	text += "It would be written to " + q.AddTo
	if len(q.Given) > 0 {
		text += " and be given " + strings.Join(q.Given, ", ")
	}
	if q.Why == "" {
		return text + "."
	}
	return text + ".\nThe code says why: " + q.Why
}

func (q Question) addsPackages() string {
	text := fmt.Sprintf("asks for packages: %s.\nThey would be fetched, and whatever code of %s runs in a sandbox "+
		"could import them:\n%s", q.Server, q.AddTo, q.Arguments)
	if q.LookupAt != "" {
		text = fmt.Sprintf("asks for packages: %s.\nThese words would be sent to %s; what would be added is put before you "+
			"then.", q.Server, q.LookupAt)
	}
	if q.Why == "" {
		return text
	}
	return text + "\nThe code says why: " + q.Why
}

// answerKey is what an answer is remembered by: a server whose tools have changed since has another epoch.
type answerKey struct {
	server, tool string
	epoch        int
}

// anyEpoch is the question of a tool however its server describes it.
func (q answerKey) anyEpoch() answerKey {
	q.epoch = -1
	return q
}

// answers are what the user has said in a session, who is asked one question at a time.
type answers struct {
	asking chan struct{} // a semaphore of one: its holder asks

	mu       sync.Mutex
	approved map[answerKey]bool // for the session
}

func newAnswers() *answers {
	a := &answers{asking: make(chan struct{}, 1), approved: map[answerKey]bool{}}
	a.asking <- struct{}{}
	return a
}

// known is what the user has said already. A yes is to the tool as it is described now. A no holds until the run ends,
// so that neither code nor a server with ever new descriptions can ask until there is a yes.
func (r *run) known(q answerKey) (a Answer, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range []answerKey{q.anyEpoch(), q} {
		if a, known = r.said[of]; known {
			return a, true
		}
	}
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	return ForSession, r.answers.approved[q]
}

// refusal is why a call is not made after an answer; nil after a yes.
func (a Answer) refusal() error {
	switch a {
	case Once, ForRun, ForSession:
		return nil
	case Dismissed:
		return errDismissed
	case Unanswered:
		return errAskedBefore
	}
	return errRefused
}

func (r *run) remember(q answerKey, a Answer) {
	switch a {
	case Once:
	case ForSession:
		r.answers.mu.Lock()
		r.answers.approved[q] = true
		r.answers.mu.Unlock()
	default:
		if a != ForRun {
			q = q.anyEpoch()
		}
		r.mu.Lock()
		r.said[q] = a
		r.mu.Unlock()
	}
}

var (
	errRefused     = errors.New("the user said no")
	errDismissed   = errors.New("the user closed the question without an answer, and is not asked again in this run")
	errUnanswered  = errors.New("the user did not answer in time")
	errAskedBefore = errors.New("an earlier question got no answer, and the user is not asked again in this run")
	errChanged     = errors.New("the server's tools have changed since it was asked for")
	errStopping    = errors.New("the user is not asked because the run is being stopped")
)

// reason is why the user is asked about a call.
type reason struct {
	why   string // the rule, and where it is set
	reads bool   // the tool changes nothing, as its server says
}

// approve asks the user about a call, and waits while the run's deadline stands still; see clock. It returns whether
// an earlier answer has approved the call, and why it is not approved.
func (l *live) approve(
	ctx context.Context, r *run, c guest.ToolCall, epoch int, about reason,
) (earlier bool, err error) {
	q := answerKey{c.Server, c.Tool, epoch}
	if r.req.Ask == nil {
		return false, fmt.Errorf("%s; %s", r.req.Unasked, allows(c))
	}
	err = l.withUser(ctx, r, func() (err error) {
		earlier, err = l.approveNow(ctx, r, c, q, about)
		return err
	})
	return earlier, err
}

// withUser does what its user is needed for, one thing at a time in a session, while the run's deadline stands still.
func (l *live) withUser(ctx context.Context, r *run, do func() error) error {
	if !r.clock.hold() {
		return errStopping
	}
	defer r.clock.release()
	select {
	case <-r.answers.asking:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { r.answers.asking <- struct{}{} }()
	return do()
}

// countQuestion counts a question to the user, or says why there are too many. The caller holds asking.
func (l *live) countQuestion(r *run) error {
	if d := l.bridge.admission.rules.Question(r.asked); d.Denied {
		return errors.New(l.bridge.admission.reasonFor(d))
	}
	r.asked++
	return nil
}

// approveNow is approve; the caller holds asking.
func (l *live) approveNow(
	ctx context.Context, r *run, c guest.ToolCall, q answerKey, about reason,
) (earlier bool, err error) {
	answer, earlier := r.known(q)
	if !earlier {
		if err := l.countQuestion(r); err != nil {
			return false, err
		}
		answer, err = l.askUser(ctx, r, c, about)
		if err != nil && ctx.Err() != nil {
			return false, context.Cause(ctx) // nobody has said anything
		}
		r.remember(q, answer)
		if err != nil {
			return false, err
		}
	}
	switch no := answer.refusal(); {
	case answer == Dismissed, answer == Unanswered:
		return false, fmt.Errorf("%w; %s", no, allows(c))
	case no != nil:
		return false, no
	case l.bridge.servers.Epoch(c.Server) != q.epoch:
		return false, errChanged
	}
	return earlier, nil
}

// allows is how a user allows a tool for good.
func allows(c guest.ToolCall) string {
	return fmt.Sprintf(
		"the user can allow it: policy.approved = [%s] in config.toml", strconv.Quote(policy.Name(c.Server, c.Tool)),
	)
}

func (l *live) askUser(ctx context.Context, r *run, c guest.ToolCall, about reason) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.bridge.admission.confirmTimeout, errUnanswered)
	defer cancel()
	arguments, whole := visible.Members(c.Arguments, maxAskedArguments)
	answer, err := r.req.Ask(ctx, Question{
		Server:    visible.Server(c.Server),
		Tool:      visible.Name(c.Tool),
		Arguments: arguments,
		Why:       visible.Line(about.why),
		Exposed:   r.req.Session == exposedSession && r.req.Code == "",
		Choose:    !about.reads || !whole,
	})
	if err != nil {
		return Unanswered, causeOf(ctx, err)
	}
	return answer, nil
}

// maxAskedArguments is how much a user is shown of a call's arguments, in bytes.
const maxAskedArguments = 1000
