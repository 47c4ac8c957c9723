package catalog

import (
	"slices"
	"strings"

	"codemode/internal/lazyregexp"

	"github.com/tidwall/gjson"
)

const (
	maxDepth      = 8   // levels of nesting an annotation or a schema's references are followed
	maxNodes      = 400 // schemas one annotation may visit: references can multiply
	rereads       = 10  // how often all of a document may be read for its annotations together; see converter.pay
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
	root gjson.Result
	open map[string]bool // references being followed
	// Pointers followed before, and the members of what they led through.
	found   map[string]gjson.Result
	members map[string]map[string]gjson.Result
	nodes   int  // visits left
	lowest  int  // the fewest levels of depth that were left at any schema
	left    *int // bytes that may still be read; see pay
	// class, where there is one, names the type of an object with these properties; "" leaves it a dict.
	class func(c *converter, schema gjson.Result, depth int) string
	ref   string // the reference that led to the schema at hand
}

func newConverter(root gjson.Result) *converter {
	left := 64<<10 + rereads*len(root.Raw)
	return &converter{
		root: root, open: map[string]bool{}, left: &left,
		found: map[string]gjson.Result{}, members: map[string]map[string]gjson.Result{},
	}
}

// pay says whether a schema may still be read. Many references to the same few, of many parameters, would otherwise
// have a document of some kilobytes be read for a second.
func (c *converter) pay(schema gjson.Result) bool {
	*c.left -= 100 + len(schema.Raw)
	return *c.left >= 0
}

// annotation returns the annotation for a schema, with as many levels as fit.
func (c *converter) annotation(schema gjson.Result) string {
	for depth := maxDepth; ; depth -= max(c.lowest, 1) { // with levels that nothing reaches it would be the same
		c.nodes, c.lowest = maxNodes, depth
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
	c.lowest = min(c.lowest, max(depth, 0))
	if c.nodes--; !schema.IsObject() || depth < 0 || c.nodes < 0 || !c.pay(schema) {
		return anything
	}
	k := factsOf(schema)
	u := c.plain(k, depth)
	if k.nullable.Type == gjson.True {
		u = join([]union{u, {"None"}})
	}
	return u
}

// facts are the members of a schema that an annotation depends on.
type facts struct {
	schema                                            gjson.Result
	ref, constant, enum, kind, nullable               gjson.Result
	anyOf, oneOf, allOf                               gjson.Result
	properties, additionalProperties, items, prefixes gjson.Result
}

func factsOf(schema gjson.Result) facts {
	k := facts{schema: schema}
	schema.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "$ref":
			k.ref = value
		case "const":
			k.constant = value
		case "enum":
			k.enum = value
		case "type":
			k.kind = value
		case "nullable":
			k.nullable = value
		case "anyOf":
			k.anyOf = value
		case "oneOf":
			k.oneOf = value
		case "allOf":
			k.allOf = value
		case "properties":
			k.properties = value
		case "additionalProperties":
			k.additionalProperties = value
		case "items":
			k.items = value
		case "prefixItems":
			k.prefixes = value
		}
		return true
	})
	return k
}

// plain is types without OpenAPI's nullable.
func (c *converter) plain(k facts, depth int) union {
	switch {
	case k.ref.Type == gjson.String:
		return c.follow(k.ref.Str, depth)
	case k.constant.Exists():
		return literals([]gjson.Result{k.constant})
	case k.enum.IsArray():
		return literals(k.enum.Array())
	case k.kind.Type == gjson.String:
		return c.named(k.kind.Str, k, depth)
	case k.kind.IsArray() && len(k.kind.Array()) > 0:
		return c.alternatives(k.kind, func(name gjson.Result) union { return c.named(name.String(), k, depth) })
	case k.anyOf.IsArray():
		return c.alternatives(k.anyOf, func(part gjson.Result) union { return c.types(part, depth) })
	case k.oneOf.IsArray():
		return c.alternatives(k.oneOf, func(part gjson.Result) union { return c.types(part, depth) })
	case k.allOf.IsArray():
		return c.all(k.allOf, depth)
	case k.properties.IsObject():
		return c.object(k.schema, depth)
	case k.items.IsObject(), k.prefixes.IsArray():
		return c.named("array", k, depth)
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

func (c *converter) named(name string, k facts, depth int) union {
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
		if item := c.item(k, depth-1); len(item) > 0 {
			return union{"list[" + item.String() + "]"}
		}
		return union{"list"}
	case "object":
		if k.properties.IsObject() {
			return c.object(k.schema, depth)
		}
		if value := c.types(k.additionalProperties, depth-1); len(value) > 0 {
			return union{"dict[str, " + value.String() + "]"}
		}
		return union{"dict"}
	}
	return anything
}

// object is the annotation of an object with properties of its own.
func (c *converter) object(schema gjson.Result, depth int) union {
	if c.class != nil {
		if name := c.class(c, schema, depth); name != "" {
			return union{name}
		}
	}
	return union{"dict"}
}

// inline is a class hook that shows an object's members where they stand: {from: str, note?: str}. Those with a
// question mark may be left out.
func inline(c *converter, schema gjson.Result, depth int) string {
	properties := member(schema, "properties")
	if depth <= 0 || !properties.IsObject() {
		return ""
	}
	required := requiredKeys(schema)
	var must, may []string
	properties.ForEach(func(key, property gjson.Result) bool {
		text := c.types(property, depth-1).String()
		if required[key.Str] {
			must = append(must, memberText(key.Str)+": "+text)
		} else {
			may = append(may, memberText(key.Str)+"?: "+text)
		}
		return c.nodes > 0
	})
	if len(must)+len(may) == 0 {
		return ""
	}
	return "{" + strings.Join(slices.Concat(must, may), ", ") + "}"
}

func memberText(key string) string {
	if plainMember().MatchString(key) {
		return key
	}
	return quote(key)
}

var plainMember = lazyregexp.New(`^[A-Za-z_$][\w$-]*$`)

// item is what an array holds. A tuple is a list of any of its places' types, because that is what JSON makes of it.
func (c *converter) item(k facts, depth int) union {
	places := k.prefixes
	if k.items.IsArray() { // until 2020-12, when prefixItems came
		places = k.items
	}
	if !places.IsArray() {
		return c.types(k.items, depth)
	}
	of := c.alternatives(places, func(place gjson.Result) union { return c.types(place, depth) })
	if k.items.IsObject() {
		of = join([]union{of, c.types(k.items, depth)})
	}
	return of
}

// follow is the annotation of what a reference names. One that leads back to itself ends in Any.
func (c *converter) follow(ref string, depth int) union {
	if c.open[ref] {
		return anything
	}
	c.open[ref] = true
	defer delete(c.open, ref)
	before := c.ref
	c.ref = ref
	u := c.types(c.resolve(ref), depth)
	c.ref = before
	return u
}

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
