package packages

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/hint"
)

// newSite is a folder with files in it.
func newSite(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// egg is a distribution as Debian has it: without a list of files, and without what it needs.
func egg(name, version string, files map[string]string) map[string]string {
	about := name + "-" + version + ".egg-info/"
	all := maps.Clone(files)
	all[about+"PKG-INFO"] = "Metadata-Version: 1.1\nName: " + name + "\nVersion: " + version + "\nLicense: MIT\n"
	tops := map[string]bool{}
	for file := range files {
		top, _, _ := strings.Cut(file, "/")
		top, _, _ = strings.Cut(top, ".")
		tops[top] = true
	}
	all[about+"top_level.txt"] = strings.Join(slices.Sorted(maps.Keys(tops)), "\n") + "\nsrc\n"
	return all
}

// wheelInstall is a distribution as pip installs it.
func wheelInstall(name, version, needs string, files map[string]string) map[string]string {
	about := name + "-" + version + ".dist-info/"
	all := maps.Clone(files)
	all[about+"METADATA"] = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + needs + "\nText\n"
	record := about + "RECORD,,\n../../../bin/" + name + ",sha256=x,1\n" + name + "-nspkg.pth,,\n"
	for file := range files {
		record += file + ",sha256=of-what-it-was-before,7\n"
	}
	all[about+"RECORD"] = record
	return all
}

func join(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, files := range all {
		maps.Copy(out, files)
	}
	return out
}

func fromSite(dir string, names ...string) Wish {
	return Wish{Requirements: names, Index: NoIndex, From: []From{{dir, names}}}
}

// TestFrom: what is installed in a folder comes with what it needs there, by its own word and by what its modules import,
// in the versions that are there; and it is the same wheel each time.
func TestFrom(t *testing.T) {
	dir := newSite(t, join(
		egg("table-kit", "2.1", map[string]string{
			"table_kit/__init__.py": "\"\"\"A table.\n\"\"\"\nfrom . import core as _core\n",
			"table_kit/core.py":     "import os, numbers_kit.exact\ntry:\n    import absent_kit\nexcept ImportError: pass\n",
			"table_kit/plots.py":    "from plot_kit import (\n    bar,  # of bars\n    line)\n",
			"table_kit/deep/far.py": "import far_kit\n",
			"table_kit/data.csv":    "1,2\n", "table_kit/__pycache__/core.cpython-311.pyc": "x",
			"table_kit.pth": "import os; os.abort()\n",
		}),
		wheelInstall("numbers-kit", "0.0", "Requires-Dist: words-kit>=3; python_version > '3'\n", map[string]string{
			"numbers_kit/__init__.py": "", "numbers_kit/exact.py": "one = 1\n", "numbers_kit/gone.txt": "",
		}),
		wheelInstall("words-kit", "1.0", "Requires-Dist: far-kit; extra == 'far'\n", map[string]string{"words_kit.py": ""}),
		egg("plot-kit", "3", map[string]string{"plot_kit.py": "bar = line = None\n"}),
		egg("far-kit", "1", map[string]string{"far_kit.py": ""}),
	))
	if err := os.Remove(filepath.Join(dir, "numbers_kit/gone.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "table_kit/passwd.txt")); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	lock := add(t, s, fromSite(dir, "table-kit"))
	var got []string
	for _, p := range lock.Packages {
		got = append(got, p.Name+" "+p.Version)
	}
	if want := "numbers-kit 0.0, plot-kit 3, table-kit 2.1, words-kit 1.0"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if notes := strings.Join(lock.Notes, "\n"); !strings.Contains(notes, "table-kit 2.1 without links") ||
		!strings.Contains(notes, "numbers-kit 0.0 without") || strings.Count(notes, "\n") != 1 {
		t.Errorf("it is told that %q", lock.Notes)
	}
	abi, err := s.Source.ABI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layer, there := s.Layer(lock, abi)
	if !there {
		t.Fatal("there is no layer")
	}
	for name, want := range map[string]bool{
		"table_kit/core.py": true, "table_kit/data.csv": true, "numbers_kit/exact.py": true, "plot_kit.py": true,
		"table_kit/passwd.txt": false, "table_kit.pth": false, "far_kit.py": false,
		"table_kit/__pycache__/core.cpython-311.pyc": false,
	} {
		if _, err := os.Lstat(filepath.Join(layer.Host, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What stays needs the folder no more; what is asked for anew is looked for there again.
	again, err := s.Resolve(t.Context(), lock.Asked(), nil, nil)
	if err != nil || string(again.encode()) != string(lock.encode()) {
		t.Errorf("%v: made again it is\n%s\nand was\n%s", err, again.encode(), lock.encode())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if again, err = s.Resolve(t.Context(), lock.Asked(), lock, []string{}); err != nil || len(again.Packages) != 4 {
		t.Errorf("%v: what stays was looked for again", err)
	}
	_, err = s.Resolve(t.Context(), lock.Asked(), lock, []string{"table-kit"})
	if err == nil || !strings.Contains(err.Error(), "--from") {
		t.Errorf("%v, where the folder is gone", err)
	}
	if without, err := lock.Without([]string{"table-kit"}); err != nil || len(without.Asked().From) != 0 {
		t.Errorf("%v: of nothing %v is remembered", err, without.Asked().From)
	}
}

// TestFromRefuses: what cannot be taken from a folder is refused with the reason, and nothing of it is left behind.
func TestFromRefuses(t *testing.T) {
	machine := machines[runtime.GOARCH]
	one := map[string]string{"kit/__init__.py": ""}
	with := func(name string) map[string]string { return join(one, map[string]string{"kit/" + name: "x"}) }
	for want, c := range map[string]struct {
		files map[string]string
		spoil func(dir string) error
	}{
		"kit 1.0 in .* is for cp311-cp311-linux_" + machine: {files: egg("kit", "1.0",
			with("_c.cpython-311-"+machine+"-linux-gnu.so"))},
		"is for cp314-cp314-linux_s390x":                 {files: egg("kit", "1.0", with("_c.cpython-314-s390x-linux-gnu.so"))},
		`"kit/_c.so" does not say which Python's it is`:  {files: egg("kit", "1.0", with("_c.so"))},
		`"kit/odd.py" is a link`:                         {egg("kit", "1.0", one), link("kit/odd.py")},
		`no regular file`:                                {egg("kit", "1.0", one), fifo("kit/queue")},
		`would run as another user`:                      {egg("kit", "1.0", with("run")), setID("kit/run")},
		`it is of kit, other`:                            {files: join(egg("kit", "1.0", one), egg("other", "1", with("b.py")))},
		`neither RECORD nor top_level.txt`:               {egg("kit", "1.0", one), gone("kit-1.0.egg-info/top_level.txt")},
		`"kit/__init__.py" is in its RECORD, and not`:    {wheelInstall("kit", "1.0", "", one), gone("kit/__init__.py")},
		`nothing that could be imported is there`:        {files: wheelInstall("kit", "1.0", "", map[string]string{"kit/a.txt": ""})},
		`no package "kit" is installed in`:               {files: egg("other", "1.0", one)},
		`it is there twice`:                              {files: join(egg("kit", "1.0", one), egg("kit", "2.0", one))},
		`names no package and version`:                   {files: egg("kit", "1 0", one)},
		`differ by case alone`:                           {files: egg("kit", "1.0", with("__INIT__.py"))},
		`no version of "absent"|absent`:                  {files: wheelInstall("kit", "1.0", "Requires-Dist: absent\n", one)},
		`leads out of its folder|control character|name`: {files: egg("kit", "1.0", with("a\nb.py"))},
	} {
		dir := newSite(t, c.files)
		if c.spoil != nil {
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
		}
		s := newStore(t)
		_, err := s.Resolve(t.Context(), fromSite(dir, "kit"), nil, nil)
		if err == nil || !matches(want, err.Error()) {
			t.Errorf("%q: %v", want, err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.installed(), tempName+"*")); len(left) > 0 {
			t.Errorf("%q: %v is left", want, left)
		}
	}
	_, err := newStore(t).Resolve(t.Context(), fromSite(filepath.Join(t.TempDir(), "x"), "kit"), nil, nil)
	if err == nil || len(hint.Of(err)) == 0 || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v, of no folder", err)
	}
}

func matches(want, text string) bool {
	for one := range strings.SplitSeq(want, "|") {
		before, after, _ := strings.Cut(one, ".*")
		if _, rest, ok := strings.Cut(text, before); ok && strings.Contains(rest, after) {
			return true
		}
	}
	return false
}

func link(name string) func(string) error {
	return func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, name)) }
}

func fifo(name string) func(string) error {
	return func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, name), 0o600) }
}

