package catalog

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// parameters reads an input schema: its properties, required ones first, and whether it takes others.
//
// JSON Schema lets an object have more properties than it names unless it says otherwise. Here it is the
// other way round, so that a misspelt argument is found before it is sent: only a schema that says so, or
// that names no properties at all, takes others.
func parameters(schema gjson.Result) (params []Param, extra bool) {
	c := collector{converter: newConverter(schema), index: map[string]int{}, required: map[string]bool{}}
	c.converter.class = inline
	c.collect(schema, true, 0)
	keys := make([]string, len(c.properties))
	for i, p := range c.properties {
		keys[i] = p.Key
	}
	names := parameterNames(keys)
	params = make([]Param, 0, len(keys))
	for _, required := range []bool{true, false} {
		for _, p := range c.properties {
			if c.required[p.Key] == required {
				p.Name, p.Required = names[p.Key], required
				params = append(params, p)
			}
		}
	}
	return params, c.open || !c.named && !c.closed
}

// A collector gathers the properties of an object schema from itself, what it refers to and what it combines.
type collector struct {
	converter  *converter
	properties []Param
	index      map[string]int // key -> index in properties
	required   map[string]bool
	named      bool // there is a list of properties, if an empty one
	open       bool // more properties are allowed in so many words
	closed     bool // or forbidden
	visits     int  // schemas read, of at most maxNodes: references can multiply
	// annotate, where there is one, is the annotation of a property in the converter's stead.
	annotate func(key string, property gjson.Result) string
}

// collect reads one schema. certain is false within anyOf and oneOf, where nothing is required for sure.
func (c *collector) collect(schema gjson.Result, certain bool, depth int) {
	if c.visits++; !schema.IsObject() || depth > maxDepth || c.visits > maxNodes || !c.converter.pay(schema) {
		return
	}
	if ref := member(schema, "$ref"); ref.Type == gjson.String {
		c.collect(c.converter.resolve(ref.Str), certain, depth+1)
	}
	if properties := member(schema, "properties"); properties.IsObject() {
		c.named = true
		properties.ForEach(func(key, property gjson.Result) bool {
			c.add(key.String(), property)
			return true
		})
	}
	if certain {
		for key := range requiredKeys(schema) {
			c.required[key] = true
		}
	}
	if more := member(schema, "additionalProperties"); more.IsObject() || more.Type == gjson.True {
		c.open = true
	} else if more.Type == gjson.False {
		c.closed = true
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		elements(member(schema, word), func(part gjson.Result) { c.collect(part, certain && word == "allOf", depth+1) })
	}
}

func (c *collector) add(key string, property gjson.Result) {
	p := Param{Key: key}
	if c.annotate != nil {
		p.Type = c.annotate(key, property)
	} else {
		p.Type = c.converter.annotation(property)
	}
	if property.IsObject() {
		p.Description = text(property, "description", "title")
		if value := member(property, "default"); value.Exists() {
			p.Default = json.RawMessage(value.Raw)
		}
	}
	if i, again := c.index[key]; again {
		c.properties[i] = p
		return
	}
	c.index[key] = len(c.properties)
	c.properties = append(c.properties, p)
}

// requiredKeys returns the strings in a schema's list of required properties.
func requiredKeys(schema gjson.Result) map[string]bool {
	keys := map[string]bool{}
	elements(member(schema, "required"), func(key gjson.Result) {
		if key.Type == gjson.String {
			keys[key.Str] = true
		}
	})
	return keys
}

// member returns a member of an object. Unlike gjson's Get it takes the key literally, takes the last of
// several as every other JSON reader does, and finds nothing in what is no object.
func member(object gjson.Result, key string) (value gjson.Result) {
	if !object.IsObject() {
		return value
	}
	object.ForEach(func(k, v gjson.Result) bool {
		if k.String() == key {
			value = v
		}
		return true
	})
	return value
}

// elements calls f for each element of an array, and not at all for anything else.
func elements(array gjson.Result, f func(gjson.Result)) {
	if !array.IsArray() {
		return
	}
	array.ForEach(func(_, element gjson.Result) bool {
		f(element)
		return true
	})
}
