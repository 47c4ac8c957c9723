package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
)

// An OriginalError is the Python original in a client's files: beside it, codemode would be a second run_python.
type OriginalError struct{ Names []string }

func (e *OriginalError) Error() string {
	return quotedNames(e.Names) + " would stand beside codemode: " +
		"it starts the Python original, which has a tool run_python, too"
}

func quotedNames(names []string) string {
	list := make([]string, len(names))
	for n, name := range names {
		list[n] = fmt.Sprintf("%q", name)
	}
	return strings.Join(list, ", ")
}

// takenOver is an entry of the original whose place codemode takes.
type takenOver struct {
	target Target
	table  []string // leads to the servers it is among
	entry  clientcfg.Entry
}

func (o takenOver) at() []string { return append(slices.Clone(o.table), o.entry.Written) }

// originals are the entries of the original in a client's files that codemode is to replace: those of the targets, and
// for the user's scope in all files that the client reads. notes tell of those that stay.
func (i *Installer) originals(req Request, targets []Target) (list []takenOver, notes []string, err error) {
	if req.Scope == clientcfg.User {
		targets = append(slices.Clone(targets), i.otherFiles(&req.Client, targets)...)
	}
	var staying []string
	for _, t := range targets {
		f, err := t.open()
		if err != nil || f.missing() {
			continue // of a target it is told when that is planned
		}
		doc, err := splice.Parse(f.data, t.format)
		if err != nil {
			continue
		}
		for _, o := range i.originalsIn(t, f, doc) {
			names, err := doc.Entries(o.table)
			switch {
			case err != nil || t.apart || !slices.Contains(names, o.entry.Written) || doc.Once(o.at()) != nil:
				notes = append(
					notes,
					fmt.Sprintf("%q in %q starts the Python original, too, and has to be removed by hand",
						o.entry.Written, t.Path),
				)
			case i.Replace != nil && i.Replace(o.entry):
				list = append(list, o)
			default:
				staying = append(staying, o.entry.Written)
			}
		}
	}
	if len(staying) > 0 && !req.Force {
		return nil, nil, &OriginalError{staying}
	}
	if len(staying) > 0 {
		notes = append(notes, (&OriginalError{staying}).Error())
	}
	return list, notes, nil
}

// originalsIn are those of one file.
func (i *Installer) originalsIn(t Target, f file, doc *splice.Document) (list []takenOver) {
	env := i.Env
	env.AllProjects = true // beside an entry of the user's, each of them is a second one
	entries, _ := clientcfg.ReadEntries(t.Client, t.Scope, f.root, f.path, f.data, env)
	for _, e := range entries {
		if clientcfg.StartsOriginal(e.Server) && !e.Server.Disabled &&
			(e.Scope == t.Scope || e.Scope == clientcfg.Local) {
			list = append(list, takenOver{t, localTable(doc, keyOf(t.Client, doc), e), e})
		}
	}
	return list
}

// otherFiles are files of the user's that a client reads, besides those that codemode is put in.
func (i *Installer) otherFiles(c *clientcfg.Client, targets []Target) (list []Target) {
	known := func(path string) bool {
		return slices.ContainsFunc(targets, func(t Target) bool { return sameFile(t.Path, path) })
	}
	for _, place := range c.Files {
		path := i.Env.Expand(place.Path)
		if place.Scope != clientcfg.User || !place.On(i.Env.OS) || path == "" || c.Install.Private {
			continue
		}
		of := *c
		if place.Key != nil {
			of.Key = place.Key
		}
		for _, found := range glob(path) {
			if exists(found) && !known(found) {
				list = append(list, Target{
					Client: &of, Scope: clientcfg.User, Path: found, Detected: true, format: formatOf(&of, found),
					apart: place.Key == nil && !c.List,
				})
			}
		}
	}
	return list
}

// replaced are the entries of the original that go from one table of servers, as what uninstalling puts back.
func replaced(list []takenOver, path string) (moved []Moved) {
	for _, o := range list {
		if o.target.Path == path {
			moved = append(moved, Moved{Name: o.entry.Written, Key: o.table})
		}
	}
	return moved
}

// Replaced says whether codemode is in its place: it started the Python original, or was replaced by force. It is
// behind codemode in no file.
func (m Moved) Replaced() bool { return m.File == "" }

// inherited is what the original was given of its environment that means the same to codemode: values, and names of
// variables of the client's that are passed on. foreign are names of the others; in a project's file all are a
// stranger's.
func inherited(list []takenOver) (values map[string]string, pass, foreign []string) {
	values = map[string]string{}
	for _, o := range list {
		takes := func(name string) bool {
			return o.target.Scope != clientcfg.Project && clientcfg.IsOriginalVariable(name)
		}
		given, passed := clientcfg.Given(o.entry.Server)
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if _, had := values[name]; !had && takes(name) {
				values[name] = given[name]
			} else if !had {
				foreign = append(foreign, name)
			}
		}
		for _, name := range passed {
			if takes(name) {
				pass = append(pass, name)
			} else {
				foreign = append(foreign, name)
			}
		}
	}
	return values, pass, foreign
}

// tellInherited says what became of the original's environment. Values are not told.
func tellInherited(list []takenOver) (notes []string) {
	values, pass, foreign := inherited(list)
	if names := slices.Concat(slices.Sorted(maps.Keys(values)), pass); len(names) > 0 {
		notes = append(notes, "codemode is given what the original was: "+strings.Join(names, ", "))
	}
	if len(foreign) > 0 {
		notes = append(notes, "codemode is not given the original's "+strings.Join(foreign, ", ")+
			"; what a server needs of it belongs into that server's env")
	}
	return notes
}
