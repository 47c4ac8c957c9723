package redact

import (
	"bytes"
	"html"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as it is once something in it is decoded.
type view struct {
	text  []byte
	of    *view  // that it was decoded from; nil: the text itself
	parts []part // what was decoded, in order; all else is as it was
	words bool   // only short secrets are looked for
}

// part is a decoded one: length bytes of the view from at on, which stood between from and to of what it is a view of.
type part struct{ at, length, from, to int32 }

// source is where in the text a part of a view is from.
func (v *view) source(s span) span {
	for ; v.of != nil; v = v.of {
		first, _ := v.origin(s.from)
		_, last := v.origin(s.to - 1)
		s = span{first, last}
	}
	return s
}

// origin is where a byte of a view is from in what it is a view of.
func (v *view) origin(i int) (from, to int) {
	n := sort.Search(len(v.parts), func(n int) bool { return int(v.parts[n].at) > i })
	if n == 0 {
		return i, i + 1
	}
	p := v.parts[n-1]
	if i < int(p.at+p.length) {
		return int(p.from), int(p.to)
	}
	i += int(p.to - p.at - p.length)
	return i, i + 1
}

// maxLayers is how often an encoding may lie over itself, as JSON in JSON.
const maxLayers = 3

// escapes are the encodings that begin each byte or character with a mark, with plain text between.
var escapes = []struct {
	mark   byte
	decode func(s []byte) (text string, n int) // the n bytes that s begins with, 0 if they are no escape
}{{'\\', escape}, {'%', percent}, {'&', entity}, {'=', quotedPrintable}}

// maxEscape is how many bytes an escape has at most: two of a character beyond the first 65536 in JSON.
const maxEscape = 12

// decode makes v the view of another in which the escapes with a mark are decoded. Of one that has none it is nothing.
func (v *view) decode(of *view, mark byte, decode func([]byte) (text string, n int)) bool {
	s, last := of.text, 0
	v.text, v.of, v.parts = v.text[:0], of, v.parts[:0]
	for i := 0; ; {
		next := bytes.IndexByte(s[i:], mark)
		if next < 0 {
			break
		}
		i += next
		meant, n := decode(s[i:min(len(s), i+maxEscape)])
		if n == 0 {
			i++
			continue
		}
		v.text = append(v.text, s[last:i]...)
		v.parts = append(v.parts, part{int32(len(v.text)), int32(len(meant)), int32(i), int32(i + n)})
		v.text = append(v.text, meant...)
		i += n
		last = i
	}
	v.text = append(v.text, s[last:]...)
	return len(v.parts) > 0
}

// minWrapped is how many characters of base64 a line ends with that goes on in the next: encoders break after 64 or 76.
const minWrapped = 16

// unwrap makes v the view of another in which lines of base64 are one. Of one that has none it is nothing.
func (v *view) unwrap(of *view) bool {
	s, last := of.text, 0
	v.text, v.of, v.parts = v.text[:0], of, v.parts[:0]
	for i := 0; ; {
		next := bytes.IndexByte(s[i:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
		end, to := i-1, i
		if end > 0 && s[end-1] == '\r' {
			end--
		}
		for to < len(s) && (s[to] == ' ' || s[to] == '\t') {
			to++
		}
		if to < len(s) && isBase64(s[to]) && isWrapped(s[:end]) {
			v.text = append(v.text, s[last:end]...)
			v.parts = append(v.parts, part{int32(len(v.text)), 0, int32(end), int32(to)})
			last = to
		}
	}
	v.text = append(v.text, s[last:]...)
	return len(v.parts) > 0
}

// isWrapped says whether a line may be one of base64 that goes on in the next.
func isWrapped(line []byte) bool {
	if len(line) < minWrapped {
		return false
	}
	for _, b := range line[len(line)-minWrapped:] {
		if !isBase64(b) {
			return false
		}
	}
	return true
}

// escape decodes one of those that JSON, JavaScript, C, Go and Python write with a backslash.
func escape(s []byte) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	if i := strings.IndexByte("nrtbfav0", s[1]); i >= 0 && !(s[1] == '0' && isOctal(s)) {
		return "\n\r\t\b\f\a\v\x00"[i : i+1], 2
	}
	switch {
	case s[1] == 'x':
		return hexByte(s, 2)
	case s[1] == 'u' && len(s) > 2 && s[2] == '{':
		if end := bytes.IndexByte(s, '}'); end > 0 {
			text, n := hexChar(s, 3, end)
			return text, n + min(n, 1)
		}
		return "", 0
	case s[1] == 'u':
		return utf16Escape(s)
	case s[1] == 'U':
		return hexChar(s, 2, 10)
	case isOctal(s) && s[1] < '4':
		return oneByte(int(s[1]-'0')<<6 | int(s[2]-'0')<<3 | int(s[3]-'0')), 4
	case isOctal(s):
		return "", 0
	case s[1] < 'a' || s[1] > 'z': // \" \\ \/ and what needs none
		return string(s[1:2]), 2
	}
	return "", 0
}

// utf16Escape decodes \uXXXX, or two of them that are one character.
func utf16Escape(s []byte) (string, int) {
	high := hexNumber(s, 2, 6)
	if high < 0 {
		return "", 0
	}
	if utf16.IsSurrogate(rune(high)) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if r := utf16.DecodeRune(rune(high), rune(hexNumber(s, 8, 12))); r != utf8.RuneError {
			return string(r), 12
		}
	}
	return string(rune(high)), 6
}

func isOctal(s []byte) bool {
	return len(s) >= 4 && s[1]&^7 == '0' && s[2]&^7 == '0' && s[3]&^7 == '0'
}

// hexChar is the character whose number stands in a part of an escape.
func hexChar(s []byte, from, to int) (string, int) {
	n := hexNumber(s, from, to)
	if n < 0 {
		return "", 0
	}
	return string(rune(n)), to
}

// hexNumber is the number that stands in a part of an escape, or -1.
func hexNumber(s []byte, from, to int) (n int) {
	if to > len(s) || from >= to {
		return -1
	}
	for i := from; i < to; i++ {
		if nibble(s[i]) < 0 {
			return -1
		}
		n = n<<4 | nibble(s[i])
	}
	return n
}

// hexByte is the byte whose two digits stand in an escape.
func hexByte(s []byte, from int) (string, int) {
	if from+2 > len(s) || nibble(s[from]) < 0 || nibble(s[from+1]) < 0 {
		return "", 0
	}
	return oneByte(nibble(s[from])<<4 | nibble(s[from+1])), from + 2
}

func oneByte(b int) string { return string([]byte{byte(b)}) }

func percent(s []byte) (string, int) { return hexByte(s, 1) }

func quotedPrintable(s []byte) (string, int) {
	switch {
	case bytes.HasPrefix(s, []byte("=\r\n")):
		return "", 3
	case bytes.HasPrefix(s, []byte("=\n")):
		return "", 2
	}
	return hexByte(s, 1)
}

func entity(s []byte) (string, int) {
	end := bytes.IndexByte(s, ';')
	if end < 2 || bytes.IndexByte(s[1:end], '&') >= 0 {
		return "", 0
	}
	written := string(s[:end+1])
	text := html.UnescapeString(written)
	if text == written {
		return "", 0
	}
	return text, end + 1
}

// hex looks into what the hex in a text says: digits in pairs, with or without one separator between them.
func (s *search) hex() {
	text := s.whole.text
	for i := 0; i < len(text); i++ {
		if nibble(text[i]) >= 0 {
			i = s.hexFrom(&s.whole, i)
		}
	}
}

// hexLines does so where hex goes on in the next line.
func (s *search) hexLines() {
	text, done := s.lines.text, 0
	for _, p := range s.lines.parts {
		from := int(p.at)
		for from > done && nibble(text[from-1]) >= 0 {
			from--
		}
		if from >= done && nibble(text[from]) >= 0 {
			done = s.hexFrom(&s.lines, from)
		}
	}
}

// hexFrom looks into hex that begins somewhere, and says where it ends. A run of it may begin with a digit that is not
// its own.
func (s *search) hexFrom(of *view, from int) (end int) {
	for skip := range 2 {
		text, v := of.text, &s.pairs
		v.of, v.text, v.parts = of, v.text[:0], v.parts[:0]
		i := from + skip
		for isPair(text, i) {
			v.parts = append(v.parts, part{int32(len(v.text)), 1, int32(i), int32(i + 2)})
			v.text = append(v.text, byte(nibble(text[i])<<4|nibble(text[i+1])))
			i += 2
			if i < len(text) && strings.IndexByte(": -,.", text[i]) >= 0 && isPair(text, i+1) {
				i++
			}
			if bytes.HasPrefix(text[i:], []byte(", 0x")) {
				i += 4
			}
		}
		if len(v.text) >= s.shortest {
			s.look(v)
		}
		end = max(end, i)
	}
	return end
}

func isPair(s []byte, i int) bool { return i+1 < len(s) && nibble(s[i]) >= 0 && nibble(s[i+1]) >= 0 }

// base64 looks for secrets in what the words of a text say as base64, where that is a text: for short ones, and for
// what looks like one. A word may begin with what is not its own, as the slash of a path, so it is read from each of
// its first four characters.
func (s *search) base64() {
	text, v := s.whole.text, &s.views[0]
	v.of, v.words = &s.whole, s.fold == &exactly
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && sextets[text[i]] >= 0 {
			i++
		}
		for from := start; from < min(start+4, i); from++ {
			v.text = fromBase64(v.text[:0], text[from:i])
			if len(v.text) < s.shortest || from > start && len(v.text) < 3 {
				continue
			}
			v.parts = v.parts[:0]
			for n := range len(v.text) {
				v.parts = append(v.parts, part{int32(n), 1, int32(from + n*8/6), int32(from + (n*8+7)/6 + 1)})
			}
			s.look(v)
		}
	}
	v.words = false
}

