package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readFile reads config.toml. A file that is only looked for need not exist; one that was named must.
func readFile(src Source, paths Paths) ([]setting, map[string]Server, []error) {
	at := place{dir: src.Dir, home: paths.Home}
	fromVariable, _ := src.Lookup("CODEMODE_CONFIG")
	named := at.resolve(cmp.Or(src.File, fromVariable))
	name := cmp.Or(named, paths.ConfigFile())
	if name == "" {
		return nil, nil, nil
	}
	data, err := os.ReadFile(name)
	switch {
	case named == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err // the path is in the message already
		}
		return nil, nil, []error{&FileError{File: name, Err: err}}
	}
	at.dir = filepath.Dir(name)
	return parseFile(name, data, at)
}

// parseFile turns the text of config.toml into settings and servers.
func parseFile(name string, data []byte, at place) (layer []setting, own map[string]Server, errs []error) {
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		fe := &FileError{File: name, Err: err}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			fe.Line, fe.Column = de.Position()
			fe.Err = errors.New(strings.TrimPrefix(de.Error(), "toml: "))
		}
		return nil, nil, []error{fe}
	}
	lines := keyLines(data)
	own = map[string]Server{}
	for _, section := range slices.Sorted(maps.Keys(doc)) {
		table, ok := doc[section].(map[string]any)
		switch {
		case !ok:
			errs = append(errs, &UnknownKeyError{name, lines[section], section, sections()})
		case section == "servers":
			errs = append(errs, readOwn(name, table, lines, own)...)
		default:
			l, e := readSection(name, section, table, lines, at)
			layer, errs = append(layer, l...), append(errs, e...)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return layer, own, errs
}

func readSection(file, section string, table map[string]any, lines map[string]int, at place) (layer []setting, errs []error) {
	if !slices.Contains(sections(), section) {
		return nil, []error{&UnknownKeyError{file, lines[section], section, sections()}}
	}
	for _, field := range slices.Sorted(maps.Keys(table)) {
		name := section + "." + field
		k, ok := findKey(name)
		if !ok {
			errs = append(errs, &UnknownKeyError{file, lines[name], name, keysOf(section)})
			continue
		}
		layer = append(layer, setting{key: k, raw: table[field], where: fmt.Sprintf("%s:%d: %s", file, lines[name], name), at: at})
	}
	return layer, errs
}

// readOwn adds the [servers.NAME] tables to own.
func readOwn(file string, table map[string]any, lines map[string]int, own map[string]Server) (errs []error) {
	for name, v := range table {
		prefix := "servers." + name
		fields, ok := v.(map[string]any)
		if !ok {
			errs = append(errs, &FileError{File: file, Line: lines[prefix], Err: fmt.Errorf("server %q is not a table", name)})
			continue
		}
		for field := range fields {
			if !slices.Contains(ServerFields, field) {
				known := make([]string, len(ServerFields))
				for i, f := range ServerFields {
					known[i] = prefix + "." + f
				}
				errs = append(errs, &UnknownKeyError{file, lines[prefix+"."+field], prefix + "." + field, known})
			}
		}
		s, err := NewServer(name, fields)
		var bad *FieldError
		switch {
		case errors.As(err, &bad):
			line := cmp.Or(lines[prefix+"."+bad.Field], lines[prefix])
			errs = append(errs, &FileError{File: file, Line: line, Err: err})
		default:
			s.Source = file
			own[name] = s
		}
	}
	return errs
}

// sections are the tables of config.toml.
func sections() []string {
	names := []string{"servers"}
	for _, k := range keys {
		section, _, _ := strings.Cut(k.name, ".")
		if !slices.Contains(names, section) {
			names = append(names, section)
		}
	}
	return names
}

func keysOf(section string) (names []string) {
	for _, k := range keys {
		if strings.HasPrefix(k.name, section+".") {
			names = append(names, k.name)
		}
	}
	return names
}

// lineOf is for reporting problems in the order of the file.
func lineOf(err error) int {
	var unknown *UnknownKeyError
	var file *FileError
	switch {
	case errors.As(err, &unknown):
		return unknown.Line
	case errors.As(err, &file):
		return file.Line
	}
	return 0
}

// keyLines says on which line each table and key of a valid document first appears, by dotted path.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	var table string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = noteKey(&p, e, "", lines)
		case unstable.KeyValue:
			noteKeyValue(&p, e, table, lines)
		}
	}
	return lines
}

func noteKeyValue(p *unstable.Parser, e *unstable.Node, table string, lines map[string]int) {
	name := noteKey(p, e, table, lines)
	if e.Value().Kind == unstable.InlineTable {
		for it := e.Value().Children(); it.Next(); {
			noteKeyValue(p, it.Node(), name, lines)
		}
	}
}

// noteKey records every prefix of a key, so that a table that is only implied has a line too.
func noteKey(p *unstable.Parser, e *unstable.Node, name string, lines map[string]int) string {
	for it := e.Key(); it.Next(); {
		if name != "" {
			name += "."
		}
		name += string(it.Node().Data)
		if _, ok := lines[name]; !ok {
			lines[name] = p.Shape(it.Node().Raw).Start.Line
		}
	}
	return name
}
