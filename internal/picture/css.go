package picture

import (
	"fmt"
	"strings"

	"codemode/internal/lazyregexp"
	"codemode/internal/visible"
)

// stylesheet checks the text of a style element: rules with plain selectors, and no references at all.
func stylesheet(text string) (string, error) {
	var out strings.Builder
	for rest := strings.TrimSpace(text); rest != ""; {
		selector, after, opened := strings.Cut(rest, "{")
		body, next, closed := strings.Cut(after, "}")
		if !opened || !closed || !selectors().MatchString(selector) {
			return "", fmt.Errorf("its style sheet has %.40q, which is no plain rule", rest)
		}
		list, refers, err := declarations(body)
		if err != nil {
			return "", err
		}
		if len(refers) > 0 {
			return "", fmt.Errorf("its style sheet refers to %q", refers[0].id)
		}
		out.WriteString(strings.TrimSpace(selector) + "{" + list + "}")
		rest = strings.TrimSpace(next)
	}
	return out.String(), nil
}

// selectors are of elements, classes and ids. Those by state (:visited, :hover) or by attribute are refused: they can
// depend on who looks.
var selectors = lazyregexp.New(`^[\w*.#,>+~\s-]+$`)

// reference is to an element, by a property or an attribute.
type reference struct{ property, id string }

// declarations keeps those of known properties, and returns what they refer to.
func declarations(text string) (list string, refers []reference, err error) {
	var kept []string
	for declaration := range strings.SplitSeq(text, ";") {
		property, value, ok := strings.Cut(declaration, ":")
		property = strings.ToLower(strings.TrimSpace(property))
		if found, err := references(property, declaration); err != nil {
			return "", nil, err // also of one that would be left out: where one ends is a question to each parser
		} else if ok && properties[property] {
			kept = append(kept, property+":"+strings.TrimSpace(value))
			refers = append(refers, found...)
		}
	}
	return strings.Join(kept, ";"), refers, nil
}

// checkCSS refuses what could be read as something else than it looks: escapes, comments, other rules, other markup.
func checkCSS(value string) error {
	odd := func(r rune) bool {
		return r != '\r' && visible.Hidden(r) || strings.ContainsRune(`\@<>{}`, r)
	}
	if strings.ContainsFunc(value, odd) || strings.Contains(value, "/*") {
		return fmt.Errorf("%.40q has a character that does not belong into a drawing", value)
	}
	return nil
}

// references returns what a property's value refers to, and refuses functions that could fetch something.
func references(property, value string) (refers []reference, err error) {
	if err := checkCSS(value); err != nil {
		return nil, err
	}
	for rest := value; ; {
		at := strings.IndexByte(rest, '(')
		if at < 0 {
			return refers, nil
		}
		word := strings.TrimRight(rest[:at], " \t\r\n") // in a transform there may be some before the parenthesis
		name := word[strings.LastIndexAny(word, " \t\r\n,:;'\"()!/")+1:]
		rest = rest[at:]
		switch name = strings.ToLower(name); {
		case functions[name]:
			rest = rest[1:]
		case name == "url":
			id := fragment().FindStringSubmatch(rest)
			if id == nil {
				return nil, fmt.Errorf("%.40q refers to something outside of the drawing", name+rest)
			}
			refers = append(refers, reference{property, id[1]})
			rest = rest[len(id[0]):]
		default:
			return nil, fmt.Errorf("%.40q is none of the functions that only draw", name+"()")
		}
	}
}

var (
	idPattern = lazyregexp.New(`^[\w.:-]+$`)
	fragment  = lazyregexp.New(`^\(\s*["']?#([\w.:-]+)["']?\s*\)`)
)
