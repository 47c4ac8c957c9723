package catalog

import (
	"strings"
	"unicode"
)

// maxWords and maxLetters are what of a query is looked at.
const (
	maxWords   = 64
	maxLetters = 200
)

// A wanted word is one of a query's, as a stem, with what it counts.
type wanted struct {
	stem   string
	weight float64
}

// What the words of a query count beside one that was simply written.
const (
	repeatedWord = 0.3 // for each time more
	numberWord   = 0.5 // is more often a value than a name
	pathWord     = 0.1 // so is what leads to a file
	mostWeight   = 1.5
)

// question returns the words of a query, each once, in the order they came: sums of floats must not depend on
// a map's. A path or a web address asks for what can handle such a thing, hardly for what is written in it.
func question(query string) []wanted {
	var list []wanted
	at := map[string]int{}
	add := func(stem string, weight float64) {
		if i, again := at[stem]; again {
			w := &list[i].weight
			*w = min(max(*w, weight)+repeatedWord*min(*w, weight), mostWeight)
		} else if len(list) < maxWords {
			at[stem] = len(list)
			list = append(list, wanted{stem, weight})
		}
	}
	for token := range strings.FieldsSeq(query) {
		token = strings.Trim(token, "'\"‘’“”`(),;:!?[]{}<>.")
		plain := 1.0
		if kind := thing(token); kind != nil {
			plain = pathWord
			for _, stem := range kind {
				add(stem, 1)
			}
		}
		for _, stem := range words(beginning(token, maxLetters)) {
			if isNumber(stem) {
				add(stem, plain*numberWord)
			} else {
				add(stem, plain)
			}
		}
	}
	return list
}

// thing says in stems what a path, a file's name or a web address stands for; nil for any other word.
func thing(token string) []string {
	if strings.Contains(token, "://") || strings.HasPrefix(token, "www.") {
		return words("url website")
	}
	dot := strings.LastIndexByte(token, '.')
	kind := kindsOfFile()[strings.ToLower(token[dot+1:])]
	switch {
	case dot > 0 && kind != nil:
		return kind
	case !isPath(token):
		return nil
	case dot > 0:
		return words("file")
	}
	return words("directory file")
}

func isPath(token string) bool {
	switch {
	case strings.HasPrefix(token, "~/"), strings.HasPrefix(token, "./"), strings.HasPrefix(token, "../"):
		return true
	case strings.HasPrefix(token, "/"):
		return strings.Count(token, "/") > 1
	}
	return len(token) > 3 && token[1] == ':' && token[2] == '\\'
}

func isNumber(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}
