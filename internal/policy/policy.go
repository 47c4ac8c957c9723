// Package policy decides whether a call of a tool may be made.
//
// It is a pure function: the rules of a tenant and the facts of one call go in, a decision and the rule it follows from
// come out. It never counts, asks or does I/O: bridge knows the facts, and acts. Values are plain data; nothing needs
// closing.
package policy

import (
	"cmp"
	"fmt"
)

// Rules are what a tenant lets code call. Zero values let everything pass. The tags are the names of config's keys.
type Rules struct {
	Allow          []string `koanf:"allow"`            // patterns; none is all
	Deny           []string `koanf:"deny"`             // patterns; they win over all others
	Confirm        []string `koanf:"confirm"`          // patterns of calls that the user is asked about
	Approved       []string `koanf:"approved"`         // patterns of those that need not be asked about
	Questions      int      `koanf:"questions"`        // that a run may ask its user; 0 is no limit
	CallsPerRun    int      `koanf:"calls_per_run"`    // 0 is no limit
	CallsPerMinute int      `koanf:"calls_per_minute"` // of all sessions together; 0 is no limit
	Concurrency    int      `koanf:"concurrency"`      // calls of one server at once, others wait; 0 is no limit
	MaxArguments   int64    `koanf:"max_arguments"`    // bytes; 0 is no limit
	MaxResult      int64    `koanf:"max_result"`       // bytes; 0 is no limit
}

// Call is what is known of one call before it is made.
type Call struct {
	Server, Tool               string   // as configured, and as the server calls it
	ServerNames                []string // others that its user has for the server: a rule by any of them holds
	Doubted                    []string // of Server and these, those that may be another's: only limits go by them
	Unread                     string   // why not all of these are known, a clause; a limit by any name may hold then
	ServerAliases, ToolAliases []string // as Python calls them, and would if nothing else were called so
	Hints                      Hints
	Arguments                  int64 // bytes
	InRun                      int   // calls the run has made
	LastMinute                 int   // calls the tenant has made

	static *Decision // by names and hints alone, computed once by [Rules.Prepare]; nil is not computed yet
}

// Hints are what a server says of a tool, by the defaults of the Model Context Protocol (schema of revision 2025-11-25,
// ToolAnnotations): what it does not say is taken for the worst.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may change or delete what is there
	OpenWorld   bool // reaches what is not the server's own
}

// Worst are the hints of a tool whose server says nothing.
var Worst = Hints{Destructive: true, OpenWorld: true}

// Decision is what becomes of a call. Rule is empty where no rule speaks of it.
type Decision struct {
	Denied bool
	Ask    bool   // it may be made if the user says so
	Rule   string // the key, and behind a colon the pattern that fits: "deny:*.delete_*"
	Why    string // a clause for people: what about the call meets which key
}

// Decide decides about a call that has not been made.
func (r Rules) Decide(c Call) Decision {
	static := c.static
	if static == nil {
		static = r.byNameAndHints(c)
	}
	switch {
	case static.Denied:
	case r.MaxArguments > 0 && c.Arguments > r.MaxArguments:
		return denied(
			"max_arguments",
			fmt.Sprintf("its arguments have %d bytes, and policy.max_arguments is %d", c.Arguments, r.MaxArguments),
		)
	case r.CallsPerRun > 0 && c.InRun >= r.CallsPerRun:
		return denied(
			"calls_per_run",
			fmt.Sprintf("the run has made %d calls, and policy.calls_per_run is %d", c.InRun, r.CallsPerRun),
		)
	case r.CallsPerMinute > 0 && c.LastMinute >= r.CallsPerMinute:
		return denied(
			"calls_per_minute",
			fmt.Sprintf(
				"%d calls were made in the last minute, and policy.calls_per_minute is %d", c.LastMinute,
				r.CallsPerMinute,
			),
		)
	}
	return *static
}

// Prepare decides once what all calls of a tool have in common. The call that it returns is for the same rules' Decide.
func (r Rules) Prepare(c Call) Call {
	c.static = r.byNameAndHints(c)
	return c
}

// byNameAndHints evaluates the rules that need no count and no size: deny, allow, confirm, approved.
func (r Rules) byNameAndHints(c Call) *Decision {
	d := Decision{}
	if p, why, ok := c.limit(r.Deny, "policy.deny"); ok {
		d = denied("deny:"+p, why)
	} else if _, ok := first(r.Allow, c, narrow); !ok && len(r.Allow) > 0 {
		d = denied("allow", "nothing in policy.allow fits it"+c.doubt(r.Allow, "policy.allow"))
	} else if p, why, ok := c.limit(r.Confirm, "policy.confirm"); ok {
		if _, ok := first(r.Approved, c, narrow); !ok {
			d = Decision{Ask: true, Rule: "confirm:" + p, Why: why + c.doubt(r.Approved, "policy.approved")}
		}
	}
	return &d
}

// limit returns the first pattern of a limiting key that fits a call, or may fit it by a name that is not known, and a
// clause that says so.
func (c Call) limit(patterns []string, key string) (pattern, why string, ok bool) {
	if p, ok := first(patterns, c, wide); ok {
		return p, fmt.Sprintf("it fits %q of %s", p, key), true
	}
	if c.Unread == "" {
		return "", "", false
	}
	p, ok := first(patterns, c, widest)
	return p, fmt.Sprintf("%s, and may have its server by the name in %q of %s", c.Unread, p, key), ok
}

// doubt says why a pattern that would allow a call does not: its server's name may be another's.
func (c Call) doubt(patterns []string, key string) string {
	why := cmp.Or(c.Unread, "another entry of its name has a mistake")
	c.Doubted = nil
	p, ok := first(patterns, c, narrow)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%q of %s may mean another server: %s)", p, key, why)
}

// Result decides about what a call has brought.
func (r Rules) Result(size int64) Decision {
	if r.MaxResult > 0 && size > r.MaxResult {
		return denied(
			"max_result", fmt.Sprintf("its result has %d bytes, and policy.max_result is %d", size, r.MaxResult),
		)
	}
	return Decision{}
}

// Question decides whether the user may be asked once more by a run.
func (r Rules) Question(asked int) Decision {
	if r.Questions > 0 && asked >= r.Questions {
		return denied(
			"questions",
			fmt.Sprintf("the run has asked its user %d times, and policy.questions is %d", asked, r.Questions),
		)
	}
	return Decision{}
}

func denied(rule, why string) Decision { return Decision{Denied: true, Rule: rule, Why: why} }
