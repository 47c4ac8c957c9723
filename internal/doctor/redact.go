package doctor

import (
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/redact"
)

// A Redactor takes out of a text what others are not to see: the values it was told, what looks like a secret, and the
// name of the home directory.
type Redactor struct {
	home    string
	secrets redact.Secrets
}

// NewRedactor returns one that knows the user's home.
func NewRedactor(home string) *Redactor { return &Redactor{home: strings.TrimRight(home, "/\\")} }

// AddServer adds all of an entry that people are not shown.
func (r *Redactor) AddServer(s config.Server) { r.secrets.Add(clientcfg.Secrets(s)...) }

// AddVariables adds the values of variables that are named like secrets.
func (r *Redactor) AddVariables(environ []string) {
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && redact.Named(name) {
			r.AddVariable(name, value)
		}
	}
}

// everyday are variables that hold no secret and without which a report is hard to read.
var everyday = []string{"HOME", "USERPROFILE", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "LANG"}

// AddVariable adds the value of a variable that an entry refers to.
func (r *Redactor) AddVariable(name, value string) {
	if !slices.Contains(everyday, name) && value != r.home {
		r.secrets.AddNamed(name, value)
	}
}

// Text is a text as others may see it.
func (r *Redactor) Text(s string) string {
	s = r.secrets.Redactor().Text(s)
	if r.home != "" {
		s = strings.ReplaceAll(s, r.home, "~")
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		words := strings.Split(line, " ")
		for j, w := range words {
			words[j] = (&redact.Finder{}).Text(w)
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}
