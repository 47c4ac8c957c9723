package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Explained is the settings and where they are from.
type Explained struct {
	Config
	Values      []Value      // every key, in the order people read them
	Entries     []ServerFrom // the [servers.NAME] tables that count, by name
	File        string       // the user's config.toml, which need not exist; empty where there is no place for one
	ProjectFile string       // empty when there is none
}

// An Origin is where something is from.
type Origin struct {
	Layer Layer
	Name  string // the variable or the flag; empty in a file, and for a default
	File  string
	Line  int
}

// A Value is one setting as it is in effect.
type Value struct {
	Name  string
	Value any // a string, bool, int, float64 or []string, as config.toml could hold it
	Origin
}

// A ServerFrom is a server of config.toml or of a project's.
type ServerFrom struct {
	Server Server
	Origin
}

// explain tells the merged values, and adds the servers.
func (m *merger) explain(e *Explained, user, project document) {
	for _, k := range keys {
		v := Value{Name: k.name, Value: written(m.koanf.Get(k.name)), Origin: m.origin[k.name].origin()}
		if k.name == "run.timeout" {
			v.Value = written(e.Run.Timeout) // which follows the ceiling
		}
		e.Values = append(e.Values, v)
	}
	e.Servers.Own = map[string]Server{}
	e.addServers(user, User)
	e.addServers(user.tenants[e.Tenant], Tenant)
	e.Servers.tenantsOwn = slices.Sorted(maps.Keys(user.tenants[e.Tenant].servers))
	e.addServers(project, Project)
	slices.SortStableFunc(e.Entries, func(a, b ServerFrom) int { return cmp.Compare(a.Server.Name, b.Server.Name) })
}

func (s setting) origin() Origin {
	o := Origin{Layer: s.layer, File: s.file, Line: s.position.line}
	if s.layer == Environment || s.layer == Flag {
		o.Name = s.name
	}
	return o
}

// addServers adds those of one layer. A tenant's replaces the general one of its name; a project's never does.
func (e *Explained) addServers(d document, layer Layer) {
	for _, name := range slices.Sorted(maps.Keys(d.servers)) {
		s := d.servers[name]
		if layer == Project {
			e.Servers.Project = append(e.Servers.Project, s)
		} else {
			e.Entries = slices.DeleteFunc(e.Entries, func(f ServerFrom) bool { return f.Server.Name == name })
			e.Servers.Own[name] = s
		}
		e.Entries = append(e.Entries, ServerFrom{s, Origin{Layer: layer, File: s.Source, Line: d.places[name].line}})
	}
}

// written is a setting's Go value as people write it.
func written(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return writtenDuration(v)
	case int64:
		return writtenSize(v)
	}
	return v
}

// writtenDuration is "2m" where time.Duration says "2m0s".
func writtenDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.size && d%unit.size == 0 {
			return strconv.FormatInt(int64(d/unit.size), 10) + unit.name
		}
	}
	return d.String()
}

// writtenSize uses the largest unit that divides the size.
func writtenSize(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "g"}, {20, "m"}, {10, "k"}} {
		if n >= 1<<unit.shift && n%(1<<unit.shift) == 0 {
			return strconv.FormatInt(n>>unit.shift, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
