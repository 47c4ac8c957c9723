package catalog

import (
	"strings"
	"unicode"
)

// words splits text and identifiers into the stems that search compares: listIssues, list_issues and "lists an
// issue" all have "list" and "issu". Scripts that write no spaces give pairs of neighbouring characters.
func words(text string) []string {
	var stems []string
	runes := []rune(text)
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case unspaced(r):
			j := span(runes, i, unspaced)
			stems = append(stems, pairs(runes[i:j])...)
			i = j
		case unicode.IsLetter(r), unicode.IsDigit(r):
			j := wordEnd(runes, i)
			if w := strings.ToLower(string(runes[i:j])); !stopWords[w] {
				stems = append(stems, stem(w))
			}
			i = j
		default:
			i++
		}
	}
	return stems
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func span(runes []rune, i int, in func(rune) bool) int {
	for i < len(runes) && in(runes[i]) {
		i++
	}
	return i
}

func pairs(runes []rune) []string {
	if len(runes) == 1 {
		return []string{string(runes)}
	}
	var all []string
	for i := range len(runes) - 1 {
		all = append(all, string(runes[i:i+2]))
	}
	return all
}

// wordEnd finds where a word of an identifier ends: at a change to upper case (createIssue), before the last
// capital of several (HTTPServer), between letters and digits.
func wordEnd(runes []rune, i int) int {
	for j := i + 1; j < len(runes); j++ {
		last, r := runes[j-1], runes[j]
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r), unspaced(r),
			unicode.IsDigit(r) != unicode.IsDigit(last),
			unicode.IsUpper(r) && unicode.IsLower(last),
			unicode.IsUpper(r) && unicode.IsUpper(last) && j+1 < len(runes) && unicode.IsLower(runes[j+1]):
			return j
		}
	}
	return len(runes)
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
