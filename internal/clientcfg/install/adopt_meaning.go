package install

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
)

// keepsMeaning is an error if the file that a server would move to says something else of it than its client does.
func (i *Installer) keepsMeaning(path string, text []byte, e clientcfg.Entry, doc *splice.Document) error {
	there, _ := clientcfg.ReadOwn(path, text, i.Env)
	if len(there) != 1 {
		return errors.New("it would not be read there")
	}
	was, is := e.Server, there[0].Server
	switch {
	case was.Command != is.Command, was.URL != is.URL, !slices.Equal(was.Args, is.Args), !maps.Equal(was.Env, is.Env),
		!maps.Equal(was.Headers, is.Headers):
		return errors.New("JSON has its dates and numbers otherwise: put them in quotes")
	case !slices.Equal(was.ToolsAllow, is.ToolsAllow), !slices.Equal(was.ToolsDeny, is.ToolsDeny):
		return errors.New("a list of tools that is not in its entry holds for it, and would not there")
	case was.Disabled && !is.Disabled:
		return errors.New("it is switched off, though not by its entry, and would not be there")
	}
	if folder := offIn(doc, e); folder != "" && !is.Disabled {
		return fmt.Errorf("it is switched off in %q, and would not be there", folder)
	}
	return nil
}

// narrowerThan is an error if an entry is off or limited to some tools, and codemode's own of the same server is not.
func (i *Installer) narrowerThan(m Moved, e clientcfg.Entry) error {
	for _, own := range i.Adopt.Own() {
		if own.Server.Source != m.File || own.Written != m.As {
			continue
		}
		is, was := own.Server, e.Server
		switch {
		case was.Disabled && !is.Disabled:
			return fmt.Errorf("it is switched off, and %q, which codemode has already, is not", m.As)
		case !slices.Equal(was.ToolsAllow, is.ToolsAllow), !slices.Equal(was.ToolsDeny, is.ToolsDeny):
			return fmt.Errorf("its lists of tools are others than those of %q, which codemode has already", m.As)
		}
	}
	return nil
}

// offIn is a folder in which a client's file switches a server off.
func offIn(doc *splice.Document, e clientcfg.Entry) string {
	projects, _ := doc.Get([]string{"projects"})
	folders, _ := projects.(map[string]any)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		project, _ := folders[folder].(map[string]any)
		if slices.Contains(texts(project["disabledMcpServers"]), e.Written) {
			return folder
		}
	}
	return ""
}

// found is an error if codemode does not use a client's server now, and would use it once it has moved.
func (a *Adopter) found(e clientcfg.Entry) error {
	if a.Named == nil {
		return nil
	}
	for _, o := range a.Named() {
		if !inOneTable(o, e) || o.Written != e.Written {
			continue
		}
		if o.Server.Disabled && !e.Server.Disabled {
			return fmt.Errorf("it is switched off (%s), and would not be there", o.Reason)
		}
		return nil
	}
	if e.Scope == clientcfg.Project { // that it is approved, with its place, is asked elsewhere
		return nil
	}
	return fmt.Errorf("discovery.sources leaves out what %s has", e.Client)
}
