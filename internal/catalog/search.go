package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"
)

// Match is a tool that a search found.
type Match struct {
	Server      string
	ServerAlias string
	Tool        Tool
	Score       float64
	Also        []string // servers that list the same tools
}

// Search returns the tools that fit a query best, at most limit, best first. A query that says nothing finds
// nothing.
func (c *Catalog) Search(query string, limit int) []Match {
	ix := c.index()
	query = beginning(query, maxQuery)
	scores := ix.score(query)
	best := top(scores, limit)
	if len(best) == 0 {
		scores = ix.resembling(query)
		best = top(scores, limit)
	}
	matches := make([]Match, len(best))
	for i, doc := range best {
		d := ix.docs[doc]
		matches[i] = Match{d.server.Name, d.server.Alias, *d.tool, scores[doc], ix.twins[d.server]}
	}
	return matches
}

const (
	maxQuery   = 10_000 // characters of a query
	saturation = 2      // BM25's k1
	asSynonym  = 0.4    // what a synonym counts beside the word that was asked for
	byName     = 10     // what a name counts that looks like the whole query
)

// A need is one word of the query with all that it may mean in the index. Of these only the best counts in a
// document.
type need struct {
	value    float64 // what it is worth to have it
	meanings []meaning
}

// A meaning is a word of the index, and how surely a word of the query means it.
type meaning struct {
	term   int32
	surely float64
}

// need finds what a word of the query means: itself and its synonyms, or else what it may be a misspelling of. A word
// with common synonyms is itself no rarer than they are, unless it stands there as it was asked for.
func (ix *index) need(w wanted) need {
	var n need
	commonest := 0
	mean := func(m meaning) {
		if !slices.ContainsFunc(n.meanings, func(o meaning) bool { return o.term == m.term }) {
			n.meanings = append(n.meanings, m)
			commonest = max(commonest, len(ix.postings[m.term]))
		}
	}
	itself, exact := ix.terms[w.stem]
	if exact {
		mean(meaning{itself, 1})
	}
	others := synonyms()[w.stem]
	for _, s := range others {
		if term, ok := ix.terms[s]; ok {
			mean(meaning{term, asSynonym})
		}
	}
	if !exact && len(others) == 0 {
		for _, m := range ix.near(w.stem) {
			mean(m)
		}
	}
	rarity := ix.rarity(commonest)
	n.value = w.weight * rarity
	if exact {
		own := ix.rarity(len(ix.postings[itself]))
		n.value = w.weight * own
		for i := range n.meanings[1:] {
			n.meanings[i+1].surely *= rarity / own
		}
	}
	return n
}

// score returns what each document is worth: for the words of the query that it has, and for its name.
func (ix *index) score(query string) []float64 {
	scores := make([]float64, len(ix.docs))
	strongest := make([]float32, len(ix.docs))
	var having []int32
	for _, w := range question(query) {
		n := ix.need(w)
		for _, m := range n.meanings {
			for _, p := range ix.postings[m.term] {
				if strongest[p.doc] == 0 {
					having = append(having, p.doc)
				}
				strongest[p.doc] = max(strongest[p.doc], float32(m.surely)*p.weight)
			}
		}
		for _, doc := range having {
			s := float64(strongest[doc])
			scores[doc] += n.value * s * (saturation + 1) / (s + saturation)
			strongest[doc] = 0
		}
		having = having[:0]
	}
	ix.names.like(query, func(doc int, how float64) { scores[doc] += byName * how })
	return scores
}

// resembling is the last resort: names that have the query's letters in their order.
func (ix *index) resembling(query string) []float64 {
	letters := strings.ToLower(strings.Join(strings.Fields(beginning(query, maxLetters)), ""))
	if len(letters) < 3 {
		return nil
	}
	names := make([]string, len(ix.docs))
	for i, d := range ix.docs {
		names[i] = d.server.Name + " " + d.tool.Name
	}
	scores := make([]float64, len(ix.docs))
	for _, m := range fuzzy.Find(letters, names) {
		scores[m.Index] = max(0, float64(m.Score)/1000)
	}
	return scores
}

// top returns the documents that are worth most, at most limit, best first; of equal ones the first.
func top(scores []float64, limit int) []int {
	var best []int
	for doc, s := range scores {
		if s <= 0 || limit <= 0 || len(best) == limit && s <= scores[best[limit-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, s, func(b int, s float64) int {
			return cmp.Or(cmp.Compare(s, scores[b]), -1)
		})
		if len(best) == limit {
			best = best[:limit-1]
		}
		best = slices.Insert(best, at, doc)
	}
	return best
}
