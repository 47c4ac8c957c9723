package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"codemode/internal/audit"
	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/fair"
	"codemode/internal/guest"
	"codemode/internal/quota"
	"codemode/internal/toolbox"
	"codemode/internal/visible"
)

// saved is the tenant's saved tools: the box they are in, and the catalog that has them beside the servers' tools.
type saved struct {
	box *toolbox.Box // nil keeps none
	// For guests that read sources, short ones and others: a flood of wishes is not to become one of sandboxes, and
	// what takes Python long is a long source.
	short, long *fair.Queue

	mu    sync.Mutex
	base  *catalog.Catalog // what all was made of
	stamp string
	all   *catalog.Catalog
}

func newSaved(dir string, disk *quota.Budget) *saved {
	s := &saved{short: fair.New(1, 0), long: fair.New(1, 0)}
	if dir != "" {
		s.box = toolbox.New(dir, disk)
	}
	return s
}

var errNoToolbox = errors.New("there is no folder to keep tools in: neither HOME nor XDG_STATE_HOME names one")

// Kept is what became of one function of a source that was to be saved.
type Kept struct {
	Name   string
	Line   int
	Change toolbox.Change
	Err    error // it was not saved
}

// SaveTools saves every function at the top of a source that can be, and says what else is in it. None of it is
// executed.
func (b *Bridge) SaveTools(
	ctx context.Context, source string, replace bool,
) (all []Kept, rest []guest.Rest, err error) {
	checked, err := b.check(ctx, "", source, func(time.Duration) {})
	if err != nil {
		return nil, nil, err
	}
	for _, f := range checked.Functions {
		k := Kept{Name: f.Name, Line: f.Line}
		if count(checked.Functions, f.Name) > 1 {
			k.Err = fmt.Errorf("%q is defined more than once", f.Name)
		} else {
			var t toolbox.Tool
			if t, k.Err = b.toolOf(f, checked.Functions, nil); k.Err == nil {
				k.Change, k.Err = b.saved.box.Save(ctx, t, replace)
			}
		}
		all = append(all, k)
	}
	return all, checked.Rest, nil
}

func count(functions []guest.Function, name string) (n int) {
	for _, f := range functions {
		if f.Name == name {
			n++
		}
	}
	return n
}

// toolOf is what is kept of a function that has been checked; beside are those that are saved with it, and ask is as
// uses has it.
func (b *Bridge) toolOf(
	f guest.Function, beside []guest.Function, ask func(config.Server),
) (t toolbox.Tool, err error) {
	if f.Problem != "" {
		return t, fmt.Errorf("%q cannot be kept: %s", f.Name, f.Problem)
	}
	tools, _ := b.saved.box.List()
	var needs, undefined []string
	for _, name := range f.Free {
		isTool := slices.ContainsFunc(tools, func(t toolbox.Tool) bool { return t.Name == name })
		if isTool || count(beside, name) > 0 {
			needs = append(needs, name)
		} else {
			undefined = append(undefined, fmt.Sprintf("%.80q", name))
		}
	}
	if len(undefined) > 0 {
		list := strings.Join(undefined[:min(len(undefined), 10)], ", ")
		return t, fmt.Errorf(
			"%q uses %s of its session, which a later one does not have: import or define that in its body, "+
				"or pass it as an argument",
			f.Name, list,
		)
	}
	t = toolbox.Tool{
		Name: f.Name, Source: f.Source, Async: f.Async, Signature: f.Signature, Doc: f.Doc,
		Needs: needs, Uses: b.uses(f.Uses, ask), Saved: time.Now().UTC().Truncate(time.Second),
	}
	for _, p := range f.Params {
		t.Params = append(t.Params, toolbox.Param{Name: p.Name, Type: p.Type, Required: p.Required})
	}
	return t, nil
}