func setID(name string) func(string) error {
	return func(dir string) error { return os.Chmod(filepath.Join(dir, name), 0o755|os.ModeSetuid) }
}

func gone(name string) func(string) error {
	return func(dir string) error { return errors.Join(os.Remove(filepath.Join(dir, name))) }
}

// TestFromTags: by the names of its compiled files, a distribution is for the Pythons that can load all of them.
func TestFromTags(t *testing.T) {
	m := machines[runtime.GOARCH]
	d := &distribution{tags: []string{"cp36-abi3-manylinux_2_28_" + m}}
	for want, names := range map[string][]string{
		"py3-none-any":                       {"a.py", "data/b.csv"},
		"cp36-abi3-linux_" + m:               {"a.abi3.so", "a.libs/libz-1.so.2"},
		"cp311-cp311-linux_" + m:             {"a.cpython-311-" + m + "-linux-gnu.so", "b.abi3.so"},
		"cp310.cp311-cp310.cp311-linux_" + m: {"a.cpython-311-" + m + "-linux-gnu.so", "a.cpython-310-" + m + "-linux-gnu.so"},
		"cp314-cp314t-linux_" + m:            {"a.cpython-314t-" + m + "-linux-gnu.so"},
		"py3-none-linux_" + m:                {"a.py", "lib/liba.so"},
		"cp36-abi3-linux_" + m + " ":         {"a.so"},
	} {
		var files []siteFile
		for _, name := range names {
			files = append(files, siteFile{path: name})
		}
		if tag, err := d.tag(files); err != nil || tag != strings.TrimSpace(want) {
			t.Errorf("%v: %q, want %q (%v)", names, tag, want, err)
		}
	}
	if tag, err := (&distribution{}).tag([]siteFile{{path: "a.abi3.so"}}); err != nil || !fits(tag, "cpython-39") {
		t.Errorf("%q: %v", tag, err)
	}
}

