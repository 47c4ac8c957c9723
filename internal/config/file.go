package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"codemode/internal/plainfile"
)

// document is what a config.toml says: of everybody, and of each tenant.
type document struct {
	settings []setting
	servers  map[string]Server
	places   map[string]position // of servers
	tenants  map[string]document
}

// UserFile is the name of the user's config.toml, which need not exist; empty where there is no place for one.
func UserFile(src Source) string {
	if src.Lookup == nil {
		src.Lookup = func(string) (string, bool) { return "", false }
	}
	name, _ := userFile(src, FindPaths(src.Lookup, runtime.GOOS))
	return name
}

// userFile is the name of the user's config.toml, and whether somebody has named it.
func userFile(src Source, paths Paths) (name string, named bool) {
	fromVariable, _ := src.Lookup("CODEMODE_CONFIG")
	name = cmp.Or(src.File, fromVariable)
	if name == "" {
		return paths.configFile(), false
	}
	return place{dir: src.Dir, home: paths.Home}.resolve(name), true
}

// maxFile is more than anybody writes into a config.toml.
const maxFile = 4 << 20

// readUser reads the user's config.toml. A file that is only looked for need not exist; one that was named must.
func readUser(src Source, paths Paths) (document, []error) {
	name, named := userFile(src, paths)
	if name == "" {
		return document{}, nil
	}
	data, err := plainfile.Read(name, maxFile)
	switch {
	case !named && errors.Is(err, fs.ErrNotExist) && !leadsNowhere(name):
		return document{}, nil
	case err != nil:
		return document{}, []error{&FileError{File: name, Err: err}}
	}
	r := reader{file: name, layer: User, at: place{dir: filepath.Dir(name), home: paths.Home}}
	return r.read(data)
}

// leadsNowhere says whether a file that is missing, or a folder above it, is a link to what is missing: who has made it
// has settings, which must not count as none.
func leadsNowhere(name string) bool {
	for ; ; name = filepath.Dir(name) {
		if _, err := os.Lstat(name); err == nil || name == filepath.Dir(name) {
			_, leads := os.Stat(name)
			return err == nil && leads != nil
		}
	}
}

// reader turns the text of a config.toml into settings and servers.
type reader struct {
	file      string
	layer     Layer
	at        place
	project   string // the folder of the project whose file it is
	positions positions
	errs      []error
}

func (r *reader) read(data []byte) (document, []error) {
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		fe := &FileError{File: r.file, Err: err}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			fe.Line, fe.Column = de.Position()
			fe.Err = errors.New(strings.TrimPrefix(de.Error(), "toml: "))
		}
		return document{}, []error{fe}
	}
	r.positions = findPositions(data)
	d := r.document(doc, nil)
	return d, r.errs
}

// document reads what everybody's part and a tenant's have in common. under is the path to a tenant's.
func (r *reader) document(doc map[string]any, under []string) document {
	d := document{servers: map[string]Server{}, places: map[string]position{}, tenants: map[string]document{}}
	for _, field := range slices.Sorted(maps.Keys(doc)) {
		path := join(under, field)
		switch {
		case field == "servers":
			r.servers(&d, doc[field], path)
		case field == "tenants" && under == nil:
			r.tenants(&d, doc[field], path)
		default:
			r.setting(&d, doc[field], path, len(under))
		}
	}
	return d
}

// setting reads a key, or a table of keys. The first elements of path, of which depth says how many, lead to the
// tenant whose it is.
func (r *reader) setting(d *document, v any, path []string, depth int) {
	name := strings.Join(path[depth:], ".")
	at := r.positions.of(path...)
	k, isKey := findKey(name)
	table, isTable := v.(map[string]any)
	switch {
	case isKey && (depth == 0 || name != "tenant"): // a tenant cannot choose another
		layer := r.layer
		if depth > 0 {
			layer = Tenant
		}
		d.settings = append(d.settings, setting{
			key: k, raw: v, layer: layer, name: strings.Join(path, "."), file: r.file, position: at, at: r.at,
		})
	case !isSection(name):
		r.unknown(path, at, siblings(path, depth))
	case !isTable:
		r.wrong(at, fmt.Errorf("%q is not a table", strings.Join(path, ".")))
	default:
		for _, field := range slices.Sorted(maps.Keys(table)) {
			r.setting(d, table[field], join(path, field), depth)
		}
	}
}

