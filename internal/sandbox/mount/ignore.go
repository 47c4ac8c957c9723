package mount

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
)

// A pattern is a line of a .gitignore. It matches what git matches, gitignore(5), byte for byte; a regular expression
// takes time linear in its text, even if an attacker wrote it.
type pattern struct {
	include bool // it shows again what one before it has left out
	dirs    bool // only folders
	whole   bool // it is about paths, else about names
	suffix  string
	literal string
	re      *regexp.Regexp
	steps   int // at most, that it takes for each byte of what it is compared with; 0 is one for all of them
}

// parsePatterns reads a .gitignore, whose letters are of any case or of the one that is written.
func parsePatterns(data []byte, anyCase bool) (list []pattern) {
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if p, ok := parsePattern(text, anyCase); ok {
			list = append(list, p)
		}
	}
	return list
}

func parsePattern(text string, anyCase bool) (p pattern, ok bool) {
	if strings.HasPrefix(text, "#") {
		return p, false
	}
	text = trimSpaces(text)
	text, p.include = strings.CutPrefix(text, "!")
	text, p.dirs = strings.CutSuffix(text, "/")
	p.whole = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return p, false
	}
	if !anyCase && !strings.ContainsAny(text, wild) {
		p.literal = text
		return p, true
	}
	if rest, ok := strings.CutPrefix(text, "*"); !anyCase && ok && !p.whole && !strings.ContainsAny(rest, wild) {
		p.suffix = rest
		return p, true
	}
	expression, ok := translate(latin1(text), p.whole, anyCase)
	if !ok {
		return p, false
	}
	re, err := regexp.Compile(expression)
	p.re, p.steps = re, 1+strings.Count(text, "*")
	return p, err == nil
}

// wild are the characters that do not stand for themselves.
const wild = `*?[\`

// systemsCase is core.ignoreCase as git sets it where file systems are of one kind or the other.
const systemsCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// ignoreCase is a repository's core.ignoreCase, by its config: git-config(1). What that includes is not read.
func ignoreCase(config []byte) bool {
	all := ignoreCaseKey().FindAllSubmatch(config, -1)
	if len(all) == 0 {
		return systemsCase
	}
	last := all[len(all)-1]
	switch strings.ToLower(string(last[2])) {
	case "", "false", "no", "off", "0":
		return len(last[1]) == 0 // a name alone is true
	}
	return true
}

// No other section has a key of this name.
var ignoreCaseKey = lazyregexp.New(`(?im)(?:^|\])[ \t]*ignorecase[ \t]*(?:(=)[ \t]*"?(\w*)"?[ \t]*)?\r?(?:[#;].*)?$`)

// trimSpaces leaves out the spaces at a line's end, but for one behind a backslash.
func trimSpaces(text string) string {
	trimmed := strings.TrimRight(text, " ")
	before := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if before%2 == 1 && len(trimmed) < len(text) {
		return trimmed + " "
	}
	return trimmed
}

// matches tells whether the pattern is about a path, of which name is the last element, and how many steps that took at
// most.
func (p *pattern) matches(path, name string, dir bool) (is bool, steps int) {
	text := name
	if p.whole {
		text = path
	}
	return (dir || !p.dirs) && p.matchesText(text), 1 + p.steps*len(text)
}

func (p *pattern) matchesText(text string) bool {
	switch {
	case p.literal != "":
		return text == p.literal
	case p.re != nil:
		return p.re.MatchString(latin1(text))
	}
	return strings.HasSuffix(text, p.suffix)
}

// latin1 makes a character of each byte: git compares bytes.
func latin1(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			runes := make([]rune, len(s))
			for i := range len(s) {
				runes[i] = rune(s[i])
			}
			return string(runes)
		}
	}
	return s
}

// translate writes a pattern as a regular expression, as wildmatch.c of git reads it (2.39): for any case it
// makes small letters of a text's, and of a pattern's neither those behind a backslash nor single ones of a class. One
// that can match nothing is none.
func translate(p string, whole, anyCase bool) (string, bool) {
	var b strings.Builder
	b.WriteString("(?s)^")
	if anyCase {
		b.WriteString("(?i)")
	}
	runes := []rune(p)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*':
			i = stars(&b, runes, i, whole)
		case '?':
			b.WriteString("[^/]")
		case '[':
			end, ok := class(&b, runes, i, anyCase)
			if !ok {
				return "", false
			}
			i = end
		case '\\':
			i++
			if i == len(runes) || anyCase && isCapital(runes[i]) {
				return "", false
			}
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("$")
	return b.String(), true
}

// stars translates those at i, and returns the last of what it has read.
func stars(b *strings.Builder, p []rune, i int, whole bool) int {
	first := i
	for i+1 < len(p) && p[i+1] == '*' {
		i++
	}
	// Git compares what has no wildcards by itself, and what follows that is a beginning to it.
	starts := !slices.ContainsFunc(p[:first], isWild) || p[first-1] == '/'
	switch rest := p[i+1:]; {
	case !whole || i == first || !starts:
		b.WriteString("[^/]*")
	case len(rest) == 0:
		b.WriteString(".*")
	case rest[0] == '/':
		b.WriteString("(?:.*/)?")
		return i + 1
	case len(rest) > 1 && rest[0] == '\\' && rest[1] == '/':
		b.WriteString(".*")
	default:
		b.WriteString("[^/]*")
	}
	return i
}

func isCapital(c rune) bool { return c >= 'A' && c <= 'Z' }

func isWild(c rune) bool { return strings.ContainsRune(wild, c) }

// class translates the [class] at i, and returns where it ends.
func class(b *strings.Builder, p []rune, i int, anyCase bool) (end int, ok bool) {
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var set strings.Builder
	last := rune(-1) // what a range may begin with
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			if negated {
				set.WriteString("/")
				b.WriteString("[^")
			} else {
				b.WriteString("[")
			}
			b.WriteString(set.String() + "]")
			return i, set.Len() > 0
		case c == '[' && i+1 < len(p) && p[i+1] == ':' && isNamed(p[i+2:]):
			name, _, _ := strings.Cut(string(p[i+2:]), ":]")
			if !posix[name] {
				return 0, false
			}
			set.WriteString("[:" + name + ":]")
			i, last = i+len(name)+4, -1
			continue
		case c == '-' && last >= 0 && i+1 < len(p) && p[i+1] != ']':
			to := p[i+1]
			if i++; to == '\\' {
				if i++; i >= len(p) {
					return 0, false
				}
				to = p[i]
			}
			if last <= to {
				span(&set, last, to)
			}
			i, last = i+1, -1
			continue
		case c == '\\':
			if i++; i >= len(p) {
				return 0, false
			}
			c = p[i]
		}
		if !anyCase || !isCapital(c) {
			span(&set, c, c)
		}
		i, last = i+1, c
	}
}

// isNamed tells whether what follows "[:" is the name of a class.
func isNamed(p []rune) bool {
	end := slices.Index(p, ']')
	return end > 0 && p[end-1] == ':'
}

// span adds the characters of a range to a class, but for the slash.
func span(set *strings.Builder, from, to rune) {
	if from <= '/' && to >= '/' {
		if from < '/' {
			span(set, from, '/'-1)
		}
		if to > '/' {
			span(set, '/'+1, to)
		}
		return
	}
	fmt.Fprintf(set, `\x{%x}-\x{%x}`, from, to)
}

var posix = map[string]bool{
	"alnum": true, "alpha": true, "blank": true, "cntrl": true, "digit": true, "graph": true, "lower": true,
	"print": true, "punct": true, "space": true, "upper": true, "xdigit": true,
}
