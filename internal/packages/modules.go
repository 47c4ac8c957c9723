package packages

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// modules are those of a layer's packages, and whose they are.
type modules struct {
	named map[string]module
	in    map[string]module // one for each folder: of the first package that has any there
}

func newModules() modules { return modules{map[string]module{}, map[string]module{}} }

type module struct {
	file, sum string
	of        Package
}

// unimported are folders that packages have beside their own by mistake, and that nobody imports.
var unimported = []string{"tests", "test", "testing", "docs", "doc", "examples", "benchmarks", "scripts"}

// add takes up the modules of a wheel. That of another package is an error: code that imports the name, or will, would
// get the one that comes first. The same file in two packages is no matter, as where they share a folder; but a module
// hides a folder of its name that is no package by itself.
func (m modules) add(p Package, a *archive) error {
	for _, kept := range a.kept {
		name, ok := moduleOf(kept.path)
		if top, _, _ := strings.Cut(name, "/"); !ok || slices.Contains(unimported, top) {
			continue
		}
		one := module{kept.path, a.record[kept.file.Name].sum, p}
		other, there := m.named[name]
		if there && other.of.Name != p.Name && (other.file != one.file || other.sum != one.sum) {
			return fmt.Errorf("its %q is the module %q, which is %q of %s %s", kept.path,
				strings.ReplaceAll(name, "/", "."), other.file, other.of.Name, other.of.Version)
		}
		if other, hides := m.hidden(name, one); hides {
			return fmt.Errorf("its %q and %q of %s %s are not found beside one another", kept.path,
				other.file, other.of.Name, other.of.Version)
		}
		if !there {
			m.named[name] = one
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				if _, known := m.in[dir]; !known {
					m.in[dir] = one
				}
			}
		}
	}
	return nil
}

// hidden is a module of another package that a module hides as a file, or that hides it.
func (m modules) hidden(name string, one module) (other module, hides bool) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if above, there := m.named[dir]; there && above.of.Name != one.of.Name && !above.isFolder() {
			return above, true
		}
	}
	other, there := m.in[name]
	return other, there && other.of.Name != one.of.Name && !one.isFolder()
}

// isFolder says whether a module is a package.
func (m module) isFolder() bool { return strings.HasPrefix(path.Base(m.file), "__init__.") }

// moduleOf is the module that a file is, with / for the dots of its name.
func moduleOf(file string) (name string, ok bool) {
	dir, base := path.Split(file)
	stem, ending, _ := strings.Cut(base, ".")
	if ending != "py" && ending != "pyc" && !strings.HasSuffix("."+ending, ".so") {
		return "", false
	}
	if stem == "__init__" {
		return strings.TrimSuffix(dir, "/"), dir != ""
	}
	return dir + stem, true
}
