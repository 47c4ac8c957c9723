package packages

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"codemode/internal/packages/packagestest"
)

// refused are wheels that are not as wheels are, and what is said of them. The scripts have more of them, by way of an
// index.
var refused = map[string]struct {
	spoil func(*packagestest.Wheel)
	want  string
}{
	"many files": {
		func(w *packagestest.Wheel) { w.More = 70_000 }, "it has more files or bytes than 65534 and 4 GiB",
	},
	"a control character": {
		func(w *packagestest.Wheel) { w.Files["a\nb.py"] = "" }, "has a control character",
	},
	"a name that is not UTF-8": {
		func(w *packagestest.Wheel) { w.Files["\xff\xfe.py"] = "" }, "is not UTF-8",
	},
	"a name of 256 bytes": {
		func(w *packagestest.Wheel) { w.Files[strings.Repeat("n", 256)] = "" }, "is too long",
	},
	"a backslash": {
		func(w *packagestest.Wheel) { w.Files[`..\..\outside.py`] = "" }, "leads out of its folder",
	},
	"a dot in the middle": {
		func(w *packagestest.Wheel) { w.Files["kit/../../../outside.py"] = "" }, "leads out of its folder",
	},
	"an empty part": {
		func(w *packagestest.Wheel) { w.Files["kit//x.py"] = "" }, "leads out of its folder",
	},
	"the .data folder leads out": {
		func(w *packagestest.Wheel) { w.Files["kit-1.0.data/purelib/../../../x.py"] = "" }, "leads out of its folder",
	},
	"a device": {
		func(w *packagestest.Wheel) {
			w.Modes = map[string]fs.FileMode{"kit.py": fs.ModeDevice | fs.ModeCharDevice | 0o666}
		}, "is no regular file",
	},
	"set-group-id": {
		func(w *packagestest.Wheel) { w.Modes = map[string]fs.FileMode{"kit.py": fs.ModeSetgid | 0o755} },
		"would run as another user",
	},
	"a file twice": {
		func(w *packagestest.Wheel) { w.Twice = []string{"kit.py"} }, `"kit.py" is in it twice`,
	},
	"a file and a folder of one name": {
		func(w *packagestest.Wheel) { w.Files["kit.py/x.py"] = "" }, `"kit.py" is a file in it, and a folder`,
	},
	"a folder in two cases": {
		func(w *packagestest.Wheel) { w.Files["Sub/a.py"], w.Files["sub/b.py"] = "", "" }, "differ by case alone",
	},
	"a size that is not RECORD's": {
		func(w *packagestest.Wheel) {
			w.Record = map[string]string{"kit.py": "kit.py,sha256=" + strings.Repeat("A", 43) + ",9"}
		}, `"kit.py" has 6 bytes, and 9 in its RECORD`,
	},
	"no hash": {
		func(w *packagestest.Wheel) { w.Record = map[string]string{"kit.py": "kit.py,,"} }, "has no SHA-256 of",
	},
	"a weak hash": {
		func(w *packagestest.Wheel) { w.Record = map[string]string{"kit.py": "kit.py,md5=abc,6"} }, "has no SHA-256 of",
	},
	"a RECORD of files that are not there": {
		func(w *packagestest.Wheel) { w.Record = map[string]string{"kit.py": "gone.py,sha256=abc,6"} }, "RECORD",
	},
	"a RECORD that is no table": {
		func(w *packagestest.Wheel) { w.Record = map[string]string{"kit.py": `"kit.py`} }, "its RECORD",
	},
	"another version": {func(w *packagestest.Wheel) { w.Dir = "kit-2.0.dist-info" }, "should be of kit 1.0"},
	"two packages": {
		func(w *packagestest.Wheel) { w.Files["other-1.0.dist-info/METADATA"] = "" }, "it is of two packages",
	},
}

func TestRefusedWheels(t *testing.T) {
	for name, tt := range refused {
		t.Run(name, func(t *testing.T) {
			w := packagestest.Wheel{Name: "kit", Version: "1.0", Files: map[string]string{"kit.py": "x = 1\n"}}
			tt.spoil(&w)
			dir := t.TempDir()
			err := unpackBytes(t, dir, w.Bytes())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*outside*")); len(found) > 0 {
				t.Errorf("there is %q", found)
			}
		})
	}
}

