package catalog

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// maxReference is the longest reference that is followed, in bytes.
const maxReference = 500

// resolve finds what a reference within the document names: "#/$defs/Issue" (RFC 6901).
func (c *converter) resolve(ref string) gjson.Result {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || len(ref) > maxReference {
		return gjson.Result{}
	}
	return c.at(pointer)
}

// at is the place a pointer leads to. Both places and the members of what they are in are remembered: a document with
// many definitions is read once.
func (c *converter) at(pointer string) gjson.Result {
	slash := strings.LastIndexByte(pointer, '/')
	if slash < 0 {
		return c.root // what is before the first slash
	}
	if at, known := c.found[pointer]; known {
		return at
	}
	within, step := pointer[:slash], pointerEscapes.Replace(pointer[slash+1:])
	members, known := c.members[within]
	if !known {
		members = map[string]gjson.Result{}
		number := 0
		if whole := c.at(within); whole.IsObject() || whole.IsArray() {
			whole.ForEach(func(key, value gjson.Result) bool {
				name := key.String()
				if whole.IsArray() {
					name = strconv.Itoa(number)
					number++
				}
				members[name] = value
				return true
			})
		}
		c.members[within] = members
	}
	c.found[pointer] = members[step]
	return members[step]
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%20", " ", "%25", "%")
