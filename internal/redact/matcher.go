package redact

import (
	"encoding/base64"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// matcher finds all forms of all secrets in one pass: it is the automaton of Aho and Corasick (1975), in which a state
// is the longest beginning of a form that the text read so far ends with.
type matcher struct {
	states   []state
	first    [256]int32           // state after one byte
	begins   [1 << 16 / 64]uint64 // bits of what hash makes of the first three bytes of forms
	longest  int                  // bytes of a form
	shortest int                  // bytes of a value
	fold     *[256]byte           // what bytes are found as
}

// state is a node of the trie of forms. Most have one child, so children are a list.
type state struct {
	child, sibling, fail int32
	long                 int32  // bytes of the longest form that ends here and counts anywhere
	short                uint32 // bit n: a form of n bytes ends here that counts as a whole word
	char                 byte
	base64               bool // a long form that ends here is base64
}

// What bytes are found as: exactly has letters of ASCII in whatever case, alike has one for all letters, and for all
// digits.
var exactly, alike = func() (exactly, alike [256]byte) {
	for i := range 256 {
		b := byte(i)
		exactly[i], alike[i] = b, b
		switch {
		case b >= 'A' && b <= 'Z':
			exactly[i], alike[i] = b+'a'-'A', 'a'
		case b >= 'a' && b <= 'z', b >= utf8.RuneSelf:
			alike[i] = 'a'
		case isDigit(b):
			alike[i] = '0'
		}
	}
	return exactly, alike
}()

func newMatcher(values []string, fold *[256]byte) *matcher {
	m := &matcher{states: make([]state, 1), shortest: math.MaxInt, fold: fold}
	for _, v := range values {
		m.shortest = min(m.shortest, len(v))
		short := isShort(v)
		for _, cased := range cases(v) {
			for _, form := range []string{cased, reversed(cased)} {
				m.insert(form, short, false)
				m.insert(strings.ReplaceAll(form, " ", "+"), short, false) // as in the query of a URL
			}
		}
		if short || fold == &alike {
			continue // found by decoding
		}
		for offset := range 3 {
			core := base64Core(v, offset)
			m.insert(core, false, true)
			m.insert(strings.NewReplacer("+", "-", "/", "_").Replace(core), false, true)
		}
	}
	m.link()
	return m
}

// cases are a value as it is written, and in small letters and capitals where folding bytes does not do: where it has
// letters beyond ASCII. As one word a value of few characters may have up to 31 bytes, which a state can tell.
func cases(v string) []string {
	list := []string{v}
	for _, cased := range []string{strings.ToLower(v), strings.ToUpper(v)} {
		if strings.ContainsFunc(v, beyondASCII) && (!isShort(v) || len(cased) < 32) {
			list = append(list, cased)
		}
	}
	return list
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// base64Core is what base64 has of a text that begins so many bytes into a group, without the characters that depend on
// what is before or behind it.
func base64Core(s string, offset int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00\x00"[:offset] + s))
	return encoded[(8*offset+5)/6 : 8*(offset+len(s))/6]
}

func (m *matcher) insert(form string, short, base64 bool) {
	m.longest = max(m.longest, len(form))
	m.begin(form)
	at := int32(0)
	for i := range len(form) {
		next := m.goes(at, m.fold[form[i]])
		if next == 0 {
			next = int32(len(m.states))
			m.states = append(m.states, state{char: m.fold[form[i]], sibling: m.states[at].child})
			m.states[at].child = next
			if at == 0 {
				m.first[m.fold[form[i]]] = next
			}
		}
		at = next
	}
	if s := &m.states[at]; short {
		s.short |= 1 << len(form)
	} else {
		s.long, s.base64 = int32(len(form)), s.base64 || base64
	}
}

// begin notes what a form begins with. One of fewer than three bytes has all that could follow.
func (m *matcher) begin(form string) {
	if len(form) < 3 {
		for b := range 256 {
			m.begin(form + string([]byte{byte(b)}))
		}
		return
	}
	h := m.hash(m.hash(m.hash(0, form[0]), form[1]), form[2])
	m.begins[h/64] |= 1 << (h % 64)
}

// mayBegin says whether a form may begin with three bytes. Most of a text is passed over by that.
func (m *matcher) mayBegin(hash uint16) bool { return m.begins[hash/64]&(1<<(hash%64)) != 0 }

// hash is that of three bytes, of the last and of what the two before it have.
func (m *matcher) hash(before uint16, b byte) uint16 { return before<<6 ^ uint16(m.fold[b]) }

// goes is the state that a byte leads to in the trie, or 0.
func (m *matcher) goes(from int32, b byte) int32 {
	if from == 0 {
		return m.first[b]
	}
	for c := m.states[from].child; c != 0; c = m.states[c].sibling {
		if m.states[c].char == b {
			return c
		}
	}
	return 0
}

// link gives each state the one to go on with where no form continues, and what ends there, too.
func (m *matcher) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := m.states[at].child; c != 0; c = m.states[c].sibling {
			s := &m.states[c]
			if at != 0 {
				s.fail = m.step(m.states[at].fail, s.char)
			}
			f := m.states[s.fail]
			if s.long < f.long {
				s.long, s.base64 = f.long, f.base64
			}
			s.short |= f.short
			queue = append(queue, c)
		}
	}
}

