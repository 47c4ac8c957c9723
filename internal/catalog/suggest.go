package catalog

import (
	"strings"
	"unicode/utf8"

	"github.com/sahilm/fuzzy"
)

// Suggest returns the candidate that name was most likely meant to be, or "" when none is near.
func Suggest(name string, candidates []string) string {
	name = beginning(name, maxLetters)
	typed := fold(name)
	if typed == "" {
		return ""
	}
	letters := utf8.RuneCountInString(typed)
	best, least := "", letters/3+1 // of two letters none may be wrong, of three one
	for _, c := range candidates {
		if abs(lettersIn(c)-letters) >= least {
			continue
		}
		if d := distance(typed, fold(c), least); d < least {
			best, least = c, d
		}
	}
	if best != "" {
		return best
	}
	if letters < 3 {
		return begun(typed, candidates)
	}
	// Nothing is misspelt that way; perhaps it is short for something: "fsys" for "filesystem".
	if matches := fuzzy.Find(name, candidates); len(matches) > 0 && matches[0].Score > 0 {
		return matches[0].Str
	}
	return ""
}

// begun is the one candidate that begins so; "" where there is none or several.
func begun(typed string, candidates []string) (only string) {
	for _, c := range candidates {
		switch {
		case !strings.HasPrefix(fold(c), typed):
		case only != "":
			return ""
		default:
			only = c
		}
	}
	return only
}

// beginning is at most n characters of a text.
func beginning(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// fold makes names equal that differ in case and punctuation alone.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if isPunctuation(r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// lettersIn is how many letters are left of a name when it is folded.
func lettersIn(name string) (n int) {
	for _, r := range name {
		if !isPunctuation(r) {
			n++
		}
	}
	return n
}

func isPunctuation(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == '.' }

// distance is the number of edits between two words: a letter more, less, changed, or two swapped. It is at
// most limit.
func distance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if abs(len(s)-len(t)) >= limit {
		return limit
	}
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(t)], limit)
}

func abs(n int) int { return max(n, -n) }
