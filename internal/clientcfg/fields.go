package clientcfg

import (
	"encoding/json"
	"time"

	"codemode/internal/config"
)

// fields reads the members of an entry, each under any of the names that programs give it. It remembers the
// first that cannot be used.
type fields struct {
	server string
	entry  node
	at     place
	err    error
}

func (f *fields) wrong(field, want string, at place) {
	if f.err == nil {
		f.err, f.at = &config.FieldError{Server: f.server, Field: field, Want: want}, at
	}
}

// find returns the first of names that is there and not null.
func (f *fields) find(names ...string) (name string, value node, ok bool) {
	for _, name := range names {
		if v, ok := f.entry.get(name); ok && v.value != nil {
			return name, v, true
		}
	}
	return "", node{}, false
}

func (f *fields) has(names ...string) bool {
	_, _, ok := f.find(names...)
	return ok
}

func (f *fields) text(names ...string) string {
	name, v, ok := f.find(names...)
	if !ok {
		return ""
	}
	s, ok := v.value.(string)
	if !ok {
		f.wrong(name, "text", v.place)
	}
	return s
}

func (f *fields) boolean(name string, otherwise bool) bool {
	_, v, ok := f.find(name)
	if !ok {
		return otherwise
	}
	b, ok := v.value.(bool)
	if !ok {
		f.wrong(name, "true or false", v.place)
	}
	return b
}

func (f *fields) list(names ...string) []string {
	name, v, ok := f.find(names...)
	if !ok {
		return nil
	}
	texts, ok := v.texts()
	if !ok {
		f.wrong(name, "a list of texts", v.place)
	}
	return texts
}

// table reads texts by name. Null leaves a name out of the result and puts it into unset; what is no text is
// told to odd, and costs only itself.
func (f *fields) table(odd func(field string, at place), names ...string) (table map[string]string, unset []string) {
	name, v, ok := f.find(names...)
	if !ok {
		return nil, nil
	}
	o, ok := v.value.(*object)
	if !ok {
		f.wrong(name, "a table of texts", v.place)
		return nil, nil
	}
	table = make(map[string]string, len(o.members))
	for _, m := range o.members {
		s, ok := m.value.text()
		switch {
		case ok:
			table[m.name] = s
		case m.value.value == nil:
			unset = append(unset, m.name)
		default:
			odd(name+"."+m.name, m.value.place)
		}
	}
	return table, unset
}

// maxWait is more than anything is worth waiting for, and far from what a Duration cannot hold.
const maxWait = 24 * time.Hour

// wait reads a number of units. What is no useful time is no time: another program's settings are not checked.
func (f *fields) wait(unit time.Duration, names ...string) time.Duration {
	_, v, ok := f.find(names...)
	if !ok || unit == 0 {
		return 0
	}
	n, _ := v.value.(json.Number)
	count, err := n.Float64()
	if err != nil || count <= 0 || count > float64(maxWait/unit) {
		return 0
	}
	return time.Duration(count * float64(unit))
}
