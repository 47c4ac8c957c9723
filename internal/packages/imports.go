package packages

import (
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
)

// imports finds what modules of a site import as soon as they are imported themselves: import statements at the
// beginning of a line. Nothing is executed; a text that looks like one has no more effect than a package too much.
type imports struct {
	site    *site
	edges   map[string]map[string]bool // by distribution, the ones that it imports
	visited map[string]bool
}

var importText = lazyregexp.New(
	`(?m)^import[ \t]+([^\n#;]+)|^from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)`,
)

var moduleText = lazyregexp.New(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// maxModules is how many modules are looked through, of which pandas and what it needs has 3,000.
const maxModules = 20_000

// from looks through modules, and those that they import.
func (i *imports) from(modules []string) {
	if i.visited == nil {
		i.visited = map[string]bool{}
	}
	todo := slices.Clone(modules)
	for len(todo) > 0 && len(i.visited) < maxModules {
		module := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i.visited[module] {
			continue
		}
		i.visited[module] = true
		text, pkg, ok := i.source(module)
		if !ok {
			continue
		}
		for _, name := range imported(text, module, pkg) {
			i.edge(i.owner(module), i.owner(name))
			for at := range len(name) { // importing a.b.c imports a and a.b
				if name[at] == '.' {
					todo = append(todo, name[:at])
				}
			}
			todo = append(todo, name)
		}
	}
}

// owner is the distribution that a module is of; none where that is not known.
func (i *imports) owner(module string) string {
	top, _, _ := strings.Cut(module, ".")
	if owners := i.site.owners[top]; len(owners) == 1 {
		return owners[0]
	}
	return ""
}

func (i *imports) edge(from, to string) {
	if from == "" || to == "" || from == to {
		return
	}
	if i.edges[from] == nil {
		i.edges[from] = map[string]bool{}
	}
	i.edges[from][to] = true
}

// source is a module's text, and whether it is a package.
func (i *imports) source(module string) (text string, pkg, ok bool) {
	file := strings.ReplaceAll(module, ".", "/")
	if top, _, _ := strings.Cut(module, "."); i.site.owners[top] == nil {
		return "", false, false
	}
	if data, err := plainfile.ReadIn(i.site.root, file+"/__init__.py", maxMetadata); err == nil {
		return string(data), true, true
	}
	data, err := plainfile.ReadIn(i.site.root, file+".py", maxMetadata)
	return string(data), false, err == nil
}

// imported are the modules that a text imports, and what it takes from them, which may be modules, too.
func imported(text, module string, pkg bool) (names []string) {
	add := func(name string) {
		if moduleText().MatchString(name) {
			names = append(names, name)
		}
	}
	for _, m := range importText().FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			for name := range strings.SplitSeq(m[1], ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				add(name)
			}
			continue
		}
		base := absoluteModule(m[2], module, pkg)
		add(base)
		for line := range strings.Lines(strings.Trim(m[3], "()")) {
			line, _, _ = strings.Cut(line, "#")
			for name := range strings.SplitSeq(line, ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				add(base + "." + name)
			}
		}
	}
	return names
}

// absoluteModule is what a name that begins with dots means in a module.
func absoluteModule(name, module string, pkg bool) string {
	rest := strings.TrimLeft(name, ".")
	dots := len(name) - len(rest)
	if dots == 0 {
		return name
	}
	parts := strings.Split(module, ".")
	up := dots
	if pkg {
		up--
	}
	if up >= len(parts)+1 || len(parts)-up < 1 {
		return ""
	}
	parts = parts[:len(parts)-up]
	if rest != "" {
		parts = append(parts, rest)
	}
	return strings.Join(parts, ".")
}

// modules are those of a distribution that are imported by their users: its packages, and what is directly in them.
func (x *site) modules(d *distribution) (names []string) {
	for _, top := range d.tops {
		names = append(names, top)
		f, err := x.root.Open(top)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(maxModules) // of one that cannot be read, nothing is known
		f.Close()
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), ".py")
			if !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "test") && name != "conftest" &&
				moduleText().MatchString(name) && (e.IsDir() || name != e.Name()) {
				names = append(names, top+"."+name)
			}
		}
	}
	return names
}
