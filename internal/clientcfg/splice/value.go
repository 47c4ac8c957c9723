package splice

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
)

// simplify makes one of the kinds of number that the parsers return: an int64, or else a float64.
func simplify(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = simplify(item)
		}
	case []any:
		for i, item := range v {
			v[i] = simplify(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case int:
		return int64(v)
	case float64:
		if math.IsNaN(v) {
			return "nan" // which otherwise would not equal itself
		}
	}
	return v
}

// plain is the value of a member as get would return it.
func plain(v any) any {
	switch v := v.(type) {
	case []Member:
		m := make(map[string]any, len(v))
		for _, it := range v {
			m[it.Key] = plain(it.Value)
		}
		return m
	case []string:
		l := make([]any, len(v))
		for i, s := range v {
			l[i] = s
		}
		return l
	}
	return simplify(v)
}

// holds says what of an entry is not as it was set: its members are those given, and those it had before.
func holds(before, after tree, path []string, entry []Member) string {
	was, _ := before.get(path)
	is, _ := after.get(path)
	if want := merged(was, entry); !reflect.DeepEqual(is, want) {
		return "the entry is not what was set"
	}
	return ""
}

// merged is what setting an entry makes of a value.
func merged(was any, entry []Member) map[string]any {
	m := map[string]any{}
	if old, ok := was.(map[string]any); ok {
		for k, v := range old {
			m[k] = v
		}
	}
	for _, it := range entry {
		table, ok := it.Value.([]Member)
		if _, was := m[it.Key].(map[string]any); ok && was {
			m[it.Key] = merged(m[it.Key], table)
			continue
		}
		m[it.Key] = plain(it.Value)
	}
	return m
}

// lacks says what of an entry is not as it was without some keys.
func lacks(before, after tree, path, keys []string) string {
	was, _ := before.get(path)
	is, _ := after.get(path)
	want, ok := was.(map[string]any)
	if !ok {
		return "the entry is no table"
	}
	for _, key := range keys {
		delete(want, key)
	}
	if !reflect.DeepEqual(is, want) {
		return "the entry is not what it was without the keys"
	}
	return ""
}

// lookup follows a path through tables.
func lookup(doc any, path []string) (any, bool) {
	for _, name := range path {
		m, _ := doc.(map[string]any)
		v, ok := m[name]
		if !ok {
			return nil, false
		}
		doc = v
	}
	return doc, true
}

// strip removes names from the table at path, and each table on the way that is empty then.
func strip(m map[string]any, path, names []string) {
	if len(path) == 0 {
		for _, name := range names {
			delete(m, name)
		}
		return
	}
	inner, ok := m[path[0]].(map[string]any)
	if !ok && m[path[0]] != nil {
		return
	}
	strip(inner, path[1:], names)
	if len(inner) == 0 {
		delete(m, path[0])
	}
}

// copied is a value that shares no table or list with another, with the numbers that get returns.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = copied(item)
		}
		return m
	case map[any]any: // of YAML, where not every key is a string
		m := make(map[string]any, len(v))
		for k, item := range v {
			name, ok := k.(string)
			if !ok {
				name = fmt.Sprintf("(%T) %v", k, k)
			}
			m[name] = copied(item)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, item := range v {
			l[i] = copied(item)
		}
		return l
	}
	return simplify(v)
}