// unpackBytes unpacks a wheel that is called kit 1.0 into a folder.
func unpackBytes(t *testing.T, dir string, content []byte) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	file := filepath.Join(t.TempDir(), "kit.whl")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := openArchive(f, Package{Name: "kit", Version: "1.0"})
	if err != nil {
		return err
	}
	_, err = a.unpack(root, 1<<20)
	return err
}

// TestBomb: a file that is small in the wheel and large outside ends when there is no room for it, whatever size the
// archive says it has.
func TestBomb(t *testing.T) {
	w := packagestest.Wheel{Name: "kit", Version: "1.0", Zeros: 8 << 20}
	content := w.Bytes()
	if len(content) > 100_000 {
		t.Fatalf("%d bytes are no bomb", len(content))
	}
	dir := t.TempDir()
	if err := unpackBytes(t, dir, content); err == nil || !strings.Contains(err.Error(), "would take more than") {
		t.Errorf("got %v", err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "zeros.bin")); err != nil || fi.Size() > 1<<20+1 {
		t.Errorf("%v, %v: more was written than there was room for", fi, err)
	}
	size := binary.LittleEndian.AppendUint32(nil, 8<<20)
	lying := bytes.ReplaceAll(content, size, binary.LittleEndian.AppendUint32(nil, 100))
	if err := unpackBytes(t, t.TempDir(), lying); err == nil {
		t.Error("an archive that lies about a size is taken")
	}
}

// TestKept: what a layer is made of, and what of a wheel is not.
func TestKept(t *testing.T) {
	w := packagestest.Wheel{Name: "kit", Version: "1.0", Files: map[string]string{
		"kit/__init__.py": "", "kit-1.0.data/purelib/more.py": "", "kit-1.0.data/platlib/kit/fast.py": "",
		"kit-1.0.data/scripts/kit": "#!python", "kit-1.0.data/data/etc/passwd": "", "kit.pth": "import os",
		strings.Repeat("é", 127) + ".": "", // a name of 255 bytes
	}}
	dir := t.TempDir()
	if err := unpackBytes(t, dir, w.Bytes()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"kit/__init__.py": true, "more.py": true, "kit/fast.py": true, "kit": true, "kit-1.0.data": false,
		"etc/passwd": false, "kit.pth": false, strings.Repeat("é", 127) + ".": true,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%.20s: %v, want it there: %v", name, err, want)
		}
	}
}

// FuzzWheel: whatever an archive is, it ends with a folder or an error.
func FuzzWheel(f *testing.F) {
	w := packagestest.Wheel{Name: "kit", Version: "1.0", Files: map[string]string{"kit.py": "x = 1\n"}}
	f.Add(w.Bytes())
	w.Files["../x"] = ""
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = unpackBytes(t, dir, content)
		if entries, _ := os.ReadDir(outer); len(entries) != 1 {
			t.Errorf("%v was written outside", entries)
		}
	})
}

