package clientcfg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"codemode/internal/config"

	"github.com/tailscale/hujson"
)

// tables are the names under which files keep their servers; the first that a file has counts. "servers"
// is VS Code's mcp.json (code.visualstudio.com/docs/copilot/customization/mcp-servers, 2026-07).
var tables = []string{"mcpServers", "servers"}

// ReadServers reads a file of the shape {"mcpServers": {NAME: {…}}}, in JSON with comments, trailing
// commas, a byte order mark and any line ends. It returns the entries that can be used, in the order of
// the file, and what is wrong with the others. path is for messages.
func ReadServers(path string, data []byte) ([]config.Server, []Problem) {
	f := file{path: path, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	root, err := hujson.Parse(bytes.Clone(f.data))
	if err != nil {
		f.syntax(err)
		return nil, f.problems
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		f.problem(root, "", errors.New(`there is no {"mcpServers": {…}} in it`))
		return nil, f.problems
	}
	description := ""
	if v := member(top, "description"); v != nil {
		_ = decode(*v, &description) // one that is no text describes nothing
	}
	for _, name := range tables {
		v := member(top, name)
		if v == nil {
			continue
		}
		entries, ok := v.Value.(*hujson.Object)
		if !ok {
			f.problem(*v, "", fmt.Errorf("%q is not an object of servers", name))
			return nil, f.problems
		}
		return f.servers(entries, description), f.problems
	}
	f.problem(root, "", errors.New(`it has neither "mcpServers" nor "servers"`))
	return nil, f.problems
}

// file is one file while it is read.
type file struct {
	path     string
	data     []byte
	problems []Problem
}

func (f *file) servers(entries *hujson.Object, description string) []config.Server {
	var list []config.Server
	seen := map[string]bool{}
	for _, m := range entries.Members {
		name := ""
		_ = decode(m.Name, &name) // hujson has checked that it is a string
		if seen[name] {
			f.problem(m.Name, name, fmt.Errorf("server %q is there twice; the first counts", name))
			continue
		}
		seen[name] = true
		if s, ok := f.server(name, m); ok {
			if s.Description == "" {
				s.Description = description
			}
			list = append(list, s)
		}
	}
	return list
}

func (f *file) server(name string, m hujson.ObjectMember) (config.Server, bool) {
	object, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		f.problem(m.Value, name, fmt.Errorf("server %q is not an object", name))
		return config.Server{}, false
	}
	var fields map[string]any
	if err := decode(m.Value, &fields); err != nil {
		f.problem(m.Value, name, fmt.Errorf("server %q: %w", name, err))
		return config.Server{}, false
	}
	s, err := config.NewServer(name, fields)
	if err != nil {
		at := m.Value
		var bad *config.FieldError
		if errors.As(err, &bad) && bad.Field != "" {
			at = *member(object, bad.Field)
		}
		f.problem(at, name, err)
		return config.Server{}, false
	}
	s.Source = f.path
	return s, true
}

// problem notes what is wrong with a value, and where the value begins.
func (f *file) problem(at hujson.Value, server string, err error) {
	before := f.data[:at.StartOffset]
	f.problems = append(f.problems, Problem{
		File:   f.path,
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
		Server: server,
		Err:    err,
	})
}

// syntax notes that the file is no JSON. hujson tells the place in its message only.
func (f *file) syntax(err error) {
	p := Problem{File: f.path, Err: err}
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &p.Line, &p.Column); scan == nil {
		p.Err = errors.Unwrap(err)
	}
	if len(bytes.TrimSpace(f.data)) == 0 {
		p = Problem{File: f.path, Err: errors.New("it is empty")}
	}
	f.problems = append(f.problems, p)
}

// member returns the value of a name; of several the last, as JSON decoders take it.
func member(o *hujson.Object, name string) *hujson.Value {
	var found *hujson.Value
	for i := range o.Members {
		var n string
		if decode(o.Members[i].Name, &n) == nil && n == name {
			found = &o.Members[i].Value
		}
	}
	return found
}

// decode is json.Unmarshal, with numbers as they were written.
func decode(v hujson.Value, into any) error {
	v = v.Clone()
	v.Standardize()
	d := json.NewDecoder(strings.NewReader(v.String()))
	d.UseNumber()
	return d.Decode(into)
}
