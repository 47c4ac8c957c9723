package testscripts

import (
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"codemode/internal/packages/packagestest"
)

// fakeIndex is an index of packages on loopback, whose address it writes to FILE; it ends by a signal. A shared object
// is a package, too, for every Python with the stable ABI.
func fakeIndex(args []string) int {
	if len(args) != 1 && len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fakeindex FILE [SHARED-OBJECT]")
		return 2
	}
	x := newIndex()
	defer x.Close()
	var err error
	if len(args) == 2 {
		err = addCompiled(x, args[1])
	}
	if err == nil {
		err = os.WriteFile(args[0]+".new", []byte(x.URL()+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(args[0]+".new", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeindex:", err)
		return 1
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	<-ended
	return 0
}

func addCompiled(x *packagestest.Index, object string) error {
	content, err := os.ReadFile(object)
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	x.Add(packagestest.Wheel{
		Name: "compiled", Version: "1.0", Tag: "cp39-abi3-linux_" + machine,
		Files: map[string]string{"compiled.abi3.so": string(content)},
	}, packagestest.Wheel{
		Name: "for314", Version: "1.0", Tag: "cp314-cp314-linux_" + machine, Files: map[string]string{"for314.py": ""},
	})
	return err
}

// fakeWheels puts wheels into a folder that no index has.
func fakeWheels(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: fakewheels FOLDER")
		return 2
	}
	err := os.MkdirAll(args[0], 0o755)
	for _, w := range []packagestest.Wheel{
		ownWheel("own", "1.0"), ownWheel("own", "1.1"), ownWheel("own-plain", "1.0"),
		ownWheel("own-on-top", "1.0", "own"), ownWheel("own-behind", "1.0", "own<1.1"), ownWheel("own-lost", "1.0", "own-absent"),
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(args[0], w.FileName()), w.Bytes(), 0o600)
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(args[0], "own_source-1.0.tar.gz"), []byte("a stranger's setup.py"), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakewheels:", err)
		return 1
	}
	return 0
}

func ownWheel(name, version string, needs ...string) packagestest.Wheel {
	return packagestest.Wheel{Name: name, Version: version, Requires: needs, Files: map[string]string{
		strings.ReplaceAll(name, "-", "_") + ".py": fmt.Sprintf("__version__ = %q\n", version),
	}}
}

// newIndex is an index of sound packages, which stand for pandas and its like, and of broken ones.
func newIndex() *packagestest.Index {
	x := packagestest.NewIndex()
	file := func(name, text string) map[string]string { return map[string]string{name: text} }
	wheel := func(name, version string) packagestest.Wheel {
		module := strings.ReplaceAll(name, "-", "_")
		return packagestest.Wheel{
			Name: name, Version: version, Files: file(module+"/__init__.py", fmt.Sprintf("__version__ = %q\n", version)),
		}
	}
	pandas := wheel("pandas", "2.3.1")
	pandas.Licence, pandas.Requires = "BSD-3-Clause", []string{"numpy>=1.26"}
	pandas.Files["pandas/__init__.py"] += standInFrame
	plots := wheel("matplotlib", "3.10.0")
	plots.Requires = []string{"numpy"}
	plots.Files["matplotlib/__init__.py"] += "import numpy\ndef use(backend): pass\n"
	plots.Files["matplotlib/pyplot.py"] = standInPlots
	numpy := wheel("numpy", "2.2.0")
	numpy.Files["later.pth"] = "import sys; sys.stderr.write('a .pth file was executed')\n"
	x.Add(pandas, plots, numpy, wheel("polite", "1.0"))
	x.Add(ownWheel("own", "9.0"), ownWheel("own-plain", "9.0")) // strangers' of those names
	other := packagestest.Wheel{Name: "scikit-learn", Version: "1.7", Files: map[string]string{
		"sklearn/__init__.py": "", "threads.py": "", "_private/__init__.py": "", "scikit_learn.libs/some.so": "",
		"README": "no module",
	}}
	x.Add(other)
	x.Add(wheel("fresh", "1.0"))
	x.AddAt(time.Now().Add(-time.Hour), wheel("fresh", "2.0"))
	x.AddAt(time.Now().Add(-time.Hour), wheel("brand-new", "1.0"))
	x.AddAt(time.Time{}, wheel("undated", "1.0"))
	old := wheel("wants-old-numpy", "1.0")
	old.Requires = []string{"numpy<2"}
	x.Add(old)

	for name, spoil := range map[string]func(*packagestest.Wheel){
		"escaping": func(w *packagestest.Wheel) { w.Files["../../outside.py"] = "" },
		"absolute": func(w *packagestest.Wheel) { w.Files["/tmp/outside.py"] = "" },
		"linked": func(w *packagestest.Wheel) {
			w.Files["linked/passwd"] = "/etc/passwd"
			w.Modes = map[string]fs.FileMode{"linked/passwd": fs.ModeSymlink | 0o777}
		},
		"setuid": func(w *packagestest.Wheel) {
			w.Modes = map[string]fs.FileMode{"setuid/__init__.py": fs.ModeSetuid | 0o755}
		},
		"fifo": func(w *packagestest.Wheel) {
			w.Files["fifo/queue"] = ""
			w.Modes = map[string]fs.FileMode{"fifo/queue": fs.ModeNamedPipe | 0o644}
		},
		"tampered": func(w *packagestest.Wheel) {
			w.Record = map[string]string{"tampered/__init__.py": "tampered/__init__.py,sha256=" + strings.Repeat("A", 43) + ",20"}
		},
		"unlisted": func(w *packagestest.Wheel) { w.Unlisted = []string{"unlisted/__init__.py"} },
		"cased":    func(w *packagestest.Wheel) { w.Files["Cased/other.py"] = "" },
		"posing":   func(w *packagestest.Wheel) { w.Dir = "pandas-9.dist-info" },
		"covering": func(w *packagestest.Wheel) { w.Files["polite.py"] = "" },
		"elsewhere": func(w *packagestest.Wheel) {
			w.Tag = "cp314-cp314-win_arm64"
		},
	} {
		w := wheel(name, "1.0")
		spoil(&w)
		x.Add(w)
	}
	large := wheel("large", "1.0")
	large.Zeros = 16 << 20
	x.Add(large)
	x.AddFile("source-only", "source_only-1.0.tar.gz", []byte("a stranger's setup.py"))
	x.Add(wheel("lied-about", "1.0"), wheel("withdrawn", "1.0"))
	x.Change("lied-about", strings.Repeat("0", 64), nil, nil)
	x.Change("withdrawn", "", nil, "it eats files")
	return x
}

// standInFrame is as much of pandas as the guide's example uses.
const standInFrame = `
import csv, numpy

class _Column(list):
    def sum(self): return sum(self)

class _Groups:
    def __init__(self, frame, by): self.frame, self.by = frame, by
    def __getitem__(self, name):
        groups = {}
        for row in self.frame.rows:
            groups.setdefault(row[self.by], _Column()).append(float(row[name]))
        return _Totals(groups)

class _Totals:
    def __init__(self, groups): self.groups = groups
    def sum(self): return {k: v.sum() for k, v in self.groups.items()}

class DataFrame:
    def __init__(self, rows): self.rows = rows
    def groupby(self, by): return _Groups(self, by)

def read_csv(path):
    with open(path, newline="") as f:
        return DataFrame(list(csv.DictReader(f)))
`

// standInPlots is as much of matplotlib.
const standInPlots = `
import struct, zlib

def bar(names, values): pass

def savefig(path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(b"\x00\x00")) + chunk(b"IEND", b""))
`