// join appends without ever writing to what other paths share.
func join(path []string, field string) []string { return append(slices.Clip(path), field) }

func (r *reader) wrong(at position, err error) {
	r.errs = append(r.errs, &FileError{File: r.file, Line: at.line, Column: at.column, Err: err})
}

func (r *reader) unknown(path []string, at position, known []string) {
	r.errs = append(r.errs, &UnknownKeyError{r.file, at.line, at.column, strings.Join(path, "."), known})
}

// tenants reads the [tenants.NAME] tables.
func (r *reader) tenants(d *document, v any, path []string) {
	table, ok := v.(map[string]any)
	if !ok {
		r.wrong(r.positions.of(path...), fmt.Errorf("%q is not a table of tenants", "tenants"))
	}
	for name, v := range table {
		path := join(path, name)
		at := r.positions.of(path...)
		doc, ok := v.(map[string]any)
		switch {
		case !validTenant(name):
			r.wrong(at, fmt.Errorf("tenant %.200q cannot be called that: write %s", name, tenantName.forms))
		case !ok:
			r.wrong(at, fmt.Errorf("tenant %.200q is not a table", name))
		default:
			d.tenants[name] = r.document(doc, path)
		}
	}
}

// servers reads the [servers.NAME] tables.
func (r *reader) servers(d *document, v any, path []string) {
	table, ok := v.(map[string]any)
	if !ok {
		r.wrong(r.positions.of(path...), fmt.Errorf("%q is not a table of servers", strings.Join(path, ".")))
	}
	for name, v := range table {
		path := join(path, name)
		at := r.positions.of(path...)
		fields, ok := v.(map[string]any)
		if !ok {
			r.wrong(at, fmt.Errorf("server %.200q is not a table", name))
			continue
		}
		for field := range fields {
			if !slices.Contains(ServerFields, field) {
				path := join(path, field)
				r.unknown(path, r.positions.of(path...), prefixed(path[:len(path)-1], ServerFields))
			}
		}
		s, err := NewServer(name, fields)
		var bad *FieldError
		if errors.As(err, &bad) {
			r.wrong(cmp.Or(r.positions.of(join(path, bad.Field)...), at), err)
			continue
		}
		s.Source, s.Project, s.Line = r.file, r.project, at.line
		s.Cwd, s.EnvFile = r.near(s.Cwd), r.near(s.EnvFile)
		if s.Sandbox != nil {
			for _, paths := range [][]string{s.Sandbox.Read, s.Sandbox.Write} {
				for i, path := range paths {
					paths[i] = r.near(path)
				}
			}
		}
		if s.Cwd == "" {
			s.Cwd = r.project
		}
		d.servers[name], d.places[name] = s, at
	}
}

// near is a path of a server's entry, from the project's folder or that of the file. References and ~ are resolved
// when the server starts.
func (r *reader) near(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$") {
		return path
	}
	return filepath.Join(cmp.Or(r.project, filepath.Dir(r.file)), path)
}

// siblings are the keys and tables that could have stood where path does; where its last name is that of a key
// elsewhere, that one.
func siblings(path []string, depth int) []string {
	under, last := path[:len(path)-1], path[len(path)-1]
	section := strings.Join(under[depth:], ".")
	var here, elsewhere []string
	for _, name := range slices.Concat(keyNames(), []string{"servers.", "tenants."}) {
		if name == "tenants." && depth > 0 || name == "tenant" && depth > 0 {
			continue
		}
		if strings.HasSuffix(name, "."+last) {
			elsewhere = append(elsewhere, name)
		}
		rest, ok := strings.CutPrefix(name, section+".")
		if section == "" {
			rest, ok = name, true
		}
		if field, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(here, field) {
			here = append(here, field)
		}
	}
	if elsewhere != nil {
		return prefixed(path[:depth], elsewhere)
	}
	return prefixed(under, here)
}

func prefixed(path, names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strings.Join(join(path, name), ".")
	}
	return list
}
