package catalog

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// The fields of a tool that are searched. BM25F: a word's weighted frequencies are summed over the fields before they
// saturate, each held against its field's usual length (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009, section 3.6).
const (
	inName = iota
	inServer
	inAbout       // the server's description
	inSummary     // the first sentence of the tool's description
	inDescription // and the rest
	inKeys
	inParams // descriptions of parameters
	inValues // what a parameter may be
	fields
)

// fieldRules say what a word in each field counts, and how much a long field dilutes its words (BM25's b).
var fieldRules = [fields]struct{ weight, dilution float64 }{
	inName:        {3, 0.8},
	inServer:      {2, 0.3},
	inAbout:       {1, 0.9},
	inSummary:     {1.2, 0.3},
	inDescription: {0.4, 0.6},
	inKeys:        {0.5, 0.4},
	inParams:      {0.2, 0.4},
	inValues:      {0.2, 0.4},
}

// An index holds where words occur. It is not changed once it is built.
type index struct {
	docs     []document
	terms    map[string]int32 // stem -> place in the lists below
	stems    []stemmed
	postings [][]posting
	names    likeness
	twins    map[*Server][]string // names of the servers that list the same as this one, which have no documents
}

type document struct {
	server *Server
	tool   *Tool
}

// A posting is one word in one document.
type posting struct {
	doc    int32
	weight float32 // frequencies over all fields
}

// A stemmed word, and which letters it has: two words that differ in too many cannot be near.
type stemmed struct {
	text    string
	letters uint32
}

// A builder makes an index. Words are remembered as they are written, because most of them come again.
type builder struct {
	*index
	known map[string]int32 // word -> number of its stem
	lists [][fields][]int32
	total [fields]float64
}

func newIndex(servers []Server) *index {
	b := builder{index: &index{terms: map[string]int32{}}, known: map[string]int32{}}
	b.twins = map[*Server][]string{}
	first := map[string]*Server{}
	for i := range servers {
		s := &servers[i]
		list := s.list()
		if one := first[list]; one != nil && len(s.Tools) > 0 {
			b.twins[one] = append(b.twins[one], s.Name)
			continue
		}
		first[list] = s
		called, about := b.words(s.Name), b.words(s.Description)
		for j := range s.Tools {
			list := b.tool(&s.Tools[j])
			list[inServer], list[inAbout] = called, about
			b.docs, b.lists = append(b.docs, document{s, &s.Tools[j]}), append(b.lists, list)
			for f := range list {
				b.total[f] += float64(len(list[f]))
			}
		}
	}
	b.postings = make([][]posting, len(b.stems))
	b.weigh()
	b.index.names = newLikeness(b.docs)
	return b.index
}

// list tells servers apart by what they list: two that answer the same are one server, found twice.
func (s *Server) list() string {
	sum := sha256.New()
	for i := range s.Tools {
		t := &s.Tools[i]
		for _, part := range []string{t.Name, t.Description, string(t.InputSchema)} {
			fmt.Fprintf(sum, "%d:%s", len(part), part)
		}
	}
	return string(sum.Sum(nil))
}

// tool reads the fields of one tool, but for what it shares with its server's others.
func (b *builder) tool(t *Tool) (list [fields][]int32) {
	first, rest := sentence(t.Description)
	list[inName], list[inSummary], list[inDescription] = b.words(t.Name), b.words(first), b.words(rest)
	for _, p := range t.Params {
		list[inKeys] = append(list[inKeys], b.words(p.Key)...)
		list[inParams] = append(list[inParams], b.words(p.Description)...)
		if values, ok := strings.CutPrefix(p.Type, "Literal["); ok {
			list[inValues] = append(list[inValues], b.words(values)...)
		}
	}
	return list
}

// words returns the stems of a text by number.
func (b *builder) words(text string) (ids []int32) {
	split(text, func(word string) {
		id, ok := b.known[word]
		if !ok {
			id = b.number(normal(word))
			b.known[word] = id
		}
		if id >= 0 {
			ids = append(ids, id)
		}
	})
	return ids
}

// number is a stem's place in the lists; -1 for none.
func (b *builder) number(stem string) int32 {
	if stem == "" {
		return -1
	}
	id, ok := b.terms[stem]
	if !ok {
		id = int32(len(b.stems))
		b.terms[stem] = id
		b.stems = append(b.stems, stemmed{stem, letters(stem)})
	}
	return id
}

// weigh fills the postings, document by document.
func (b *builder) weigh() {
	weight := make([]float32, len(b.stems))
	var seen []int32
	for doc, list := range b.lists {
		for f, ids := range list {
			rule := fieldRules[f]
			usual := max(b.total[f]/float64(len(b.lists)), 1)
			once := rule.weight / (1 - rule.dilution + rule.dilution*float64(len(ids))/usual)
			for _, id := range ids {
				if weight[id] == 0 {
					seen = append(seen, id)
				}
				weight[id] += float32(once)
			}
		}
		for _, id := range seen {
			b.postings[id] = append(b.postings[id], posting{int32(doc), weight[id]})
			weight[id] = 0
		}
		seen = seen[:0]
	}
}

// sentence cuts a text after its first sentence.
func sentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for _, stop := range []string{". ", ".\n", "\n\n", "\n\r", "。"} {
		if i := strings.Index(text[:end], stop); i >= 0 {
			end = i
		}
	}
	return text[:end], text[end:]
}

// rarity is what a word counts that occurs in so many documents.
func (ix *index) rarity(documents int) float64 {
	n := float64(documents)
	return math.Log(1 + (float64(len(ix.docs))-n+0.5)/(n+0.5))
}

// letters is the set of a word's letters, as far as they fit.
func letters(word string) (set uint32) {
	for _, r := range word {
		set |= 1 << (uint32(r) % 32)
	}
	return set
}

// near finds the words of the index that a word may be short for, or a misspelling of.
func (ix *index) near(w string) []meaning {
	if len(w) < 3 {
		return nil
	}
	var all []meaning
	set, typos := letters(w), 1+len(w)/8
	for id, s := range ix.stems {
		if bits.OnesCount32(set&^s.letters) > typos && bits.OnesCount32(s.letters&^set) > 0 {
			continue // neither begins the other, nor can it be misspelt so
		}
		switch {
		case len(w) == 3 && len(s.text) == 4 && s.text[0] == w[0] && distance(w, s.text, 2) == 1 && s.text[:3] != w:
			all = append(all, meaning{int32(id), 0.6}) // a letter left out of a word that is short: isue
		case strings.HasPrefix(s.text, w), len(s.text) >= 4 && strings.HasPrefix(w, s.text):
			all = append(all, meaning{int32(id), 0.7})
		case len(w) >= 4 && abs(utf8.RuneCountInString(w)-utf8.RuneCountInString(s.text)) <= typos &&
			distance(w, s.text, typos+1) <= typos:
			all = append(all, meaning{int32(id), 0.6})
		}
	}
	return all
}
