// Package visible shows people texts that code or servers have made.
//
// It owns what is seen of such a text: [Text] and [Line] are for what may be long and is only read, where nothing may
// move a cursor, reorder or hide; [Name] and [Value] are for what a decision is about, where different texts look
// different, and what is cut is cut at the end of a value and counted where nothing in a value can stand. It never
// decides what is secret, which is package redact's, and holds nothing.
package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"codemode/internal/lazyregexp"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// Text writes what a terminal or a parser might act on, or what is not seen, as Python would: \x1b, \r, \u2028.
// Newline and tab stay.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return Hidden(r) || joins(r) }) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		broken := r == utf8.RuneError && n == 1
		if !broken && !hiddenBehind(before, r) {
			b.WriteString(s[i : i+n])
			before = r
		} else {
			b.WriteString(escape(s[i:i+n], 0x100))
			before = 0
		}
		i += n
	}
	return b.String()
}

// hiddenBehind reports whether a character would not be seen behind another: U+FFFD is.
func hiddenBehind(before, r rune) bool {
	return r != utf8.RuneError && Hidden(r) || joins(r) && !joined(before, r)
}

// joins reports whether a character is one of those that only say how the one before it is drawn: the joiners U+200C
// and U+200D, and the first variation selectors. Scripts and emoji are written with them.
func joins(r rune) bool { return r == 0x200c || r == 0x200d || r >= 0xfe00 && r <= 0xfe0f }

// joined reports whether one of them has something to say there: letters of ASCII have no other form, but that digits
// can be emoji; and of several in a row, all but a joiner behind an emoji's selector would carry what nobody sees.
func joined(before, r rune) bool {
	switch {
	case before < utf8.RuneSelf:
		return r >= 0xfe0e && strings.ContainsRune("0123456789#*", before)
	case joins(before):
		return before == 0xfe0f && r == 0x200d
	case r >= 0xfe00 && r < 0xfe0e: // which emoji and most letters have no form for
		return unicode.In(before, varied...)
	}
	return true
}

// varied are what the selectors up to U+FE0D choose among forms of (StandardizedVariants.txt of Unicode 17).
var varied = []*unicode.RangeTable{
	unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean, unicode.Egyptian_Hieroglyphs,
}

// escape writes a character, or a byte that is none, as Python and shells do: those below bytes as a byte.
func escape(char string, bytes rune) string {
	switch r, n := utf8.DecodeRuneInString(char); {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, char[0])
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < bytes:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// Line is a text in one line that a terminal shows as it is.
func Line(text string) string { return lineSpace.Replace(Text(text)) }

var lineSpace = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Values is a JSON value whose strings and names have no characters that are not seen, but for ends of lines and tabs,
// for who decodes it: with an escape of JSON's they would be there again. Half a surrogate pair, which strict parsers
// refuse, becomes U+FFFD.
func Values(value json.RawMessage) json.RawMessage {
	var out []byte
	done := 0
	for from := 0; from < len(value); from++ {
		if value[from] != '"' {
			continue
		}
		to := from + 1
		plain := true
		for ; to < len(value) && value[to] != '"'; to++ {
			plain = plain && value[to] < utf8.RuneSelf
			if value[to] == '\\' {
				plain, to = false, to+1
			}
		}
		var text string
		if !plain && json.Unmarshal(value[from:min(to+1, len(value))], &text) == nil {
			lines := strings.Split(text, "\r")
			for i := range lines {
				lines[i] = Text(lines[i])
			}
			shown, _ := json.Marshal(strings.Join(lines, "\r")) // a text never fails
			out = append(append(out, value[done:from]...), shown...)
			done = to + 1
		}
		from = to
	}
	if done == 0 {
		return value
	}
	return append(out, value[min(done, len(value)):]...)
}

// JSON writes the same characters as JSON's own escapes; they only stand in its strings.
func JSON(s string) string {
	var b []byte
	before := rune(0)
	for _, r := range s {
		if hiddenBehind(before, r) {
			b, before = appendEscape(b, r), 0
		} else {
			b, before = utf8.AppendRune(b, r), r
		}
	}
	return string(b)
}

// Hidden reports whether a character would not be seen as itself: control characters, line separators, marks that
// reorder text (Unicode TR 36), whatever a reader may ignore, and what is not UTF-8. What joins is not among them.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x7f:
		return r < 0x20
	case joins(r), unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || ignorable(r)
}

// ignorable reports whether displays may leave a character out: Default_Ignorable_Code_Point but for the formats (Cf).
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// blank are characters that are drawn as nothing though no property of Unicode says so.
var blank = map[rune]bool{
	'\u2800': true, '\U00013441': true, '\U00013442': true, '\U00016fe4': true, '\U0001d159': true,
}