func TestRequirements(t *testing.T) {
	for text, bad := range map[string]bool{
		"pandas": false, "pandas>=2,<3": false, "pandas[excel]==2.3.1": false, "a; python_version < '3'": false,
		"ruamel.yaml": false, "": true, "-e .": true, "--index-url=https://x": true, "./x.whl": true, "x.whl": true,
		"a @ https://x/a.whl": true, "git+https://x/y": true, "a\n--pre": true, `a \`: true, "../x": true, "a b": true,
	} {
		if err := CheckRequirement(text); (err != nil) != bad {
			t.Errorf("%q: %v", text, err)
		}
	}
	one, other := strings.Repeat("1", 64), strings.Repeat("a", 64)
	list, sums, err := ParseRequirements("\ufeff# all\n\npandas>=2 # and more\r\nNum.Py==2.2.0 \\\n  --hash=sha256:" + one +
		" \\\n  --hash sha256:" + other + "\n")
	if err != nil || !slices.Equal(list, []string{"pandas>=2", "Num.Py==2.2.0"}) || len(sums) != 1 ||
		!slices.Equal(sums["num-py"], []string{one, other}) {
		t.Errorf("%q, %q, %v", list, sums, err)
	}
	for _, hash := range []string{"", "=", "=sha256:00", "=md5:" + one, "=sha512:" + one + one, "=" + one, "es=sha256:" + one} {
		if list, _, err := ParseRequirements("kit --hash" + hash + "\n"); err == nil || !strings.Contains(err.Error(), "line 1 ") {
			t.Errorf("the hash %q is taken: %q, %v", hash, list, err)
		}
	}
}

// TestLockIsChecked: a lock names wheels by their hashes, at addresses without a password, and nothing else.
func TestLockIsChecked(t *testing.T) {
	entry := func(name, file, address, sum string) string {
		return "lock-version = '1.0'\n[[packages]]\nname = '" + name + "'\nversion = '1'\n[[packages.wheels]]\nname = '" +
			file + "'\nurl = '" + address + "'\nhashes = {sha256 = '" + sum + "'}\n"
	}
	sum, file := strings.Repeat("a", 64), "kit-1-py3-none-any.whl"
	if _, err := ParseLock([]byte(entry("kit", file, "https://x/"+file, sum))); err != nil {
		t.Fatal(err)
	}
	secret := (&url.URL{Scheme: "https", User: url.UserPassword("me", "s3cret"), Host: "x"}).String()
	for _, text := range []string{
		entry("kit", "../"+file, "https://x/", sum), entry("kit", file, "ftp://x/", sum), entry("kit", file, "https://x/", "b"),
		entry("../kit", file, "https://x/", sum), entry("kit", file, secret, sum), entry("other", file, "https://x/", sum),
		"lock-version = '2.0'", "packages = 3", strings.Repeat("#", maxLock+1),
	} {
		_, err := ParseLock([]byte(text))
		if err == nil {
			t.Errorf("taken: %.300s", text)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has a password in it: %v", err)
		}
	}
}

func TestScriptNeeds(t *testing.T) {
	const begin, end = "# /// script\n", "# ///\n"
	for _, tt := range []struct {
		code, want string
		bad        bool
	}{
		{"print(1)\n", "", false},
		{begin + "# dependencies = ['a', 'b>=1']\n" + end + "print(1)", "a b>=1", false},
		{begin + "# dependencies = [\n#   'a',\n#\n# ]\n" + end, "a", false},
		{begin + "# dependencies = ['a']\nprint(1)\n", "", false}, // it has no end, so it is a comment
		{"x = 1\r\n# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", "a", false},
		{begin + "# dependencies = 'a'\n" + end, "", true},
		{begin + "# dependencies = [1]\n" + end, "", true},
		{begin + "# requires-python = 3.11\n" + end, "", true},
		{begin + end + "\n" + begin + end, "", true},
		{begin + "# requires-python = 'yes'\n" + end, "", true},
	} {
		got, err := ScriptNeeds(tt.code)
		if strings.Join(got.Dependencies, " ") != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q: %q, %v", tt.code, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "packages.Head") {
			t.Errorf("%q: the error is for who has written codemode: %v", tt.code, err)
		}
	}
}

func TestFitsPython(t *testing.T) {
	for _, tt := range []struct {
		requires string
		fits     bool
	}{
		{"", true},
		{">=3.9", true},
		{">=3.11, <4", true},
		{">=3.15", false},
		{"<3.14", false},
		{"<=3.14", false}, // 3.14.6 is later
		{">3.14.6", false},
		{"==3.14.*", true},
		{"==3.1.*", false},
		{"!=3.14.*", false},
		{"==3.14", false},
		{"===3.14.6", true},
		{"~=3.13", true},
		{"~=3.13.2", false},
		{"~=3.14.2", true},
		{"==3.14.6.0", true},
	} {
		if fits, err := FitsPython(tt.requires, "3.14.6"); err != nil || fits != tt.fits {
			t.Errorf("%q: %v, %v", tt.requires, fits, err)
		}
	}
	for _, bad := range []string{"3", ">=x", "~=3", ">=3.*", ">= 3 < 4"} {
		if _, err := FitsPython(bad, "3.14.6"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestLongHead holds that a stranger's head, however long, is refused by the time that its bytes take.
func TestLongHead(t *testing.T) {
	code := "# /// script\n" + strings.Repeat("# \"pkg\",\n", 50_000) + "# ///\nprint(1)\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ScriptNeeds(code)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "at most 65536 are read") {
		t.Errorf("a head of %d bytes: %v", len(code), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20*uint64(len(code)) {
		t.Errorf("a head of %d bytes took %d bytes of memory", len(code), used)
	}
}