func TestEggNeeds(t *testing.T) {
	got := eggNeeds("one>=1\n\n[:python_version < \"3\"]\ntwo\n\n[tests]\nthree\n\n[tests:sys_platform == \"x\"]\nfour\n")
	if want := `one>=1,two; python_version < "3"`; strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFromInTheWay: what was taken from a folder, and stands in the way, is named as its user knows it, without the
// address of the wheel that was made of it.
func TestFromInTheWay(t *testing.T) {
	s := newStore(t)
	w := fromSite(newSite(t, egg("own", "1.1", map[string]string{"own.py": ""})), "own")
	lock := add(t, s, w)
	w.Requirements, w.FindLinks = []string{"own", "own-behind"}, []string{ownFolder(t)}
	_, err := s.Resolve(t.Context(), w, lock, []string{"own-behind"})
	wantError(t, err, "; own==1.1 is there, and stays; nothing was added",
		"to let own change with it: codemode packages add own-behind own")
	if err != nil && strings.Contains(err.Error(), "file://") {
		t.Error(err)
	}
}

// TestSums: a wheel of which a file has hashes is one of these; others may be any.
func TestSums(t *testing.T) {
	s := newStore(t)
	w := Wish{Requirements: []string{"own-on-top"}, Index: NoIndex, FindLinks: []string{ownFolder(t)}}
	lock, err := s.Resolve(t.Context(), w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := lock.Find("own")
	bad, good := strings.Repeat("0", 64), own.Wheel().Hashes["sha256"]
	w.Sums = Sums{File: "names.txt", Of: map[string][]string{"own": {bad, good}}}
	if _, err := s.Resolve(t.Context(), w, nil, nil); err != nil {
		t.Error(err)
	}
	w.Sums.Of["own"] = []string{bad}
	_, err = s.Resolve(t.Context(), w, nil, nil)
	wantError(t, err, "own-1.1-py3-none-any.whl has the SHA-256 "+good+" at ", `and "names.txt" names others; nothing was added`)
}
