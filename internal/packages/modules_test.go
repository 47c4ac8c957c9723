package packages

import (
	"archive/zip"
	"strings"
	"testing"
)

// TestModules: a module is one package's. Folders that several share, and the same file in each, are no matter.
func TestModules(t *testing.T) {
	for files, want := range map[string]string{
		"good.py":                                   "",
		"good.py good.py":                           `its "good.py" is the module "good", which is "good.py" of a 1.0`,
		"good.py good/__init__.py":                  `its "good/__init__.py" is the module "good", which is "good.py" of a 1.0`,
		"good.py good.cpython-314-x86_64-gnu.so":    `its "good.cpython-314-x86_64-gnu.so" is the module "good"`,
		"pkg/one.py pkg/one/__init__.py":            `is the module "pkg.one", which is "pkg/one.py" of a 1.0`,
		"pkg/one.py pkg/two.py":                     "",
		"pkg/__init__.py=same pkg/__init__.py=same": "",
		"tests/__init__.py tests/__init__.py":       "",
		"pkg/one.py pkg.py":                         `its "pkg.py" and "pkg/one.py" of a 1.0 are not found`,
		"pkg.py pkg/sub/one.py":                     `its "pkg/sub/one.py" and "pkg.py" of a 1.0 are not found`,
		"pkg/sub/one.py pkg/sub.py":                 `its "pkg/sub.py" and "pkg/sub/one.py" of a 1.0 are not found`,
		"pkg/one.py pkg/__init__.py":                "", // as namespace packages of old have it
		"pkg/data.json pkg/data.json":               "",
		"good.py good.pyi":                          "",
	} {
		has := newModules()
		var err error
		for i, file := range strings.Fields(files) {
			name, sum, _ := strings.Cut(file, "=")
			if sum == "" {
				sum = string(rune('a' + i))
			}
			f := &zip.File{FileHeader: zip.FileHeader{Name: name}}
			a := &archive{record: map[string]recorded{name: {sum: sum}}, kept: []member{{f, name}}}
			if err == nil {
				err = has.add(Package{Name: string(rune('a' + i)), Version: "1.0"}, a)
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", files, err, want)
		}
	}
}