// Blank reports whether a character is drawn as nothing, and is neither a space nor [Hidden].
func Blank(r rune) bool { return blank[r] }

// alike are signs that look like one of ASCII, and that no property of Unicode tells apart from others: hyphens,
// slashes, a colon, a comma, quotes (confusables of Unicode TR 39).
var alike = map[rune]bool{
	'\u2010': true, '\u2011': true, '\u2012': true, '\u2043': true,
	'\u2212': true, '\u2044': true, '\u2215': true, '\u29f8': true,
	'\u2236': true, '\ua789': true, '\u201a': true, '\u2032': true, '\u2035': true, '\u2217': true, '\u223c': true,
}

// isASCII says whether a character is another form of ones of ASCII, such as a full width letter or a ligature. Those
// that are raised or lowered, and signs such as that of a trade mark, look like none.
func isASCII(r rune) bool {
	if r < 0x100 || r >= 0x2070 && r < 0x20a0 || r >= 0x2116 && r <= 0x2122 {
		return false
	}
	form := norm.NFKC.String(string(r))
	return !strings.ContainsFunc(form, func(r rune) bool { return r >= utf8.RuneSelf })
}

// maxMarks is how many marks a letter may have. Tibetan stacks need four.
const maxMarks = 4

// evident reports whether a character is seen as itself, in its place, and as no other: not what is blank, may be left
// out, or is written from right to left, which rearranges what stands beside it. A mark must belong to the script of
// the letter before it; an é of two characters is another text than one of one.
func evident(r, letter rune, marks int) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r < 0x7f
	case !unicode.IsPrint(r), r == utf8.RuneError, ignorable(r), blank[r], alike[r], isASCII(r):
		return false
	case unicode.Is(unicode.M, r):
		return marks < maxMarks && sameScript(letter, r)
	}
	p, _ := bidi.LookupRune(r)
	return p.Class() != bidi.R && p.Class() != bidi.AL && p.Class() != bidi.AN
}