// saveTool keeps a function that code wants to have in later sessions. The run says so, whatever the code says.
func (l *live) saveTool(ctx context.Context, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.SaveTool
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "tools/save: "+err.Error(), guest.ErrorData{})
	}
	r := l.currentRun()
	switch {
	case r == nil:
		return nil, refuse(-32602, "tools/save: no run is under way", guest.ErrorData{})
	case !l.bridge.opts.Config.Tools.Save:
		return nil, refuse(guest.CodeDenied, "saving tools is switched off: tools.save is false", guest.ErrorData{})
	}
	if err := l.pace.Wait(ctx, paceAhead); err != nil {
		return nil, cancelled(err)
	}
	tool, err := l.bridge.toolIn(ctx, l.session, q.Source, l.took, func(c config.Server) {
		if _, may := l.mayCall(c.Name); may {
			_, _ = l.bridge.servers.Load(ctx, c) // where that fails, nobody knows
		}
	})
	if err == nil {
		err = l.keep(r, tool, q.Replace)
	}
	switch {
	case err != nil && r.ctx.Err() != nil:
		return nil, cancelled(context.Cause(r.ctx))
	case err != nil && ctx.Err() != nil:
		return nil, cancelled(context.Cause(ctx))
	case err != nil:
		return nil, refuse(-32602, "save_tool: "+l.ofTools(ctx, err), guest.ErrorData{})
	}
	return json.RawMessage(`{}`), nil
}

// keep saves a tool for a run, which says so. The end of the run waits for it, and after that nothing is kept: no
// result would tell of it.
func (l *live) keep(r *run, t toolbox.Tool, replace bool) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	change, err := l.bridge.saved.box.Save(r.ctx, t, replace)
	if err != nil {
		return err
	}
	switch change {
	case toolbox.Same:
		return nil
	case toolbox.Added:
		r.noteDone(fmt.Sprintf("saved the tool %q for later sessions: `from tools import %s`", t.Name, t.Name))
	case toolbox.Replaced:
		r.noteReplaced(fmt.Sprintf("replaced the saved tool %q", t.Name))
	}
	l.bridge.log.InfoContext(r.ctx, "a tool was saved", "tool", t.Name, "change", change)
	r.record(audit.Record{Event: audit.Saved, Tool: t.Name, Outcome: "ok", Note: "a saved tool: " + string(change)})
	return nil
}

// settleSaves waits for a tool that is being kept. The run's context has ended.
func (r *run) settleSaves() {
	r.saving.Lock()
	defer r.saving.Unlock()
}

// ofTools is what code is told of an error with saved tools. Where it is of the disk, the log has the rest.
func (l *live) ofTools(ctx context.Context, err error) string {
	var disk *toolbox.DiskError
	if !errors.As(err, &disk) {
		return err.Error()
	}
	l.bridge.log.WarnContext(ctx, "saved tools: "+disk.What, "error", disk.Err)
	why := "the files of saved tools are not as they should be"
	if errno := syscall.Errno(0); errors.As(disk.Err, &errno) { // which names no file
		why = errno.Error()
	}
	return disk.What + ": " + why + "; codemode's log says what is wrong"
}

// toolIn is what is kept of the one function that a source must be.
func (b *Bridge) toolIn(
	ctx context.Context, session, source string, took func(time.Duration), ask func(config.Server),
) (t toolbox.Tool, err error) {
	if len(source) > toolbox.MaxSource {
		return t, fmt.Errorf("the function has %d bytes; at most %d are kept", len(source), toolbox.MaxSource)
	}
	checked, err := b.check(ctx, session, source, took)
	switch {
	case err != nil:
		return t, err
	case len(checked.Functions) != 1 || len(checked.Rest) > 0:
		return t, errors.New("what is kept is one function and nothing else")
	}
	return b.toolOf(checked.Functions[0], nil, ask)
}

