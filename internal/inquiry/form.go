package inquiry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/visible"
)

// A Prompt is what a server asks a person at a terminal: to fill in a form, or to open a URL. Its texts hold nothing
// that a reader would not see.
type Prompt struct {
	Who    string // which server asks, and in which call: one line
	Text   string // what it says, of any number of lines
	URL    string // empty for a form
	Fields []Field
}

// Field is one of a form's.
type Field struct {
	Name   string
	About  string // what the server says of it; may be empty
	Takes  string // what can be typed
	schema gjson.Result
	needed bool
}

// A Person answers a prompt, with a value for each field; yes is false for a no.
type Person func(context.Context, Prompt) (values map[string]any, yes bool, err error)

// Respond has the person answer what servers ask.
func (ask Person) Respond(ctx context.Context, request Request) (Response, error) {
	p, ok := request.(*mcp.ElicitParams)
	if !ok {
		return nil, fmt.Errorf("nobody at a terminal can be asked for a %T", request)
	}
	q := Prompt{}
	if isURL(p) {
		q.URL = p.URL
	}
	q.Who, q.Text, _ = strings.Cut(p.Message, "\n")
	schema, _ := p.RequestedSchema.(json.RawMessage)
	var err error
	if q.Fields, err = fieldsOf(gjson.ParseBytes(schema)); err != nil {
		return nil, err
	}
	values, yes, err := ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case !yes:
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: values}, nil
}

// PersonCan is what a person at a terminal can be asked for.
func PersonCan() *Capabilities {
	return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
		Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
	}}
}

const (
	maxFields = 50  // of a form that is filled in line by line
	maxAbout  = 300 // bytes that are shown of what a server says of a field
)

// fieldsOf are the fields of a form, in their order.
func fieldsOf(schema gjson.Result) (list []Field, err error) {
	needed := map[string]bool{}
	for _, name := range schema.Get("required").Array() {
		needed[name.Str] = true
	}
	schema.Get("properties").ForEach(func(name, field gjson.Result) bool {
		if list = append(list, Field{Name: name.Str, schema: field, needed: needed[name.Str]}); len(list) > maxFields {
			err = fmt.Errorf("its form has more than %d fields", maxFields)
			return false
		}
		f := &list[len(list)-1]
		title, about := field.Get("title").Str, field.Get("description").Str
		f.About = visible.Clip(strings.TrimSuffix(strings.TrimSpace(title+": "+about), ":"), maxAbout)
		f.About = strings.TrimPrefix(f.About, ": ")
		f.Takes, err = f.takes()
		return err == nil
	})
	return list, err
}

// choice is one value of several, and how it is called.
type choice struct{ value, title string }

// choices are the values that a schema takes; none where it takes any.
func choices(schema gjson.Result) (list []choice) {
	titles := schema.Get("enumNames").Array()
	for i, v := range schema.Get("enum").Array() {
		c := choice{v.Str, ""}
		if i < len(titles) {
			c.title = titles[i].Str
		}
		list = append(list, c)
	}
	for _, of := range []string{"oneOf", "anyOf"} {
		for _, v := range schema.Get(of).Array() {
			list = append(list, choice{v.Get("const").Str, v.Get("title").Str})
		}
	}
	return list
}

// hasChoices says whether a schema takes some values alone.
func hasChoices(schema gjson.Result) bool {
	return schema.Get("enum").Exists() || schema.Get("oneOf").Exists() || schema.Get("anyOf").Exists()
}

// formats are those of a text that MCP knows: what each is called, and whether a text is one.
// Source: StringSchema of https://modelcontextprotocol.io/specification/2025-11-25/schema (2026-11-24).
var formats = map[string]struct {
	words string
	fits  func(string) bool
}{
	"email": {"an email address", func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	}},
	"uri": {"a URL", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	}},
	"date": {"a date such as 2006-01-02", func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	}},
	"date-time": {"a time such as 2006-01-02T15:04:05Z", func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	}},
}

