package splice

import (
	"encoding/json"
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
