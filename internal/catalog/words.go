package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// words splits text and identifiers into the stems that search compares: listIssues, list_issues and "lists an
// issue" all have "list" and "issu".
func words(text string) []string {
	var stems []string
	split(text, func(word string) {
		if s := normal(word); s != "" {
			stems = append(stems, s)
		}
	})
	return stems
}

// normal is what stands for all forms of a word: its stem; nothing for a word that says nothing.
func normal(word string) string {
	word = strings.ToLower(word)
	if stopWords[word] {
		return ""
	}
	return stem(word)
}

// split calls found for each word of text and identifiers, as it is written. Scripts that write no spaces give pairs of
// neighbouring characters.
func split(text string, found func(word string)) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unspaced(r):
			j := i + size
			for alone := true; ; alone = false {
				next, width := utf8.DecodeRuneInString(text[j:])
				if !unspaced(next) {
					if alone {
						found(text[i:j])
					}
					i = j
					break
				}
				found(text[i : j+width])
				i, j = j, j+width
			}
		case unicode.IsLetter(r), unicode.IsDigit(r):
			j := wordEnd(text, i)
			found(text[i:j])
			i = j
		default:
			i += size
		}
	}
}

func unspaced(r rune) bool {
	return r >= '\u0e00' && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// wordEnd finds where a word of an identifier ends: at a change to upper case (createIssue), before the last
// capital of several (HTTPServer), between letters and digits.
func wordEnd(text string, i int) int {
	last, size := utf8.DecodeRuneInString(text[i:])
	for j := i + size; j < len(text); j += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[j:])
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r), unspaced(r),
			unicode.IsDigit(r) != unicode.IsDigit(last),
			unicode.IsUpper(r) && unicode.IsLower(last):
			return j
		case unicode.IsUpper(r) && unicode.IsUpper(last):
			if next, _ := utf8.DecodeRuneInString(text[j+size:]); unicode.IsLower(next) {
				return j
			}
		}
		last = r
	}
	return len(text)
}

// stem cuts the endings that English words of tools come in. It need not find a word, only the same stem
// for the forms of one.
func stem(w string) string {
	for _, e := range endings {
		if base, ok := strings.CutSuffix(w, e.suffix); ok && len(base) >= e.least {
			w = base + e.instead
			break
		}
	}
	if n := len(w); n > 4 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		w = w[:n-1] // planned, planning
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// endings are tried in this order; least is how many bytes must remain.
var endings = []struct {
	suffix, instead string
	least           int
}{
	{"ations", "", 4},
	{"ation", "", 4},
	{"ating", "", 4},
	{"ators", "", 4},
	{"ator", "", 4},
	{"ated", "", 4},
	{"ates", "", 4},
	{"ate", "", 4},
	{"nesses", "", 3},
	{"ness", "", 4},
	{"ments", "", 4},
	{"ment", "", 4},
	{"ies", "y", 2},
	{"ings", "", 3},
	{"ing", "", 3},
	{"sses", "ss", 2},
	{"ches", "ch", 2},
	{"shes", "sh", 2},
	{"xes", "x", 2},
	{"ied", "y", 2},
	{"ers", "", 4},
	{"er", "", 4},
	{"ed", "", 3},
	{"ly", "", 4},
	{"es", "e", 3},
	{"ss", "ss", 1},
	{"us", "us", 1},
	{"is", "is", 1},
	{"s", "", 3},
}

// stopWords say nothing about a tool.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a an and any are as at be by can do does for from has have how i if in into is it
		its me my need of on or our out please so some such than that the their them then there these this those to
		us use used using via was we what when where which who will with you your`) {
		set[w] = true
	}
	return set
}()