// takes says what can be typed for a field.
func (f Field) takes() (string, error) {
	kinds := map[string]string{
		"string": "text", "integer": "a whole number", "number": "a number", "boolean": "yes or no",
		"array": "some, with commas between them",
	}
	kind := f.schema.Get("type").Str
	words, ok := kinds[kind]
	if !ok {
		return "", fmt.Errorf("its form has a field of type %.60q, and there is none", kind)
	}
	from := f.schema
	if kind == "array" {
		from = f.schema.Get("items")
	}
	var named []string
	for _, c := range choices(from) {
		if c.title != "" && c.title != c.value {
			c.value += " (" + c.title + ")"
		}
		named = append(named, c.value)
	}
	switch {
	case kind == "array":
		words += ": " + strings.Join(named, ", ")
	case named != nil:
		words = strings.Join(named, ", ")
	case formats[f.schema.Get("format").Str].words != "" && kind == "string":
		words = formats[f.schema.Get("format").Str].words
	}
	switch def := f.schema.Get("default"); {
	case def.Exists():
		words += "; Enter for " + visible.Value(json.RawMessage(def.Raw), maxAbout)
	case !f.needed:
		words += "; Enter leaves it out"
	}
	return words, nil
}

// Read turns what was typed into the field's value; given is false where the field is left out.
func (f Field) Read(typed string) (value any, given bool, err error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		def := f.schema.Get("default")
		if !def.Exists() && f.needed {
			return nil, false, errors.New("it is needed")
		}
		if def.Type == gjson.Number {
			return json.Number(def.Raw), true, nil // as it is shown
		}
		return def.Value(), def.Exists(), nil
	}
	switch f.schema.Get("type").Str {
	case "boolean":
		value, err = readBool(typed)
	case "integer", "number":
		value, err = f.readNumber(typed)
	case "array":
		value, err = readChoices(typed, choices(f.schema.Get("items")))
	default:
		value, err = f.readText(typed)
	}
	return value, err == nil, err
}

func readBool(typed string) (bool, error) {
	switch strings.ToLower(typed) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return false, errors.New("it is neither yes nor no")
}

func (f Field) readNumber(typed string) (json.Number, error) {
	n, err := strconv.ParseFloat(typed, 64)
	least, most := f.schema.Get("minimum"), f.schema.Get("maximum")
	_, whole := strconv.ParseInt(typed, 10, 64)
	switch {
	case err != nil || !json.Valid([]byte(typed)):
		return "", errors.New("it is no number")
	case f.schema.Get("type").Str == "integer" && whole != nil:
		return "", errors.New("it is no whole number")
	case least.Exists() && n < least.Num:
		return "", fmt.Errorf("it is less than %s", least.Raw)
	case most.Exists() && n > most.Num:
		return "", fmt.Errorf("it is more than %s", most.Raw)
	}
	return json.Number(typed), nil
}

func (f Field) readText(typed string) (string, error) {
	if among := choices(f.schema); among != nil {
		chosen, err := readChoices(typed, among)
		if err != nil {
			return "", err
		}
		if len(chosen) > 1 {
			return "", errors.New("it is one of them")
		}
		return chosen[0], nil
	}
	if err := lengthFits(f.schema, typed); err != nil {
		return "", err
	}
	if format, ok := formats[f.schema.Get("format").Str]; ok && !format.fits(typed) {
		return "", fmt.Errorf("it is not %s", format.words)
	}
	return typed, nil
}

// lengthFits is why a text is shorter or longer than a field takes.
func lengthFits(field gjson.Result, text string) error {
	n := int64(utf8.RuneCountInString(text))
	least, most := field.Get("minLength"), field.Get("maxLength")
	switch {
	case least.Exists() && n < least.Int():
		return fmt.Errorf("it has less than %d characters", least.Int())
	case most.Exists() && n > most.Int():
		return fmt.Errorf("it has more than %d characters", most.Int())
	}
	return nil
}

// readChoices reads values with commas between them, each as it is or by its title. A value may have commas itself.
func readChoices(typed string, among []choice) (list []string, err error) {
	named := func(text string) (string, bool) {
		for _, c := range among {
			if text == c.value || text == c.title && text != "" {
				return c.value, true
			}
		}
		return "", false
	}
	if one, ok := named(typed); ok {
		return []string{one}, nil
	}
	for part := range strings.SplitSeq(typed, ",") {
		value, ok := named(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("%q is not among them", strings.TrimSpace(part))
		}
		list = append(list, value)
	}
	return list, nil
}
