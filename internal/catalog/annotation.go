package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	maxDepth      = 8   // levels of nesting an annotation or a schema's references are followed
	maxNodes      = 400 // schemas one annotation may visit: references can multiply
	maxAnnotation = 200 // bytes; beyond, inner levels are left out: the signature is for reading
	maxLiterals   = 24  // values of an enumeration shown
)

// annotate returns the Python annotation for values that fit a schema within a root that its references name.
func annotate(root, schema gjson.Result) string {
	return newConverter(root).annotation(schema)
}

// A converter turns JSON Schema into Python annotations. It understands what servers are seen to send, and
// calls everything else Any: an annotation is documentation, and the server has the last word.
type converter struct {
	root  gjson.Result
	open  map[string]bool         // references being followed
	found map[string]gjson.Result // references resolved before
	nodes int                     // visits left
}

func newConverter(root gjson.Result) *converter {
	return &converter{root: root, open: map[string]bool{}, found: map[string]gjson.Result{}}
}

// annotation returns the annotation for a schema, with as many levels as fit.
func (c *converter) annotation(schema gjson.Result) string {
	for depth := maxDepth; ; depth-- {
		c.nodes = maxNodes
		a := c.types(schema, depth).String()
		if len(a) <= maxAnnotation || depth == 0 {
			return a
		}
	}
}

// A union is the alternatives of an annotation. The empty one is Any.
type union []string

// anything is the annotation of a value nothing is known of.
var anything union

func (u union) String() string {
	if len(u) == 0 {
		return "Any"
	}
	return strings.Join(u, " | ")
}

// join returns the union of unions: each alternative once, None last.
func join(unions []union) union {
	var all union
	null := false
	for _, u := range unions {
		if len(u) == 0 {
			return anything
		}
		for _, t := range u {
			if t == "None" {
				null = true
			} else if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	if null {
		all = append(all, "None")
	}
	return all
}

func (c *converter) types(schema gjson.Result, depth int) union {
	if c.nodes--; !schema.IsObject() || depth < 0 || c.nodes < 0 {
		return anything
	}
	u := c.plain(schema, depth)
	if member(schema, "nullable").Type == gjson.True {
		u = join([]union{u, {"None"}})
	}
	return u
}

// plain is types without OpenAPI's nullable.
func (c *converter) plain(schema gjson.Result, depth int) union {
	if ref := member(schema, "$ref"); ref.Type == gjson.String {
		return c.follow(ref.Str, depth)
	}
	if value := member(schema, "const"); value.Exists() {
		return literals([]gjson.Result{value})
	}
	if values := member(schema, "enum"); values.IsArray() {
		return literals(values.Array())
	}
	switch kind := member(schema, "type"); {
	case kind.Type == gjson.String:
		return c.named(kind.Str, schema, depth)
	case kind.IsArray() && len(kind.Array()) > 0:
		return c.alternatives(kind, func(name gjson.Result) union { return c.named(name.String(), schema, depth) })
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if parts := member(schema, word); parts.IsArray() {
			return c.alternatives(parts, func(part gjson.Result) union { return c.types(part, depth) })
		}
	}
	if parts := member(schema, "allOf"); parts.IsArray() {
		return c.all(parts, depth)
	}
	switch {
	case member(schema, "properties").IsObject():
		return union{"dict"}
	case member(schema, "items").IsObject():
		return c.named("array", schema, depth)
	}
	return anything
}

// alternatives is the union over the elements of a list.
func (c *converter) alternatives(list gjson.Result, f func(gjson.Result) union) union {
	var parts []union
	elements(list, func(part gjson.Result) { parts = append(parts, f(part)) })
	return join(parts)
}

// all is what every part of an allOf agrees on: usually one part has a type and the others narrow it.
func (c *converter) all(parts gjson.Result, depth int) union {
	u := anything
	elements(parts, func(part gjson.Result) {
		if u == nil {
			u = c.types(part, depth)
		}
	})
	return u
}

func (c *converter) named(name string, schema gjson.Result, depth int) union {
	switch name {
	case "string":
		return union{"str"}
	case "integer":
		return union{"int"}
	case "number":
		return union{"float"}
	case "boolean":
		return union{"bool"}
	case "null":
		return union{"None"}
	case "array":
		if item := c.types(member(schema, "items"), depth-1); len(item) > 0 {
			return union{"list[" + item.String() + "]"}
		}
		return union{"list"}
	case "object":
		if member(schema, "properties").IsObject() {
			return union{"dict"}
		}
		if value := c.types(member(schema, "additionalProperties"), depth-1); len(value) > 0 {
			return union{"dict[str, " + value.String() + "]"}
		}
		return union{"dict"}
	}
	return anything
}

// follow is the annotation of what a reference names. One that leads back to itself ends in Any.
func (c *converter) follow(ref string, depth int) union {
	if c.open[ref] {
		return anything
	}
	c.open[ref] = true
	defer delete(c.open, ref)
	return c.types(c.resolve(ref), depth)
}

// resolve finds what a reference within the document names: "#/$defs/Issue" (RFC 6901).
func (c *converter) resolve(ref string) gjson.Result {
	at, known := c.found[ref]
	if !known {
		at = pointed(c.root, ref)
		c.found[ref] = at
	}
	return at
}

func pointed(at gjson.Result, ref string) gjson.Result {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return gjson.Result{}
	}
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 {
			continue // what is before the first slash
		}
		step = pointerEscapes.Replace(step)
		if n, err := strconv.Atoi(step); err == nil && at.IsArray() && n >= 0 && n < len(at.Array()) {
			at = at.Array()[n]
		} else {
			at = member(at, step)
		}
	}
	return at
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%20", " ", "%25", "%")

// literals is the annotation of an enumeration: Literal["open", "closed"]. What a Literal cannot hold (PEP 586:
// floats, lists, objects) and what is too long to read shows as its type.
func literals(values []gjson.Result) union {
	length := 0
	for _, v := range values {
		length += len(v.Raw)
	}
	short := len(values) <= maxLiterals && length <= maxAnnotation
	var shown []string
	var others union
	for _, v := range values {
		switch t := kindOf(v); {
		case short && (t == "str" || t == "bool" || t == "int"):
			if text := pythonLiteral(v); !slices.Contains(shown, text) {
				shown = append(shown, text)
			}
		default:
			others = append(others, t)
		}
	}
	if len(shown) == 0 {
		return join([]union{others})
	}
	return join([]union{append(union{"Literal[" + strings.Join(shown, ", ") + "]"}, others...)})
}

// kindOf is the Python type of a JSON value.
func kindOf(v gjson.Result) string {
	switch {
	case v.Type == gjson.Null:
		return "None"
	case v.Type == gjson.String:
		return "str"
	case v.IsBool():
		return "bool"
	case v.IsArray():
		return "list"
	case v.IsObject():
		return "dict"
	case strings.ContainsAny(v.Raw, ".eE"):
		return "float"
	}
	return "int"
}
