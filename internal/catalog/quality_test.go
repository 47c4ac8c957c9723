package catalog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"codemode/internal/catalog"
	"codemode/internal/catalog/catalogtest"
)

// corpus is the folder of real servers that development machines have beside the repository.
const corpus = "../../../shared/corpus"

func realServers(t *testing.T) []catalog.Server {
	t.Helper()
	servers, err := catalogtest.Servers(corpus)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no corpus of real servers beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

// realQuestions are the corpus's and the repository's own.
func realQuestions(t *testing.T) []catalogtest.Question {
	t.Helper()
	theirs, err := catalogtest.Questions(corpus + "/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := catalogtest.Questions("testdata/questions.json")
	if err != nil {
		t.Fatal(err)
	}
	equal, err := catalogtest.Questions("testdata/equivalents.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range theirs { // whose labels name one tool where others do as well
		for _, q := range equal {
			if q.Query == theirs[i].Query {
				theirs[i].Tools = append(theirs[i].Tools, q.Tools...)
			}
		}
	}
	return slices.Concat(theirs, ours)
}

// TestQuality holds how well search finds the tools of real servers for people's questions. Weights were chosen where
// they are good for two halves of these and for the "own" questions in testdata alike, and each group has a floor of
// its own: a change that helps only one of them is no better ranking. The "unseen" were written afterwards and are for
// measuring only.
func TestQuality(t *testing.T) {
	servers := realServers(t)
	search := catalog.New(servers)
	type score struct{ found, asked int }
	scores := map[string]*score{}
	for _, questions := range [][]catalogtest.Question{realQuestions(t), catalogtest.Mistyped(servers, 200, 1)} {
		for _, q := range questions {
			found := q.Answered(search.Search(q.Query, 5))
			for _, group := range []string{q.Kind, fmt.Sprintf("%s, half %d", q.Kind, q.Half())} {
				s := scores[group]
				if s == nil {
					s = &score{}
					scores[group] = s
				}
				s.asked++
				if found {
					s.found++
				}
			}
		}
	}
	for group, least := range map[string]float64{
		"step": 80, "step, half 0": 82, "step, half 1": 74,
		"task": 75, "task, half 0": 68, "task, half 1": 74,
		"own": 90, "unseen": 85, "mistyped": 95,
	} {
		s := scores[group]
		if s == nil {
			t.Errorf("no questions of the kind %q", group)
			continue
		}
		percent := 100 * float64(s.found) / float64(s.asked)
		t.Logf("%s: a right tool in the first 5 for %d of %d questions (%.1f %%)", group, s.found, s.asked, percent)
		if percent < least {
			t.Errorf(
				"%s: %.1f %% of questions find a right tool in the first 5, want at least %.0f %%", group, percent,
				least,
			)
		}
	}
}
