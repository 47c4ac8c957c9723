package toon

import (
	"fmt"
	"strconv"
	"strings"

	"codemode/internal/lazyregexp"
)

var (
	plainKey    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	numericLike = lazyregexp.New(`^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
)

// primitive writes a string or a literal. A byte order mark that began the document would get lost.
func (e *encoder) primitive(n *node) {
	start := len(e.out) == 0 && strings.HasPrefix(n.value, "\uFEFF")
	if n.kind == text && (start || e.mustQuote(n.value)) {
		e.quote(n.value)
	} else {
		e.put(n.value)
	}
}

// key writes the name of a field.
func (e *encoder) key(name string) {
	if plainKey().MatchString(name) {
		e.put(name)
	} else {
		e.quote(name)
	}
}

// mustQuote says whether s would be read as something else if it stood there as it is.
func (e *encoder) mustQuote(s string) bool {
	switch s {
	case "", "true", "false", "null":
		return true
	}
	switch s[0] {
	case ' ', '-', '#':
		return true
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case ':', '"', '\\', '[', ']', '{', '}', e.opts.Delimiter:
			return true
		default:
			if c < ' ' {
				return true
			}
		}
	}
	return s[len(s)-1] == ' ' || numericLike().MatchString(s)
}

// quote writes s in quotes.
func (e *encoder) quote(s string) {
	e.put(`"`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			e.put(`\` + s[i:i+1])
		case c == '\n':
			e.put(`\n`)
		case c == '\r':
			e.put(`\r`)
		case c == '\t':
			e.put(`\t`)
		case c < ' ':
			e.put(fmt.Sprintf(`\u%04x`, c))
		default:
			e.put(s[i : i+1])
		}
	}
	e.put(`"`)
}

// The magnitudes that are written without an exponent: from 1e-6 to below 1e21.
const (
	minPoint = -5 // digits before the decimal point; negative are zeros after it
	maxPoint = 21
)

// canonical is the canonical form of a JSON number. It works on the digits, so none is lost.
func canonical(number string) string {
	rest, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.ParseInt(rest[i+1:], 10, 32)
		if err != nil && strings.Trim(rest[:i], "0.") != "" {
			return strings.ToLower(number) // too large an exponent to count with
		}
		rest, exponent = rest[:i], int(e)
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := exponent + len(digits) - len(fraction) // where the decimal point is in digits
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0"
	}
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case point < minPoint || point > maxPoint:
		return sign + scientific(digits, point-1)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	default:
		return sign + digits[:point] + "." + digits[point:]
	}
}

// scientific is digits with a point behind the first, and an exponent.
func scientific(digits string, exponent int) string {
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return fmt.Sprintf("%se%+d", digits, exponent)
}
