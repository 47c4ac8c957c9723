package doctor

import (
	"cmp"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// A Redactor takes out of a text what others are not to see: the values it was told, what looks like a secret, and the
// name of the home directory.
type Redactor struct {
	home    string
	secrets []string // longest first
}

// minSecret is the shortest value that is looked for: shorter ones are in every other word.
const minSecret = 6

// NewRedactor returns one that knows the user's home.
func NewRedactor(home string) *Redactor { return &Redactor{home: strings.TrimRight(home, "/\\")} }

// Add makes a value a secret.
func (r *Redactor) Add(value string) {
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= minSecret && line != r.home {
			r.secrets = append(r.secrets, line)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// AddServer adds all of an entry that people are not shown.
func (r *Redactor) AddServer(s config.Server) {
	masked := clientcfg.Masked(s)
	add := func(value, shown string) {
		if value != shown {
			r.Add(value)
			_, assigned, _ := strings.Cut(value, "=")
			r.Add(assigned)
		}
	}
	add(s.Command, masked.Command)
	for i, a := range s.Args {
		add(a, masked.Args[i])
	}
	add(s.URL, masked.URL)
	for name, v := range s.Env {
		add(v, masked.Env[name])
	}
	for name, v := range s.Headers {
		add(v, masked.Headers[name])
		add(strings.TrimPrefix(v, "Bearer "), masked.Headers[name])
	}
}

// AddVariables adds the values of variables that are named like secrets.
func (r *Redactor) AddVariables(environ []string) {
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && clientcfg.NamesSecret(name) {
			r.AddVariable(name, value)
		}
	}
}

// everyday are variables that hold no secret and without which a report is hard to read.
var everyday = []string{"HOME", "USERPROFILE", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "LANG"}

// AddVariable adds the value of a variable that an entry refers to.
func (r *Redactor) AddVariable(name, value string) {
	if !slices.Contains(everyday, name) {
		r.Add(value)
	}
}

// Text is a text as others may see it.
func (r *Redactor) Text(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	if r.home != "" {
		s = strings.ReplaceAll(s, r.home, "~")
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		words := strings.Split(line, " ")
		for j, w := range words {
			words[j] = clientcfg.MaskText(w)
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}