// savedTools answers with the saved tools: the names of all, or one with its source. A run is told what is to be said
// of one that it takes.
func (l *live) savedTools(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.SavedQuery
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "tools/saved: "+err.Error(), guest.ErrorData{})
	}
	answer := guest.SavedTools{Tools: []guest.SavedTool{}}
	if q.Name == "" {
		return l.respondOwn(ctx, t, func() any {
			for _, t := range l.bridge.saved.list() {
				answer.Tools = append(answer.Tools, guest.SavedTool{Name: t.Name})
			}
			return answer
		})
	}
	tool, err := l.bridge.saved.load(q.Name)
	switch {
	case errors.Is(err, toolbox.ErrNone):
	case err != nil:
		return nil, refuse(-32602, l.ofTools(ctx, err), guest.ErrorData{})
	default:
		answer.Tools = append(
			answer.Tools, guest.SavedTool{Name: tool.Name, Hash: tool.Hash(), Source: tool.Source, Needs: tool.Needs},
		)
		if r := l.currentRun(); r != nil {
			for _, remark := range l.bridge.Remarks(tool) {
				r.addNote(fmt.Sprintf("the saved tool %q: %s", tool.Name, remark))
			}
		}
	}
	return l.respondOwn(ctx, t, func() any { return answer })
}

func (s *saved) list() []toolbox.Tool {
	if s.box == nil {
		return nil
	}
	tools, _ := s.box.List() // of one that is damaged its use tells
	return tools
}

func (s *saved) load(name string) (toolbox.Tool, error) {
	if s.box == nil {
		return toolbox.Tool{}, toolbox.ErrNone
	}
	return s.box.Load(name)
}

// Search returns the tools that fit a query best, of the servers that are known and of those that were saved.
func (b *Bridge) Search(query string, limit int) []catalog.Match {
	return b.saved.beside(b.servers.Catalog()).Search(query, limit)
}

// searchFor answers a guest's search.
func (b *Bridge) searchFor(q guest.SearchQuery) (result guest.SearchResult) {
	found := b.saved.beside(b.servers.Catalog()).
		Answer(q.Query, min(max(q.Limit, 0), 20), func(m catalog.Match) string {
			return b.servers.Note(catalog.Server{Name: m.Server, Alias: m.ServerAlias}, m.Tool)
		})
	result.Text = visible.Text(found.Text)
	result.Matches = make([]guest.Match, 0, len(found.Matches))
	for _, m := range found.Matches {
		result.Matches = append(result.Matches, guest.Match{
			Server: m.Server, ServerAlias: m.ServerAlias,
			Tool: b.servers.Tool(catalog.Server{Name: m.Server, Alias: m.ServerAlias}, m.Tool),
		})
	}
	return result
}

// beside is a catalog with the saved tools added. It is kept until either has changed: its index takes longer to make
// than to ask.
func (s *saved) beside(base *catalog.Catalog) *catalog.Catalog {
	if s.box == nil {
		return base
	}
	stamp := s.box.Stamp()
	if stamp == "" {
		return base
	}
	s.mu.Lock()
	if s.base == base && s.stamp == stamp {
		defer s.mu.Unlock()
		return s.all
	}
	s.mu.Unlock()
	all := catalog.New(append(slices.Clone(base.Servers()), savedServer(s.list())))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base, s.stamp, s.all = base, stamp, all
	return all
}

// savedServer is what the catalog knows of saved tools. They are no server's, but are found as if they were.
func savedServer(tools []toolbox.Tool) catalog.Server {
	s := catalog.Server{Name: "tools", Alias: "tools"}
	for _, t := range tools {
		caller := "from tools import " + t.Name + "; "
		if t.Async {
			caller += "await "
		}
		c := catalog.Tool{
			Name: t.Name, Alias: t.Name, Description: t.Doc, InputSchema: json.RawMessage(`{}`),
			Signature: t.Signature, Returns: "Any", Caller: caller + t.Name,
		}
		for _, p := range t.Params {
			c.Params = append(c.Params, catalog.Param{Name: p.Name, Key: p.Name, Type: p.Type, Required: p.Required})
		}
		s.Tools = append(s.Tools, c)
	}
	return s
}