// Word is a text whose characters are all seen as themselves, as it is; plain is false where some are not. Those are
// written as between the $' and ' of a shell, and so are backslashes and quotes then.
func Word(s string) (shown string, plain bool) {
	var b strings.Builder
	plain = true
	var before sight
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch broken := r == utf8.RuneError && n == 1; {
		case broken || !before.sees(r):
			plain = false
			b.WriteString(escape(s[i:i+n], utf8.RuneSelf))
		case r == '\\' || r == '\'':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	if plain {
		return s, true
	}
	return b.String(), false
}

// sight follows a text from one character to the next, for a mark is seen by the letter before it. Its zero value is
// before the first.
type sight struct {
	letter rune
	marks  int    // it has so far
	text   string // the letter and its marks
}

// sees reports whether the next character is evident, and no part of a text that Unicode takes for the same as another:
// a sign of Kelvin is a K, a syllable of Hangul is its letters (UAX #15).
func (s *sight) sees(r rune) bool {
	text := s.text + string(r)
	switch ok := evident(r, s.letter, s.marks) && (r < utf8.RuneSelf || norm.NFC.IsNormalString(text)); {
	case !ok:
		*s = sight{}
	case unicode.Is(unicode.M, r):
		s.marks++
		s.text = text
	default:
		*s = sight{letter: r, text: string(r)}
	}
	return s.letter != 0
}

func sameScript(a, b rune) bool {
	for _, script := range unicode.Scripts {
		if unicode.Is(script, b) {
			return unicode.Is(script, a)
		}
	}
	return false
}

// appendEscape appends JSON's escape of a character.
func appendEscape(b []byte, r rune) []byte {
	for _, unit := range utf16.Encode([]rune{r}) {
		b = fmt.Appendf(b, `\u%04x`, unit)
	}
	return b
}

// MaxName is how many bytes of a name are shown.
const MaxName = 256

var simpleName = lazyregexp.New(`^[A-Za-z0-9_./:@-]+$`)

// Name shows the name of a server or tool; as a string of JSON, where it is not simple.
func Name(name string) string {
	if len(name) <= MaxName && simpleName().MatchString(name) {
		return name
	}
	quoted, _ := json.Marshal(name) // of broken UTF-8 it makes U+FFFD, which no name of a message of JSON has
	return string(appendString(nil, quoted[1:len(quoted)-1], MaxName))
}

// Call shows which tool of which server is called: the server is what stands before the first dot, or in the quotes
// that it begins with.
func Call(server, tool string) string { return Server(server) + "." + Name(tool) }

// Server shows the name of a server behind which a dot and a tool's follow.
func Server(name string) string {
	if strings.Contains(name, ".") && simpleName().MatchString(name) {
		return string(appendString(nil, []byte(name), MaxName))
	}
	return Name(name)
}

// Value shows a value as it was sent, in one line: its members in their order, its numbers as they were written, its
// strings in one way of the many that JSON has. What needs more than limit bytes has its long strings cut; where that
// is not enough, what follows the last value that fits is left out.
func Value(value json.RawMessage, limit int) string {
	if len(value) == 0 {
		return "nothing"
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		quoted, _ := json.Marshal(string(value))
		return "no JSON: " + string(appendString(nil, quoted[1:len(quoted)-1], limit))
	}
	for _, most := range []int{limit, limit / 2, limit / 4, limit / 8, limit / 16} {
		if shown, left := appendValues(nil, compact.Bytes(), most, limit); left == 0 {
			return string(shown)
		}
	}
	shown, left := appendValues(nil, compact.Bytes(), limit/16, limit)
	return string(appendLeftOut(shown, left))
}

// appendValues appends what there is of compact JSON, strings and numbers of at most most bytes, until limit is
// reached. It returns how many bytes are left, of which the first is none of a value that has begun.
func appendValues(shown, from []byte, most, limit int) (_ []byte, left int) {
	for len(from) > 0 {
		before := len(shown)
		n := tokenLength(from)
		switch {
		case from[0] == '"':
			shown = appendString(shown, from[1:n-1], most)
		case n > most:
			shown = appendLeftOut(append(shown, from[:most]...), n-most)
		default:
			shown = append(shown, from[:n]...)
		}
		if len(shown) > limit && before > 0 {
			return shown[:before], len(from)
		}
		from = from[n:]
	}
	return shown, 0
}

// tokenLength is the length of the token that compact JSON begins with.
func tokenLength(from []byte) int {
	switch from[0] {
	case '"':
		for i := 1; ; i++ {
			if from[i] == '\\' {
				i++
			} else if from[i] == '"' {
				return i + 1
			}
		}
	case '{', '}', '[', ']', ':', ',':
		return 1
	}
	if n := bytes.IndexAny(from, ",:]}"); n >= 0 {
		return n
	}
	return len(from)
}

// appendString appends a string of JSON, given as what stands between its quotes, as far as limit bytes show it.
func appendString(shown, from []byte, limit int) []byte {
	shown = append(shown, '"')
	begin, before := len(shown), sight{}
	for len(from) > 0 {
		r, n, whole := character(from)
		end, seen := len(shown), whole && before.sees(r)
		if !whole {
			before = sight{}
		}
		switch {
		case !whole && n == 1:
			shown = fmt.Appendf(shown, `\x%02x`, from[0])
		case !whole: // half of a pair, which is no character
			shown = append(shown, bytes.ToLower(from[:n])...)
		case r == '"' || r == '\\':
			shown = append(shown, '\\', byte(r))
		case r == '\n':
			shown = append(shown, '\\', 'n')
		case r == '\t':
			shown = append(shown, '\\', 't')
		case seen:
			shown = utf8.AppendRune(shown, r)
		default:
			shown = appendEscape(shown, r)
		}
		if len(shown)-begin > limit {
			return appendLeftOut(append(shown[:end], '"'), len(from))
		}
		from = from[n:]
	}
	return append(shown, '"')
}

// character is the one that stands first in a string of JSON, in how many bytes, and whether it is one.
func character(from []byte) (r rune, n int, whole bool) {
	if from[0] != '\\' {
		r, n = utf8.DecodeRune(from)
		return r, n, r != utf8.RuneError || n > 1
	}
	n = 2
	if from[1] == 'u' {
		n = 6
		if len(from) >= 12 && from[6] == '\\' && from[7] == 'u' {
			n = 12
		}
	}
	var s string
	if json.Unmarshal(fmt.Appendf(nil, `"%s"`, from[:n]), &s) != nil {
		return 0, n, false // valid JSON has none
	}
	r, size := utf8.DecodeRuneInString(s)
	if n == 12 && size != len(s) {
		n = 6 // two that are no pair
	}
	return r, n, r != utf8.RuneError || bytes.EqualFold(from[:n], []byte(`\ufffd`))
}

// appendLeftOut says how much is not shown, outside of quotes, where no value can say it.
func appendLeftOut(shown []byte, n int) []byte { return fmt.Appendf(shown, "<%d bytes not shown>", n) }