// fromBase64 appends what a word says, and nothing where that is no text. Its first and its last character may be cut:
// a word need not be whole in the window that is looked at.
func fromBase64(to, word []byte) []byte {
	bits, n := uint(0), uint(0)
	begun, more := 0, 0 // bytes of characters that began before the word, bytes that the character needs
	for i := range len(word) {
		bits, n = bits<<6|uint(sextets[word[i]]), n+6
		if n < 8 {
			continue
		}
		n -= 8
		c := byte(bits >> n)
		switch { // most are no text from the first bytes on
		case more > 0 && c&0xc0 == 0x80:
			more--
		case len(to) == begun && begun < utf8.UTFMax-1 && c&0xc0 == 0x80:
			begun++
		case more > 0, c < ' ' && c != '\n' && c != '\t' && c != '\r', c >= 0x7f && c < 0xc2, c > 0xf4:
			return to[:0]
		case c >= 0xf0:
			more = 3
		case c >= 0xe0:
			more = 2
		case c >= 0xc2:
			more = 1
		}
		to = append(to, c)
	}
	whole := to[begun:]
	for i := max(0, len(whole)-utf8.UTFMax+1); more > 0 && i < len(whole); i++ {
		if !utf8.FullRune(whole[i:]) {
			whole = whole[:i]
		}
	}
	if !utf8.Valid(whole) {
		return to[:0]
	}
	return to
}

// What digits of hex and characters of base64 stand for, and -1 for all else.
var nibbles, sextets = digits("0123456789abcdef", "0123456789ABCDEF"), digits(
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

func digits(alphabets ...string) (of [256]int8) {
	for i := range of {
		of[i] = -1
	}
	for _, alphabet := range alphabets {
		for i := range len(alphabet) {
			of[alphabet[i]] = int8(i)
		}
	}
	return of
}

func nibble(b byte) int { return int(nibbles[b]) }

func isBase64(b byte) bool { return sextets[b] >= 0 }
