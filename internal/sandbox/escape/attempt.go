// Package escape attacks a sandbox from within and says what came of it: the attempts of corpus/, one Python file each,
// and the runner that judges them.
//
// It owns the decoys that stand outside for an attempt to reach, and removes them. It never looks at how a runtime
// works: all it knows is [sandbox.Runtime], which it leaves open; attempts that need a whole session are package
// bridge/hostile's, of the same corpus.
package escape

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"codemode/internal/lazyregexp"
)

//go:embed corpus
var corpus embed.FS

// guestFiles are what a sandbox gets to run attempts from: always the same value, which a runtime may know again.
var guestFiles = sync.OnceValue(func() fs.FS {
	sub, err := fs.Sub(corpus, "corpus/"+InGuest)
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
})

// Helpers is the Python that attempts of sessions share, for the driver to put in front of each.
func Helpers() string {
	source, err := corpus.ReadFile("corpus/session/session.py")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(source)
}

// Verdict is how an attempt went.
type Verdict string

// The verdicts. Scripts say the first three and Broken; what the host saw counts more than what a script says.
const (
	Held     Verdict = "held"     // refused, or contained
	Escaped  Verdict = "escaped"  // it succeeded
	Measured Verdict = "measured" // known to succeed, and known to be harmless
	Broken   Verdict = "broken"   // the attempt itself has a mistake, or could not begin
	Killed   Verdict = "killed"   // by a limit, by codemode or by the clock
)

// The ways an attempt is driven, and the directories of the corpus.
const (
	InGuest   = "guest"   // as the first program of a sandbox
	InSession = "session" // as the code of runs
)

// An Attempt is a script of the corpus with what its heading says.
type Attempt struct {
	Name   string // unique: "read_ssh"
	Group  string // "files"
	Tries  string // "to read a private key …"
	Must   []Verdict
	Expect string // why, or how: "no such path"
	Source string
}

// Groups are the directories in those, in the order people should read of them.
var Groups = []string{
	"files", "network", "processes", "memory", "kernel", "devices", "channel", "interpreter", "results", "sessions",
}

var heading = lazyregexp.New(`\A# tries: (.+)\n# must: (held|killed|measured|(?:held|measured) or killed): (.+)\n`)

// Attempts lists the attempts that are driven in one way, by group and name.
func Attempts(in string) ([]Attempt, error) {
	var all []Attempt
	for _, group := range Groups {
		names, err := fs.Glob(corpus, path.Join("corpus", in, group, "*.py"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			a, err := read(name)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
	}
	return all, nil
}

func read(name string) (Attempt, error) {
	source, err := corpus.ReadFile(name)
	if err != nil {
		return Attempt{}, err
	}
	m := heading().FindSubmatch(source)
	if m == nil {
		return Attempt{}, fmt.Errorf("%s does not begin with what it tries and what must happen", name)
	}
	a := Attempt{
		Name: strings.TrimSuffix(path.Base(name), ".py"), Group: path.Base(path.Dir(name)),
		Tries: string(m[1]), Expect: string(m[3]), Source: string(source),
	}
	for _, v := range strings.Split(string(m[2]), " or ") {
		a.Must = append(a.Must, Verdict(v))
	}
	if slices.Contains(a.Must, Measured) {
		a.Must = append(a.Must, Held) // a stricter runtime may refuse it
	}
	return a, nil
}
