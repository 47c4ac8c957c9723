package catalog

import "strings"

// likeness finds tools by what their names look like: by the runs of three letters that two names share. That
// survives typing errors, cut ends and words run together, where the words of an index do not.
type likeness struct {
	docs  map[trigram][]int32
	count []int // trigrams of each document's name
}

type trigram [3]byte

// A name is compared with a query of at most longestName bytes, and counts from leastLike on.
const (
	longestName = 80
	leastLike   = 0.4
)

func newLikeness(docs []document) likeness {
	l := likeness{docs: map[trigram][]int32{}, count: make([]int, len(docs))}
	for i, d := range docs {
		set := trigrams(fold(beginning(d.tool.Name, maxLetters)))
		l.count[i] = len(set)
		for g := range set {
			l.docs[g] = append(l.docs[g], int32(i))
		}
	}
	return l
}

// trigrams is the set of them; a name's beginning counts more, by trigrams of its own.
func trigrams(name string) map[trigram]bool {
	name = "\x00\x00" + name
	set := make(map[trigram]bool, len(name))
	for i := range len(name) - 2 {
		set[trigram{name[i], name[i+1], name[i+2]}] = true
	}
	return set
}

// like calls found for each document whose name is like the query, with how much, from 0 to 1. What a query has
// and a name has not counts more than the other way round: names are cut short more often than made longer.
func (l likeness) like(query string, found func(doc int, how float64)) {
	typed := fold(strings.TrimSpace(query))
	if len(typed) < 3 || len(typed) > longestName {
		return
	}
	asked := trigrams(typed)
	shared := make([]uint16, len(l.count))
	for g := range asked {
		for _, doc := range l.docs[g] {
			shared[doc]++
		}
	}
	for doc, n := range shared {
		part := float64(n) / float64(len(asked))
		dice := 2 * float64(n) / float64(len(asked)+l.count[doc])
		if how := 0.6*part + 0.4*dice; how >= leastLike {
			found(doc, how)
		}
	}
}