func (m *matcher) step(from int32, b byte) int32 {
	for {
		if next := m.goes(from, b); next != 0 || from == 0 {
			return next
		}
		from = m.states[from].fail
	}
}

// search looks for secrets in texts, in all that they could mean. What it needs for one it uses for the next.
type search struct {
	*matcher
	decodes bool // base64, too, for those that are not found in it as they are
	whole   view
	views   [maxLayers]view // of whole, or each of the one before
	lines   view            // of one of them, without the breaks of lines
	pairs   view            // of one of them, of digits of hex
	found   []span
	covered []span // of the text
	read    int    // bytes, of all views
}

// in looks for what is covered in one text.
func (s *search) in(text string) []span {
	s.whole.text, s.covered = append(s.whole.text[:0], text...), s.covered[:0]
	s.scan(&s.whole, 0, len(text))
	s.unwrapped(&s.whole)
	for _, e := range escapes {
		of := &s.whole
		for i := range s.views {
			v := &s.views[i]
			if !v.decode(of, e.mark, e.decode) {
				break
			}
			s.look(v)
			if e.mark == '\\' {
				s.unwrapped(v)
			}
			of = v
		}
	}
	s.hex()
	if s.decodes {
		s.base64()
	}
	return s.covered
}

// unwrapped looks into a view whose base64 or hex may be in lines.
func (s *search) unwrapped(v *view) {
	if s.lines.unwrap(v) {
		s.look(&s.lines)
		s.hexLines()
	}
}

// look finds what is covered by secrets in a view, where it has something decoded in it: the rest has been looked at.
func (s *search) look(v *view) {
	for i := 0; i < len(v.parts); {
		from, to := s.around(v, i)
		for i++; i < len(v.parts); i++ {
			nextFrom, nextTo := s.around(v, i)
			if nextFrom > to {
				break
			}
			to = nextTo
		}
		s.scan(v, from, to)
	}
}

// around is where in a view a secret may be that has some of a part in it.
func (s *search) around(v *view, i int) (from, to int) {
	p := v.parts[i]
	return max(0, int(p.at)-s.longest), min(len(v.text), int(p.at+p.length)+s.longest)
}

// scan finds what is covered by secrets in a part of a view.
func (s *search) scan(v *view, from, to int) {
	found := s.found[:0]
	add := func(from, to int) { // what is found later ends later
		for len(found) > 0 && found[len(found)-1].from >= from {
			found = found[:len(found)-1]
		}
		if n := len(found) - 1; n >= 0 && from < found[n].to {
			found[n].to = to
			return
		}
		found = append(found, span{from, to})
	}
	s.read += to - from
	at, ahead := int32(0), uint16(0)
	for i := from; i < min(from+2, len(v.text)); i++ {
		ahead = s.hash(ahead, v.text[i])
	}
	for i := from; i < to; i++ {
		if i+2 < len(v.text) {
			ahead = s.hash(ahead, v.text[i+2])
			if at == 0 && !s.mayBegin(ahead) {
				continue
			}
		}
		if at = s.step(at, s.fold[v.text[i]]); at == 0 {
			continue
		}
		state := &s.states[at]
		end := i + 1
		if state.long > 0 && !v.words {
			add(end-int(state.long), end)
			if state.base64 { // the characters beside have some bits of it
				add(widened(v.text, end-int(state.long), end))
			}
		}
		for set := state.short; set != 0; {
			n := bits.Len32(set) - 1
			set &^= 1 << n
			if wordAt(v.text[:end-n], v.text[end-n:]) && wordAt(v.text[:end], v.text[end:]) {
				add(end-n, end)
			}
		}
	}
	for _, f := range found {
		s.covered = append(s.covered, v.source(f))
	}
	s.found = found
}

// widened is a part of a text with the characters of base64 right beside it.
func widened(s []byte, from, to int) (int, int) {
	if from > 0 && isBase64(s[from-1]) {
		from--
	}
	if to < len(s) && isBase64(s[to]) {
		to++
	}
	return from, to
}
