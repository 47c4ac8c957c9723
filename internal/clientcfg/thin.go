package clientcfg

import "bytes"

// largeFile is the size from which most of a file is passed over: ~/.claude.json grows to tens of MB of
// history, of which the servers are some lines.
const largeFile = 256 << 10

// verdict says what thin does with a member.
type verdict int

const (
	drop verdict = iota
	keepIt
	lookInside
)

// keeper judges a member by the names that lead to it.
type keeper func(path []string) verdict

// thin overwrites with blanks what is not kept, so that parsing the rest is quick and every place stays what
// it was. Where it cannot follow the text it stops, and leaves that to the parser.
func thin(data []byte, keep keeper) {
	t := thinner{data: data, keep: keep}
	if t.space(); t.peek() == '{' {
		t.object(nil)
	}
}

type thinner struct {
	data []byte
	at   int
	keep keeper
}

func (t *thinner) peek() byte {
	if t.at < len(t.data) {
		return t.data[t.at]
	}
	return 0
}

// object goes through the members of the object it stands on, and stands behind it then.
func (t *thinner) object(path []string) bool {
	for t.at++; ; {
		switch t.space(); t.peek() {
		case ',':
			t.at++
		case '}':
			t.at++
			return true
		case '"':
			if !t.member(path) {
				return false
			}
		default:
			return false
		}
	}
}

func (t *thinner) member(path []string) bool {
	start := t.at
	t.at = stringEnd(t.data, t.at)
	if t.at-start < 2 {
		return false
	}
	name := literal(t.data[start:t.at])
	if t.space(); t.peek() != ':' {
		return false
	}
	t.at++
	t.space()
	path = append(path, name)
	start = t.at
	what := t.keep(path)
	if what == lookInside && t.peek() == '{' {
		return t.object(path)
	}
	t.at = valueEnd(t.data, t.at)
	if what == drop && t.at > start {
		blank(t.data[start:t.at])
	}
	return t.at > start
}

// space passes white space and comments.
func (t *thinner) space() {
	for t.at < len(t.data) {
		switch t.data[t.at] {
		case ' ', '\t', '\r', '\n':
			t.at++
		case '/':
			end := commentEnd(t.data, t.at)
			if end == t.at {
				return
			}
			t.at = end
		default:
			return
		}
	}
}

// blank makes a value the number 0. Line ends stay, for the places of what follows.
func blank(value []byte) {
	for i, c := range value {
		if c != '\n' {
			value[i] = ' '
		}
	}
	value[0] = '0'
}

// valueEnd is where the value that begins at i ends.
func valueEnd(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of a number, true, false or null
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		case '/':
			if end := commentEnd(data, i); end > i {
				if depth == 0 {
					return i
				}
				i = end
				continue
			}
		}
		i++
	}
	return len(data)
}

// tooDeep returns where the nesting exceeds maxDepth, or -1.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
			continue
		case '/':
			if end := commentEnd(data, i); end > i {
				i = end
				continue
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return -1
}

// stringEnd is behind the closing quote of the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(data)
}

// commentEnd is behind the comment that begins at i, or i where none does.
func commentEnd(data []byte, i int) int {
	end := ""
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(data[i+2:], []byte(end))
	if n < 0 {
		return len(data)
	}
	return i + 2 + n + len(end)
}
