package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxLeftOut is how long what appendLeftOut says is, up to a gigabyte.
const maxLeftOut = len("<1000000000 bytes not shown>")

// leastCut is how much is shown at least of what stands in a list or an object, where there is room for any of it.
const leastCut = 16

// Members shows a value as [Value] does, whole where it has at most limit bytes. Of a larger object each value is cut
// by itself, so that the names of all members show: short values are whole, and the long ones have equal parts of the
// room. Where there are more members than fit so, it says how many more there are.
func Members(value json.RawMessage, limit int) (shown string, whole bool) {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil || compact.Len() == 0 {
		return Value(value, limit), len(value) == 0
	}
	all := compact.Bytes()
	if shown, whole := entire(all, limit); whole {
		return string(shown), true
	}
	if all[0] != '{' {
		return Value(value, limit), false
	}
	list, more := membersOf(all, limit)
	share := shareOf(list, limit)
	b := []byte("{")
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, m.name...), ':')
		b = appendCut(b, m.value, share)
	}
	if more > 0 {
		b = fmt.Appendf(b, "<%d members not shown>", more)
	}
	return string(append(b, '}')), false
}

// member is one of an object.
type member struct {
	name  []byte // as it is shown
	value []byte
	size  int // bytes of the value as it is shown, or more than there are
}

// entire shows compact JSON whole, if that has at most limit bytes.
func entire(value []byte, limit int) (shown []byte, whole bool) {
	shown, left := appendValues(nil, value, limit, limit)
	return shown, left == 0 && len(shown) <= limit
}

// membersOf returns as many members of an object, which is compact, as have room for their names and for saying that
// their values are cut, and how many more there are.
func membersOf(object []byte, limit int) (list []member, more int) {
	needed := 0
	for rest := object[1:]; rest[0] != '}'; {
		if rest[0] == ',' {
			rest = rest[1:]
		}
		n := tokenLength(rest)
		name, value := rest[1:n-1], rest[n+1:]
		n = valueLength(value)
		value, rest = value[:n], value[n:]
		if more > 0 {
			more++
			continue
		}
		m := member{appendString(nil, name, limit/8), value, limit + 1}
		if shown, whole := entire(value, limit); whole {
			m.size = len(shown)
		}
		if needed += len(m.name) + len(":,") + min(m.size, maxLeftOut); needed > limit {
			more++
			continue
		}
		list = append(list, m)
	}
	return list, more
}

// valueLength is the length of the value that compact JSON begins with.
func valueLength(from []byte) int {
	depth := 0
	for i := 0; ; {
		switch from[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i += tokenLength(from[i:]); depth == 0 {
			return i
		}
	}
}

// shareOf is how many bytes each value may have: what the short ones leave is the others'.
func shareOf(list []member, limit int) int {
	share := 0
	for {
		room, long := limit, 0
		for _, m := range list {
			room -= len(m.name) + len(":,")
			if m.size > share {
				long++
			} else {
				room -= m.size
			}
		}
		if long == 0 || room/long <= share {
			return share
		}
		share = room / long
	}
}

// appendCut appends a value as far as limit bytes show it. What is open where it is cut is closed: what follows does
// not look as if it were inside.
func appendCut(shown, value []byte, limit int) []byte {
	if all, whole := entire(value, limit); whole {
		return append(shown, all...)
	}
	limit = max(0, limit-maxLeftOut)
	least := min(limit, max(limit/16, leastCut))
	for most := limit; most > least; most /= 2 {
		if all, left := appendValues(nil, value, most, limit); left == 0 && len(all) <= limit+maxLeftOut {
			return append(shown, all...)
		}
	}
	part, left := appendValues(nil, value, least, limit)
	if left > 0 {
		part = append(appendLeftOut(part, left), closing(part)...)
	}
	return append(shown, part...)
}

// closing are the brackets that close what is open at the end of what is shown.
func closing(shown []byte) (brackets []byte) {
	for len(shown) > 0 {
		switch shown[0] {
		case '{':
			brackets = append([]byte{'}'}, brackets...)
		case '[':
			brackets = append([]byte{']'}, brackets...)
		case '}', ']':
			brackets = brackets[1:]
		}
		if shown[0] == '"' {
			shown = shown[tokenLength(shown):]
		} else {
			shown = shown[1:]
		}
	}
	return brackets
}
