package install

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/hint"
)

// others takes servers out of the files that a client reads and codemode is not put in: what starts the original, and
// what is adopted. A file of which there is nothing to tell has no result.
func (i *Installer) others(
	ctx context.Context, req Request, targets []Target, originals []takenOver,
) (results []Result) {
	if req.Scope != clientcfg.User {
		return nil
	}
	files := i.otherFiles(&req.Client, targets)
	if i.Adopt != nil {
		asked := req
		asked.Scope = clientcfg.Project
		if project, err := i.Targets(asked); err == nil && exists(project[0].Path) {
			files = append(files, project[0])
		}
	}
	for _, t := range files {
		r := i.change(ctx, t, req.DryRun, func(f file, l *ledger) (proposal, error) {
			return i.planOthers(req, t, f, l, originals)
		})
		if !r.Done() || len(r.Moved)+len(r.Stayed) > 0 {
			results = append(results, r)
		}
	}
	return results
}

func (i *Installer) planOthers(
	req Request, t Target, f file, l *ledger, originals []takenOver,
) (p proposal, err error) {
	doc, err := parse(f.data, t.format)
	if err != nil {
		return proposal{action: Unchanged, data: f.data}, nil // that is for its own program to tell
	}
	table := keyOf(t.Client, doc.Document)
	p.moved = replaced(originals, t.Path)
	key := append(slices.Clone(table), noEntry)
	old := l.find(f.path, key)
	if i.Adopt != nil && !t.apart {
		i.adopt(&p, adoption{req: req, t: t, f: f, doc: doc, table: table}, old)
	}
	if err := doc.removeMoved(p.moved, nil); err != nil {
		return p, err
	}
	p.action, p.data = Unchanged, doc.data
	if len(p.moved) == 0 {
		return p, nil
	}
	p.action = Updated
	p.record = newRecord(t, f, key, old, old != nil, false)
	p.record.adopt(p.moved)
	return p, nil
}

// checkOtherFiles is why codemode is not put into a file of a project: another one that the client reads there has a
// server of that name, which came with the project. The client would start that, or either.
func (i *Installer) checkOtherFiles(req Request, t Target) error {
	if t.Scope != clientcfg.Project || req.Force {
		return nil
	}
	for _, place := range req.Client.Files {
		if place.Scope != clientcfg.Project || !place.On(i.Env.OS) {
			continue
		}
		of := req.Client
		if place.Key != nil {
			of.Key = place.Key
		}
		for _, path := range glob(filepath.Join(t.root, filepath.FromSlash(place.Path))) {
			if path == t.Path {
				continue
			}
			f, err := openInProject(t.root, path)
			if err != nil {
				return fmt.Errorf("%s reads %q, too: %w", of.Title, path, err)
			}
			doc, err := parse(f.data, formatOf(&of, path))
			if err != nil || f.missing() {
				continue // of which it reads nothing
			}
			if _, there := doc.Get(append(slices.Clone(keyOf(&of, doc.Document)), req.Name)); there {
				return hint.New(
					fmt.Sprintf("%s reads %q, too, and a server %q is there already", of.Title, path, req.Name),
					"look at that, and take it out; or choose another name by --name",
				)
			}
		}
	}
	return nil
}

// readAlready says why servers stay in a file that codemode reads itself; empty is that it does not. They are its own
// there, and would be nowhere.
func readAlready(own []clientcfg.Entry, path string) string {
	for _, o := range own {
		if sameFile(o.Server.Source, path) {
			return fmt.Sprintf("codemode reads this file itself, as %q", o.Server.Source)
		}
	}
	return ""
}
