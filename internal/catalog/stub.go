package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

const (
	maxClasses = 400 // of one stub
	maxMembers = 200 // of one class
)

// Stub writes a server's tools as a Python stub file, the mcp/servers/<alias>.pyi of an editor or a type checker.
// Objects become TypedDicts; everything is bounded as signatures are.
func Stub(s Server) string {
	w := stubWriter{names: map[string]bool{}, classOf: map[string]string{}}
	for _, taken := range []string{"Any", "Literal", "NotRequired", "TypedDict"} {
		w.names[taken] = true
	}
	var functions strings.Builder
	for _, t := range s.Tools {
		w.function(&functions, t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Tools of %s, as codemode documents them.\n", strconv.QuoteToASCII(s.Name))
	b.WriteString("from typing import Any, Literal, NotRequired, TypedDict\n")
	for _, c := range w.classes {
		b.WriteString("\n" + c + "\n")
	}
	b.WriteString(functions.String())
	return b.String()
}

// A stubWriter gives objects names as it meets them.
type stubWriter struct {
	classes []string
	names   map[string]bool
	classOf map[string]string // an object's schema in the tool at hand -> name
	prefix  string            // the tool's, for the names of its classes
}

func (w *stubWriter) function(b *strings.Builder, t Tool) {
	clear(w.classOf)
	parts := make([]string, 0, len(t.Params)+1)
	w.prefix = camel(t.Alias)
	in := gjson.ParseBytes(t.InputSchema)
	types := map[string]string{}
	if in.IsObject() {
		types = w.parameters(in)
	}
	for _, p := range t.Params {
		if written, ok := types[p.Key]; ok {
			p.Type = written
		}
		parts = append(parts, p.String())
	}
	if t.Extra {
		parts = append(parts, "**"+extraName(t.Params)+": Any")
	}
	result := t.Returns
	switch {
	case t.Observed != nil:
		result = w.annotate(t.Observed.schema(), t.Observed.schema(), "Result")
	case t.Wrapped:
		out := gjson.ParseBytes(t.OutputSchema)
		result = w.annotate(out, member(member(out, "properties"), "result"), "Result")
	case t.OutputSchema != nil:
		out := gjson.ParseBytes(t.OutputSchema)
		result = w.annotate(out, out, "Result")
	}
	fmt.Fprintf(b, "\n\nasync def %s(%s) -> %s:\n", t.Alias, strings.Join(parts, ", "), result)
	if doc := t.Docstring(); doc != "" {
		b.WriteString("    " + docstring(doc, "    ") + "\n")
	}
	b.WriteString("    ...\n")
}

// parameters annotates an input schema's properties, with classes for objects.
func (w *stubWriter) parameters(schema gjson.Result) map[string]string {
	c := collector{converter: newConverter(schema), index: map[string]int{}, required: map[string]bool{}}
	c.converter.class = w.class
	c.annotate = func(key string, property gjson.Result) string {
		c.converter.ref = key
		return c.converter.annotation(property)
	}
	c.collect(schema, true, 0)
	types := make(map[string]string, len(c.properties))
	for _, p := range c.properties {
		types[p.Key] = p.Type
	}
	return types
}

func (w *stubWriter) annotate(root, schema gjson.Result, called string) string {
	c := newConverter(root)
	c.class, c.ref = w.class, called
	return c.annotation(schema)
}

// class writes the TypedDict for an object with properties and returns its name.
func (w *stubWriter) class(c *converter, schema gjson.Result, depth int) string {
	if name, known := w.classOf[schema.Raw]; known {
		return name
	}
	if len(w.names) >= maxClasses || depth <= 0 {
		return ""
	}
	name := w.name(c.ref)
	w.classOf[schema.Raw] = name
	required := requiredKeys(schema)
	var keys, types []string
	member(schema, "properties").ForEach(func(key, property gjson.Result) bool {
		inner := *c
		inner.open, inner.ref = map[string]bool{}, name+"_"+key.Str
		t := inner.types(property, depth-1).String()
		if len(t) > maxAnnotation {
			t = "Any"
		}
		c.nodes, c.lowest = inner.nodes, inner.lowest
		if !required[key.Str] {
			t = "NotRequired[" + t + "]"
		}
		if !slices.Contains(keys, key.Str) {
			keys, types = append(keys, key.Str), append(types, t)
		}
		return len(keys) < maxMembers && c.nodes > 0
	})
	w.classes = append(w.classes, typedDict(name, keys, types))
	return name
}

// typedDict writes a class with these members. Keys that no attribute of a class can have need the other form.
func typedDict(name string, keys, types []string) string {
	if len(keys) == 0 {
		return "class " + name + "(TypedDict): ..."
	}
	var class, call strings.Builder
	plain := true
	for i, key := range keys {
		plain = plain && key == legal(key) && !strings.HasPrefix(key, "__")
		class.WriteString("\n    " + key + ": " + types[i])
		call.WriteString("\n    " + quote(key) + ": " + types[i] + ",")
	}
	if plain {
		return "class " + name + "(TypedDict):" + class.String()
	}
	return name + " = TypedDict(" + quote(name) + ", {" + call.String() + "\n})"
}

// name is one that no other class has: the tool's, and what the object is called within it.
func (w *stubWriter) name(called string) string {
	if i := strings.LastIndexByte(called, '/'); i >= 0 {
		called = called[i+1:]
	}
	name := camel(legal(called))
	if !strings.HasPrefix(name, w.prefix) || name == w.prefix {
		name = w.prefix + name
	}
	name = name[:min(len(name), 80)]
	for n, base := 2, name; w.names[name] || keywords[name]; n++ {
		name = base + strconv.Itoa(n)
	}
	w.names[name] = true
	return name
}

// camel makes a class's name of an alias: create_issue becomes CreateIssue.
func camel(alias string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(alias, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if name := b.String(); name != "" && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return "_" + b.String()
}

// docstring writes a text as a Python string literal over lines.
func docstring(text, indent string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n\n", "\n\n"+indent, "\n", "\n"+indent).Replace(text)
	return `"""` + text + `"""`
}
