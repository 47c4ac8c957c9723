package packages

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// modules are those of a layer's packages, by their names, and whose they are.
type modules map[string]module

type module struct {
	file, sum string
	of        Package
}

// unimported are folders that packages have beside their own by mistake, and that nobody imports.
var unimported = []string{"tests", "test", "testing", "docs", "doc", "examples", "benchmarks", "scripts"}

// add takes up the modules of a wheel. That of another package is an error: code that imports the name, or will, would
// get the one that comes first. The same file in two packages is no matter, as where they share a folder.
func (m modules) add(p Package, a *archive) error {
	for _, kept := range a.kept {
		name, ok := moduleOf(kept.path)
		if top, _, _ := strings.Cut(name, "/"); !ok || slices.Contains(unimported, top) {
			continue
		}
		one := module{kept.path, a.record[kept.file.Name].sum, p}
		other, there := m[name]
		switch {
		case !there:
			m[name] = one
		case other.of.Name != p.Name && (other.file != one.file || other.sum != one.sum):
			return fmt.Errorf("its %q is the module %q, which is %q of %s %s", kept.path,
				strings.ReplaceAll(name, "/", "."), other.file, other.of.Name, other.of.Version)
		}
	}
	return nil
}

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
