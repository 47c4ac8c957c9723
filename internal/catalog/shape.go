package catalog

import (
	"encoding/json"
	"maps"
	"slices"

	"codemode/internal/lazyregexp"

	"github.com/tidwall/gjson"
)

// A Shape is what values have looked like, as a JSON Schema without any of the values: types, names of members, and
// nothing else. What a tool returns is learned as one where the server does not say it.
type Shape struct {
	Types      []string          `json:"type,omitempty"` // sorted
	Properties map[string]*Shape `json:"properties,omitempty"`
	Required   []string          `json:"required,omitempty"` // members that all objects had, sorted
	Items      *Shape            `json:"items,omitempty"`
	Values     *Shape            `json:"additionalProperties,omitempty"` // of an object that is a table
}

const (
	shapeDepth   = 5
	shapeMembers = 60        // members of an object; one with more is a table
	shapeItems   = 50        // elements of a list that are looked at
	shapeNodes   = 400       // parts of a shape, over all depths
	shapeBytes   = 256 << 10 // of a value that is looked at; larger ones are not
)

// memberName is what a member is called by a programmer. An object with other keys is a table, whose keys are data and
// are not kept.
var memberName = lazyregexp.New(`^[@$]?[A-Za-z_][A-Za-z_\-]*[0-9]{0,3}[A-Za-z_\-]{0,40}$`)

// Seen returns the shape of all values of an older one (nil at first) and of one more value, and whether that is
// anything new. The older shape is not changed.
func Seen(old *Shape, value []byte) (shape *Shape, news bool) {
	if len(value) > shapeBytes || !gjson.ValidBytes(value) {
		return old, false
	}
	nodes := shapeNodes
	shape = Either(old, shapeOf(gjson.ParseBytes(value), shapeDepth, &nodes))
	return shape, !shape.equal(old)
}

// shapeOf is the shape of one value, as deep as the levels and as far as the nodes go.
func shapeOf(v gjson.Result, levels int, nodes *int) *Shape {
	*nodes--
	s := &Shape{Types: []string{jsonType(v)}}
	if levels == 0 || *nodes <= 0 {
		return s
	}
	switch {
	case v.IsArray():
		left := shapeItems
		v.ForEach(func(_, item gjson.Result) bool {
			s.Items = either(s.Items, shapeOf(item, levels-1, nodes))
			left--
			return left > 0 && *nodes > 0
		})
	case v.IsObject():
		s.members(v, levels, nodes)
	}
	return s
}

func (s *Shape) members(object gjson.Result, levels int, nodes *int) {
	s.Properties = map[string]*Shape{}
	named, left := true, shapeMembers
	object.ForEach(func(key, value gjson.Result) bool {
		if !isMember(key.Str) {
			key.Str, named = "", false
		}
		s.Properties[key.Str] = either(s.Properties[key.Str], shapeOf(value, levels-1, nodes))
		left--
		return left >= 0 && *nodes > 0
	})
	if !named || left < 0 || s.uniform() {
		s.tabulate()
		return
	}
	s.Required = slices.Sorted(maps.Keys(s.Properties))
}

// uniform reports whether the members are several objects of one shape: rather rows under keys than parts of one thing.
func (s *Shape) uniform() bool {
	var first *Shape
	for _, p := range s.Properties {
		if first == nil {
			first = p
		}
		if p.Types[0] != "object" || !p.equal(first) {
			return false
		}
	}
	return len(s.Properties) > 2
}

func isMember(key string) bool { return len(key) <= 40 && memberName().MatchString(key) }

// Either is the shape of whatever has one of two; it is the first where both together would be too large.
func Either(a, b *Shape) *Shape {
	if j := either(a, b); j.size() <= 2*shapeNodes {
		return j
	}
	return a
}

func either(a, b *Shape) *Shape {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	if a.Values != nil && b.Properties != nil {
		a, b = b, a
	}
	if a.Properties != nil && b.Values != nil {
		table := *a
		table.tabulate()
		a = &table
	}
	j := &Shape{
		Types:  slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Types, b.Types)))),
		Items:  either(a.Items, b.Items),
		Values: either(a.Values, b.Values),
	}
	if slices.Contains(j.Types, "number") {
		j.Types = slices.DeleteFunc(j.Types, func(t string) bool { return t == "integer" })
	}
	if a.Properties == nil && b.Properties == nil {
		return j
	}
	j.Properties = maps.Clone(a.Properties)
	if j.Properties == nil {
		j.Properties = map[string]*Shape{}
	}
	for name, p := range b.Properties {
		j.Properties[name] = either(j.Properties[name], p)
	}
	switch { // of what is no object nothing is required, and nothing lacks
	case !slices.Contains(a.Types, "object"):
		j.Required = b.Required
	case !slices.Contains(b.Types, "object"):
		j.Required = a.Required
	default:
		j.Required = slices.DeleteFunc(
			slices.Clone(a.Required), func(n string) bool { return !slices.Contains(b.Required, n) },
		)
	}
	if len(j.Properties) > shapeMembers {
		j.tabulate()
	}
	return j
}

// tabulate makes an object a table: its members are values of one kind, under keys that are data.
func (s *Shape) tabulate() {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		s.Values = either(s.Values, s.Properties[name])
	}
	s.Properties, s.Required = nil, nil
}

func (s *Shape) size() int {
	if s == nil {
		return 0
	}
	n := 1 + s.Items.size() + s.Values.size()
	for _, p := range s.Properties {
		n += p.size()
	}
	return n
}

func (s *Shape) equal(o *Shape) bool {
	if s == nil || o == nil {
		return s == o
	}
	return slices.Equal(s.Types, o.Types) && slices.Equal(s.Required, o.Required) && s.Items.equal(o.Items) &&
		s.Values.equal(o.Values) && maps.EqualFunc(s.Properties, o.Properties, (*Shape).equal)
}

// schema is the shape as the JSON Schema it is.
func (s *Shape) schema() gjson.Result {
	b, err := json.Marshal(s)
	if err != nil {
		return gjson.Result{}
	}
	return gjson.ParseBytes(b)
}

func jsonType(v gjson.Result) string {
	switch kindOf(v) {
	case "None":
		return "null"
	case "str":
		return "string"
	case "bool":
		return "boolean"
	case "list":
		return "array"
	case "dict":
		return "object"
	case "float":
		return "number"
	}
	return "integer"
}
