package config

import (
	"path/filepath"
	"strings"

	"codemode/internal/lazyregexp"
)

// Files is what code is shown of the user's.
type Files struct {
	Mounts []string `koanf:"mounts"` // as Mount.String writes them
	Roots  bool     `koanf:"roots"`  // the client's folders, too

	// Project says that code is shown the project's folder, too; its user has said so, or has approved the Request.
	Project bool    `koanf:"project"`
	Request Request `koanf:"-"`
	Own     *Mount  `koanf:"-"` // the project's folder, where one of both is so

	// Places says where each is set that no flag has given, in words that name no folder: code is told them.
	Places map[string]string `koanf:"-"`
}

// A Request is a project's file that asks for the project's folder to be shown; the zero value is none.
type Request struct {
	Folder string // the project's
	File   string
	Line   int
}

// String is what is asked for, as one approves it.
func (r Request) String() string { return "files.project = true" }

// A Mount is a folder that code sees in /workspace, as the user has asked for it.
type Mount struct {
	Folder string // absolute
	Name   string // there
	Write  bool   // code may change it
	Place  string // where it is set; "" is on the command line
}

// Folders are the mounts.
func (f Files) Folders() []Mount {
	list := make([]Mount, 0, len(f.Mounts))
	for _, text := range f.Mounts {
		if m, ok := parseMount(text, place{}); ok {
			m.Place = f.Places[text]
			list = append(list, m)
		}
	}
	return list
}

// String is a mount as parseMount takes it, with nothing left out: so a folder whose name has a colon is told from what
// follows it.
func (m Mount) String() string {
	mode := "ro"
	if m.Write {
		mode = "rw"
	}
	return m.Folder + ":" + m.Name + ":" + mode
}

// maxMountName is what file systems take.
const maxMountName = 255

const mountForms = "DIR[:NAME][:ro|rw], separated by commas"

// mounts are folders that code sees.
var mounts = kind{
	forms: mountForms, list: ",",
	parse: func(s string, at place) (any, bool) {
		m, ok := parseMount(s, at)
		return m.String(), ok
	},
}

// badMode is a name that is meant as a mode, or could be. With a mode behind it is a name.
var badMode = lazyregexp.New(`:[rwox]{2}$`)

// parseMount reads DIR[:NAME][:ro|rw].
func parseMount(s string, at place) (m Mount, ok bool) {
	if badMode().MatchString(s) && !strings.HasSuffix(s, ":rw") && !strings.HasSuffix(s, ":ro") {
		return m, false
	}
	if rest, ok := strings.CutSuffix(s, ":rw"); ok {
		s, m.Write = rest, true
	} else {
		s = strings.TrimSuffix(s, ":ro")
	}
	// On Windows a colon may stand behind a drive.
	if i := strings.LastIndexByte(s, ':'); i > len(filepath.VolumeName(s))-1 && !isPath(s[i+1:]) {
		s, m.Name = s[:i], s[i+1:]
		if m.Name == "" {
			return m, false
		}
	}
	m.Folder = at.resolve(s)
	if !filepath.IsAbs(m.Folder) {
		return m, false
	}
	m.Folder = filepath.Clean(m.Folder)
	if m.Name == "" {
		m.Name = strings.Trim(filepath.Base(m.Folder), `/\`)
	}
	if m.Name == "" {
		m.Name = "root" // of a file system, which nobody is shown
	}
	named := m.Name != "." && m.Name != ".." && len(m.Name) <= maxMountName && !strings.ContainsRune(m.Name, 0)
	return m, named
}
