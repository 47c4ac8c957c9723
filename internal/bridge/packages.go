package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"codemode/internal/guest"
	"codemode/internal/hint"
	"codemode/internal/visible"
)

// A PackageAdder has code import packages that it asks for, once their user has agreed.
type PackageAdder interface {
	// Look judges what code asks for, and asks nobody about it.
	Look(ctx context.Context, names []string) (PackageLook, error)
	// Propose finds what would be added. Nothing is kept of it.
	Propose(ctx context.Context, names []string) (PackageProposal, error)
	// Add fetches a proposal, and returns the name of its layer.
	Add(ctx context.Context, p PackageProposal) (layer string, err error)
}

// PackageLook is what is known of packages without asking anybody.
type PackageLook struct {
	Layer string   // that has all of them already; empty where one is missing
	Has   []string // what code would have by it: "pandas 2.3.1"
	Index string   // who would be asked about them; empty is nobody but this machine
	For   string   // whose code would have them: `tenant "default"`
}

// PackageProposal is what would be added.
type PackageProposal struct {
	Rows []string // as a user is shown them; none where all is there
	Has  []string // as of PackageLook
	Lock any      // the adder's own
}

// What code may ask for packages with. What would be added is shown whole or not at all.
const (
	maxAskedPackages = 8
	maxPackageText   = 100 // bytes of a name with its versions
	maxShownRows     = 15  // with the rest, less than a screen of 80 by 24
	maxShownColumns  = 79  // in bytes; a longer row would take two lines
	packagesAsked    = "packages/add"
	resolveTimeout   = time.Minute
	fetchTimeout     = 10 * time.Minute
)

var (
	errResolve = errors.New("the index did not answer in time")
	errFetch   = errors.New("the packages were not there in time")
)

// addPackages puts packages that code asks for before the user. They can be imported in the same run after a yes; a no
// holds until the run ends.
func (l *live) addPackages(ctx context.Context, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.AddPackages
	if len(m.Params) > longText { // a list of short names would take many times that
		message := fmt.Sprintf("request_packages: it has %d bytes; at most %d are allowed", len(m.Params), longText)
		return nil, refuse(-32602, message, guest.ErrorData{})
	}
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "request_packages: "+err.Error(), guest.ErrorData{})
	}
	if len(q.Reason) > maxAskedReason {
		return nil, tooLong("request_packages", "reason", q.Reason, maxAskedReason)
	}
	if len(q.Names) > maxAskedPackages {
		message := fmt.Sprintf("request_packages: at most %d packages can be asked for at once", maxAskedPackages)
		return nil, refuse(-32602, message, guest.ErrorData{})
	}
	for _, name := range q.Names {
		if len(name) > maxPackageText {
			return nil, tooLong("request_packages", "package's name", name, maxPackageText)
		}
	}
	r := l.currentRun()
	if r == nil {
		return nil, refuse(-32602, "request_packages: no run is under way", guest.ErrorData{})
	}
	var layer string
	var has []string
	err := l.withUser(ctx, r, func() (err error) {
		layer, has, err = l.bringPackages(ctx, r, q)
		return err
	})
	if err != nil {
		return nil, notAdded("request_packages", causeOf(ctx, err))
	}
	answer, err := json.Marshal(guest.AddedPackages{Path: path.Join(l.box.Layers(), layer), Packages: has})
	if err != nil {
		return nil, refuse(-32603, err.Error(), guest.ErrorData{})
	}
	return answer, nil
}

// bringPackages asks the user, and adds the packages after a yes; the caller holds asking. Words that code has chosen
// leave this machine for the index only after a yes of its own: they could say anything.
func (l *live) bringPackages(ctx context.Context, r *run, q guest.AddPackages) (layer string, has []string, err error) {
	adder := l.bridge.opts.Packages
	if adder == nil || l.box.Layers() == "" {
		return "", nil, &denial{errors.New("packages cannot be added while code runs here; what an image has, it can import")}
	}
	look, err := adder.Look(ctx, q.Names)
	if err != nil || look.Layer != "" {
		return look.Layer, look.Has, err
	}
	if r.req.Ask == nil {
		add := "; the user can add them: codemode packages add " + hint.Words(q.Names)
		return "", nil, &denial{errors.New(r.req.Unasked + add)}
	}
	about := Question{
		Packages: true, Server: visible.Line(strings.Join(q.Names, ", ")), Why: visible.Line(q.Reason),
		LookupAt: visible.Line(look.Index), AddTo: visible.Line(look.For),
	}
	if look.Index != "" {
		if err := l.askAdding(ctx, r, packagesAsked, about); err != nil {
			return "", nil, err
		}
	}
	resolving, cancel := context.WithTimeoutCause(ctx, resolveTimeout, errResolve)
	defer cancel()
	p, err := adder.Propose(resolving, q.Names)
	if err != nil {
		return "", nil, causeOf(resolving, err)
	}
	for i := range p.Rows {
		if p.Rows[i] = visible.Line(p.Rows[i]); len(p.Rows[i]) > maxShownColumns || i == maxShownRows {
			return "", nil, errors.New("what they come to is too long to be seen as a whole on the user's screen; the user " +
				"can add them: codemode packages add " + hint.Words(q.Names))
		}
	}
	about.LookupAt, about.Arguments = "", strings.Join(p.Rows, "\n")
	if len(p.Rows) > 0 {
		if err := l.askAdding(ctx, r, packagesAsked, about); err != nil {
			return "", nil, err
		}
	}
	fetching, stop := context.WithTimeoutCause(ctx, fetchTimeout, errFetch)
	defer stop()
	if layer, err = adder.Add(fetching, p); err != nil {
		return "", nil, causeOf(fetching, err)
	}
	if len(p.Rows) > 0 {
		r.noteDone("added packages, as their user has agreed: " + strings.Join(p.Has, ", "))
	}
	return layer, p.Has, nil
}
