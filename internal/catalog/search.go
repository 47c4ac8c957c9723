package catalog

import (
	"cmp"
	"math"
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
}

// Search returns the tools that fit a query best, at most limit, best first. A query that says nothing finds
// nothing.
func (c *Catalog) Search(query string, limit int) []Match {
	ix := c.index()
	scores := ix.score(query)
	if len(scores) == 0 {
		scores = ix.resembling(query)
	}
	order := make([]int, 0, len(scores))
	for doc := range scores {
		order = append(order, doc)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	matches := make([]Match, 0, max(0, min(limit, len(order))))
	for _, doc := range order[:cap(matches)] {
		d := ix.docs[doc]
		matches = append(matches, Match{d.server.Name, d.server.Alias, *d.tool, scores[doc]})
	}
	return matches
}

// The fields of a tool that are searched, and what a word in each counts. BM25F: a word's weighted
// frequencies are summed over the fields before they saturate, each held against its field's usual length
// (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, section 3.6).
const (
	inName = iota
	inServer
	inDescription
	inParams
	fields
)

var (
	weights = [fields]float64{inName: 3, inServer: 1.2, inDescription: 1, inParams: 0.25}
	lengths = [fields]float64{inName: 0.4, inServer: 0.3, inDescription: 0.3, inParams: 0.3} // BM25's b
)

const saturation = 2 // BM25's k1

// An index holds where words occur. It is not changed once it is built.
type index struct {
	docs     []document
	postings map[string][]posting
	stems    []string // the keys of postings, sorted
}

type document struct {
	server *Server
	tool   *Tool
}

// A posting is one word in one document.
type posting struct {
	doc    int
	weight float64 // frequencies over all fields
}

func newIndex(servers []Server) *index {
	ix := &index{postings: map[string][]posting{}}
	var texts [][fields][]string
	var total [fields]float64
	for i := range servers {
		for j := range servers[i].Tools {
			d := document{&servers[i], &servers[i].Tools[j]}
			text := d.words()
			for f := range text {
				total[f] += float64(len(text[f]))
			}
			ix.docs, texts = append(ix.docs, d), append(texts, text)
		}
	}
	for doc, text := range texts {
		weight := map[string]float64{}
		for f := range text {
			usual := total[f] / float64(len(texts))
			norm := 1 - lengths[f] + lengths[f]*float64(len(text[f]))/max(usual, 1)
			for _, w := range text[f] {
				weight[w] += weights[f] / norm
			}
		}
		for w, n := range weight {
			ix.postings[w] = append(ix.postings[w], posting{doc, n})
		}
	}
	for w := range ix.postings {
		ix.stems = append(ix.stems, w)
	}
	slices.Sort(ix.stems)
	return ix
}

func (d document) words() (text [fields][]string) {
	text[inName] = words(d.tool.Name)
	text[inServer] = slices.Concat(words(d.server.Name), words(d.server.Description))
	text[inDescription] = words(d.tool.Description)
	for _, p := range d.tool.Params {
		text[inParams] = slices.Concat(text[inParams], words(p.Key), words(p.Description))
	}
	return text
}

// maxWords and maxLetters are what of a query is looked at: each word that is not in the index is compared with all
// that are.
const (
	maxWords   = 64
	maxLetters = 200
)

// score returns the documents that have a word of the query, or one near it.
func (ix *index) score(query string) map[int]float64 {
	scores := map[int]float64{}
	counts := map[string]int{}
	var asked []string // each word once, in order: sums of floats must not depend on a map's
	for _, w := range words(query) {
		if counts[w] == 0 && len(asked) == maxWords {
			continue
		}
		if counts[w]++; counts[w] == 1 {
			asked = append(asked, w)
		}
	}
	for _, w := range asked {
		repeated := 1 + math.Log(float64(counts[w]))
		best := map[int]float64{} // of the words near w only the best counts in a document
		for _, n := range ix.near(w) {
			postings := ix.postings[n.stem]
			rarity := math.Log(1 + (float64(len(ix.docs))-float64(len(postings))+0.5)/(float64(len(postings))+0.5))
			for _, p := range postings {
				s := n.likeness * repeated * rarity * p.weight * (saturation + 1) / (p.weight + saturation)
				best[p.doc] = max(best[p.doc], s)
			}
		}
		for doc, s := range best {
			scores[doc] += s
		}
	}
	return scores
}

// A neighbour is a word of the index, and how surely a word of the query means it.
type neighbour struct {
	stem     string
	likeness float64
}

// near returns the word itself where it occurs; else the words it begins, and those it is a misspelling of.
func (ix *index) near(w string) []neighbour {
	if _, ok := ix.postings[w]; ok {
		return []neighbour{{w, 1}}
	}
	if len(w) < 3 {
		return nil
	}
	var all []neighbour
	typos := 1 + len(w)/8
	for _, s := range ix.stems {
		switch {
		case strings.HasPrefix(s, w), len(s) >= 4 && strings.HasPrefix(w, s):
			all = append(all, neighbour{s, 0.7})
		case len(w) >= 4 && distance(w, s, typos+1) <= typos:
			all = append(all, neighbour{s, 0.6})
		}
	}
	return all
}

// resembling is the last resort: names that have the query's letters in their order.
func (ix *index) resembling(query string) map[int]float64 {
	letters := strings.ToLower(strings.Join(strings.Fields(beginning(query, maxLetters)), ""))
	if len(letters) < 3 {
		return nil
	}
	names := make([]string, len(ix.docs))
	for i, d := range ix.docs {
		names[i] = d.server.Name + " " + d.tool.Name
	}
	scores := map[int]float64{}
	for _, m := range fuzzy.Find(letters, names) {
		if m.Score > 0 {
			scores[m.Index] = float64(m.Score) / 1000
		}
	}
	return scores
}
