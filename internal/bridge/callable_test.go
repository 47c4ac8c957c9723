package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/require"
)

// mentioned are the links of the one way from code to a server, and the functions that may mention each, whether they
// call it or not. A name that the server's list lacks gets no further than Callable; a permit is judge's alone.
var mentioned = map[string][]string{
	"upstream.Pool.Call":          {"doctor.client"}, // run_python of codemode itself
	"upstream.Pool.CallListed":    {"bridge.live.admit"},
	"upstream.Pool.Request":       {"bridge.live.serverRequest"},
	"upstream.Pool.Subscribe":     {"bridge.live.subscribe"},
	"servers.Inventory.Callable":  {"bridge.live.admit"},
	"servers.Known.Calls":         {"bridge.Bridge.Exposed", "servers.Inventory.Callable", "servers.Inventory.ListsTool"},
	"make servers.Known":          {"servers.Inventory.describe"},
	"bridge.live.admit":           {"bridge.live.direct", "bridge.live.toolCall"},
	"bridge.live.admitRequest":    {"bridge.live.serverRequest", "bridge.live.subscribe"},
	"bridge.live.judge":           {"bridge.live.admit", "bridge.live.admitRequest"},
	"bridge.permit.send":          {"bridge.activeCall.send", "bridge.live.admit", "bridge.live.admitRequest"},
	"bridge.activeCall.send":      {"bridge.live.call"},
	"write bridge.permit.send":    {"bridge.live.admit", "bridge.live.admitRequest"},
	"make bridge.permit":          {"bridge.live.judge"},
	"make guest.ToolCall":         {"bridge.Bridge.CallExposed", "bridge.live.subscribe", "bridge.parseRequest"},
	"write guest.ToolCall.Server": {"guest.ToolCall.read"},
	"write guest.ToolCall.Tool":   {"guest.ToolCall.read"},
	// Words for the paths of artifacts are replaced before a call is judged.
	"write guest.ToolCall.Arguments": {"bridge.live.resolve", "guest.ParseToolCall", "guest.ToolCall.read"},
}

// TestOneWayToServers holds that no other code than the admission's has a server called or asked for anything, that
// only what it lists is called, and that nobody changes a call on the way.
func TestOneWayToServers(t *testing.T) {
	seen := map[string][]string{}
	for _, p := range productWith(t, "codemode/internal/upstream", "codemode/internal/servers", "codemode/internal/guest") {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				p.look(decl, func(what, in string) { seen[what] = append(seen[what], in) })
			}
		}
		for _, name := range p.disguises() {
			t.Errorf("%s: the interface %s hides who calls a server", p.types.Path(), name)
		}
	}
	for what, want := range mentioned {
		got := slices.Compact(slices.Sorted(slices.Values(seen[what])))
		if !slices.Equal(got, want) {
			t.Errorf("%s: in %q, may be in %q", what, got, want)
		}
	}
}

// checked is a package of the product with its types.
type checked struct {
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// productWith is those packages of the product that are among some, or import one of them.
func productWith(t *testing.T, some ...string) (all []checked) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		require.Lacking(t, "go", "%v", err)
	}
	list := exec.CommandContext(
		t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,Imports",
		"codemode/cmd/codemode",
	)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles, Imports        []string
	}
	exports, fset := map[string]string{}, token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !slices.ContainsFunc(append(p.Imports, p.ImportPath), func(i string) bool { return slices.Contains(some, i) }) {
			continue
		}
		c := checked{info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Types: map[ast.Expr]types.TypeAndValue{},
		}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, file)
		}
		conf := types.Config{Importer: imports}
		if c.types, err = conf.Check(p.ImportPath, fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
}

// look tells what a declaration mentions, makes and writes, and where that is.
func (c checked) look(decl ast.Decl, tell func(what, in string)) {
	in := c.types.Name()
	if f, ok := decl.(*ast.FuncDecl); ok {
		if f.Recv != nil {
			in = typeName(c.info.Types[f.Recv.List[0].Type].Type)
		}
		in += "." + f.Name.Name
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			tell(c.member(n), in)
		case *ast.CompositeLit:
			if len(n.Elts) > 0 {
				tell("make "+typeName(c.info.Types[n].Type), in)
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				c.writes(to, in, tell)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				c.writes(n.X, in, tell)
			}
		}
		return true
	})
}

func (c checked) writes(to ast.Expr, in string, tell func(what, in string)) {
	if s, ok := ast.Unparen(to).(*ast.SelectorExpr); ok {
		tell("write "+c.member(s), in)
	}
}

// member is the method or field that a selector leads to, as package.Type.name; empty for what is no member.
func (c checked) member(s *ast.SelectorExpr) string {
	sel, ok := c.info.Selections[s]
	if !ok {
		return ""
	}
	of := sel.Recv()
	for _, i := range sel.Index()[:len(sel.Index())-1] { // what is embedded
		if p, ok := of.Underlying().(*types.Pointer); ok {
			of = p.Elem()
		}
		of = of.Underlying().(*types.Struct).Field(i).Type()
	}
	return typeName(of) + "." + sel.Obj().Name()
}

// disguises are the interfaces that could stand for the pool of servers, so that nobody sees whom they call.
func (c checked) disguises() (names []string) {
	for e, tv := range c.info.Types {
		i, ok := tv.Type.Underlying().(*types.Interface)
		if !ok || !tv.IsType() {
			continue
		}
		for m := range i.Methods() {
			sig := m.Signature()
			if (m.Name() == "Call" || m.Name() == "Request") && sig.Params().Len() > 2 && sig.Results().Len() == 2 {
				names = append(names, types.ExprString(e))
			}
		}
	}
	return names
}

// typeName is a type's name with its package's, short; empty where it has none.
func typeName(of types.Type) string {
	if p, ok := of.(*types.Pointer); ok {
		of = p.Elem()
	}
	if n, ok := types.Unalias(of).(*types.Named); ok && n.Obj().Pkg() != nil {
		return strings.TrimPrefix(n.Obj().Pkg().Path(), "codemode/internal/") + "." + n.Obj().Name()
	}
	return ""
}
