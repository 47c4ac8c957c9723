package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/hint"
)

// resultRow is what became of one file in JSON.
type resultRow struct {
	Client   string          `json:"client"`
	Scope    clientcfg.Scope `json:"scope"`
	File     string          `json:"file,omitempty"`
	Action   install.Action  `json:"action"`
	Error    string          `json:"error,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	Backup   string          `json:"backup,omitempty"`
	Diff     string          `json:"diff,omitempty"`
	Snippet  string          `json:"snippet,omitempty"`
	Moved    []movedRow      `json:"moved,omitempty"`
	Replaced []string        `json:"replaced,omitempty"` // entries in whose place codemode is
	Stayed   []stayedRow     `json:"stayed,omitempty"`
}

type movedRow struct {
	Name string `json:"name"` // in the client
	As   string `json:"as"`   // in codemode
	File string `json:"file"`

	Tokens []install.Token `json:"tokens,omitempty"` // of its entry that are secrets now
}

type stayedRow struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// reportRow is all of it.
type reportRow struct {
	DryRun  bool        `json:"dry_run,omitempty"`
	Results []resultRow `json:"results"`
	Saved   *saving     `json:"saved,omitempty"`
}

// report tells what became of each file, and makes the exit code of it.
func (s *installation) report(results []install.Result, saved *saving) error {
	done := 0
	for _, r := range results {
		if r.Done() {
			done++
		}
	}
	var err error
	switch failed := slices.ContainsFunc(results, func(r install.Result) bool { return r.Action == install.Failed }); {
	case done == len(results):
	case done > 0 || failed:
		err = exit(exitPartly)
	default:
		err = exit(exitRefused)
	}
	out := newSheet(s.env)
	if s.cmd.Bool("json") {
		return errors.Join(out.json(s.rows(results, saved)), err)
	}
	defer s.warnLoosened(results)
	if s.request.DryRun {
		return errors.Join(s.tellPlan(out, results), err)
	}
	var rows [][]cell
	for _, r := range results {
		remark := ""
		if r.Err != nil {
			remark = r.Err.Error()
		}
		rows = append(
			rows,
			[]cell{{r.Client, ""}, {string(r.Action), actionColour(r.Action)}, {s.tilde(r.Path), ""}, {remark, ""}},
		)
	}
	if errTable := out.table([]string{"CLIENT", "RESULT", "FILE", ""}, rows); errTable != nil {
		return errTable
	}
	for _, r := range results {
		s.tell(r)
	}
	s.tellSaving(saved)
	return err
}

func (s *installation) rows(results []install.Result, saved *saving) reportRow {
	report := reportRow{s.request.DryRun, []resultRow{}, saved}
	for _, r := range results {
		row := resultRow{
			Client: r.Client, Scope: r.Scope, File: r.Path, Action: r.Action, Notes: r.Notes, Backup: r.Backup,
			Diff: r.Diff, Snippet: r.Snippet,
		}
		if r.Err != nil {
			row.Error = r.Err.Error()
		}
		for _, m := range r.Moved {
			if m.Replaced() {
				row.Replaced = append(row.Replaced, m.Name)
			} else {
				row.Moved = append(row.Moved, movedRow{m.Name, m.As, m.File, m.Tokens})
			}
		}
		for _, st := range r.Stayed {
			row.Stayed = append(row.Stayed, stayedRow(st))
		}
		report.Results = append(report.Results, row)
	}
	return report
}

func actionColour(a install.Action) string {
	switch a {
	case install.Installed, install.Updated, install.Removed, install.Restored:
		return green
	case install.Refused, install.Failed:
		return red
	}
	return ""
}

// tellPlan shows what would change.
func (s *installation) tellPlan(out sheet, results []install.Result) error {
	for _, r := range results {
		s.ui.note("dry run", strings.TrimSpace(fmt.Sprintf("%s would be %s: %s", r.Client, r.Action, r.Path)))
		s.tell(r)
		if err := out.text(r.Diff); err != nil {
			return err
		}
	}
	return nil
}

// tell says what is worth knowing of one file.
func (s *installation) tell(r install.Result) {
	for _, n := range r.Notes {
		s.ui.note(r.Client, n)
	}
	s.tellMoved(r)
	stays := "stays"
	if s.request.DryRun {
		stays = "would stay"
	}
	for _, st := range r.Stayed {
		s.ui.note(r.Client, fmt.Sprintf("%s %s: %s", quote(st.Name), stays, st.Reason))
	}
	if r.Done() {
		return
	}
	what := "nothing was written"
	switch {
	case s.request.DryRun:
		what = "nothing would be written"
	case r.Action == install.Failed:
		what = "it is not there"
	}
	s.ui.error(fmt.Sprintf("%s: %s: %v", r.Client, what, r.Err), s.remedy(r)...)
	if r.Snippet != "" {
		s.ui.note(r.Client, "to put it there by hand:")
		s.ui.raw(r.Snippet)
	}
}

// tellMoved says which servers codemode has taken over from a client, or has given back.
func (s *installation) tellMoved(r install.Result) {
	uninstalls := s.cmd.Name == "uninstall"
	is, now, has := "is", " now", "has"
	if s.request.DryRun { // of which nothing has happened
		is, now, has = "would be", "", "would have"
	}
	for _, m := range r.Moved {
		switch {
		case m.Replaced() && !uninstalls:
			s.ui.note(r.Client, fmt.Sprintf("codemode %s in the place of the %s that was there", is, quote(m.Name)))
		case uninstalls && m.Kept:
			s.ui.note(r.Client, fmt.Sprintf("%s %s back, and codemode keeps it, too", has, quote(m.Name)))
		case uninstalls:
			s.ui.note(r.Client, has+" "+quote(m.Name)+" back")
		case m.Same:
			s.ui.note(r.Client, fmt.Sprintf("%s is codemode's already, from %s", quote(m.Name), quote(m.File)))
		case m.Only != "":
			s.ui.note(r.Client, fmt.Sprintf("%s, which was for %s alone, %s behind codemode%s, for every folder: %s",
				quote(m.Name), quote(m.Only), is, now, quote(m.File)))
		case m.As != m.Name:
			s.ui.note(
				r.Client,
				fmt.Sprintf(
					"%s %s behind codemode%s, as %s, for codemode has another of that name: %s", quote(m.Name), is, now,
					quote(m.As), quote(m.File),
				),
			)
		default:
			s.ui.note(r.Client, fmt.Sprintf("%s %s behind codemode%s: %s", quote(m.Name), is, now, quote(m.File)))
		}
	}
	if !uninstalls {
		for _, m := range r.Moved {
			for _, t := range m.Tokens {
				s.ui.note(
					r.Client,
					fmt.Sprintf("%s of %s %s the secret %s%s", t.Name, quote(m.As), is, quote(t.Secret), now),
				)
			}
		}
	}
}

// remedy is what to do about a refusal.
func (s *installation) remedy(r install.Result) []string {
	var foreign *install.ForeignError
	var original *install.OriginalError
	again := "codemode install " + r.Client
	if r.Scope == clientcfg.Project {
		again += " --scope project"
	}
	switch {
	case s.cmd.Name == "uninstall":
		return nil
	case errors.As(r.Err, &original):
		return []string{
			"in its place, with its MCP_BRIDGE_ variables: " + again + " --yes", "beside it: " + again + " --force",
		}
	case errors.As(r.Err, &foreign):
		place := "in its place: "
		if foreign.Command != nil {
			place = "in its place, whole, with no argument or variable of its: "
		}
		return []string{"under another name: " + again + " --name codemode-local", place + again + " --force"}
	case errors.Is(r.Err, install.ErrNotFound):
		return []string{"to write its file all the same: " + again + " --force"}
	case errors.Is(r.Err, install.ErrReverted):
		return []string{"quit the client fully, then: " + again}
	}
	return hint.Of(r.Err)
}

// saving is what adoption spares a client's context.
type saving struct {
	Servers      int      `json:"servers"`
	Tools        int      `json:"tools"`
	TokensBefore int      `json:"tokens_before"`
	TokensAfter  int      `json:"tokens_after"`
	Unknown      []string `json:"unknown,omitempty"` // servers that did not answer
}

// saving asks the servers that were moved for their tools, as the client would have.
func (s *installation) saving(ctx context.Context, results []install.Result) *saving {
	var moved []string
	for _, r := range results {
		for _, m := range r.Moved {
			if r.Done() && !m.Replaced() && !slices.Contains(moved, m.As) {
				moved = append(moved, m.As)
			}
		}
	}
	if len(moved) == 0 {
		return nil
	}
	l, err := openListing(ctx, s.env, s.ui, s.cmd, "")
	if err != nil {
		s.ui.warn(err.Error())
		return nil
	}
	defer l.close()
	if _, err := l.refresh(
		ctx, slices.DeleteFunc(slices.Clone(moved), func(name string) bool { return !slices.Contains(l.ready, name) }),
	); err != nil {
		s.ui.note("note", "what that saves was not counted to the end")
	}
	known, _ := l.bridge.Servers().Known()
	sum := &saving{TokensAfter: ownTokens}
	for _, name := range moved {
		if !slices.Contains(names(l.usable), name) {
			continue // it is switched off
		}
		n := slices.IndexFunc(known.Servers(), func(c catalog.Server) bool { return c.Name == name })
		if n < 0 {
			sum.Unknown = append(sum.Unknown, name)
			continue
		}
		sum.Servers++
		for _, t := range known.Servers()[n].Tools {
			sum.Tools++
			sum.TokensBefore += toolTokens(t)
		}
	}
	return sum
}

func (s *installation) tellSaving(sum *saving) {
	if sum == nil {
		return
	}
	if len(sum.Unknown) > 0 {
		s.ui.note("note", "not counted, for they did not answer: "+strings.Join(sum.Unknown, ", "))
	}
	if sum.Servers == 0 {
		return
	}
	s.ui.note(
		"saved",
		fmt.Sprintf(
			"%s of %s took about %s tokens of every conversation; codemode takes 1 tool and about %d",
			plural(sum.Tools, "tool", "tools"),
			plural(sum.Servers, "server", "servers"),
			thousands(sum.TokensBefore),
			sum.TokensAfter,
		),
	)
}

// thousands groups digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// toolTokens is about how many tokens a tool takes of a model's context, as its client sends it.
func toolTokens(t catalog.Tool) int {
	text, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}{t.Name, t.Description, t.InputSchema})
	if err != nil {
		return 0
	}
	return tokens(string(text))
}
