package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project is one whose folder has that lock.
func project(t *testing.T, text string) *Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".codemode"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, projectFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := ReadProject([]string{filepath.Join(dir, "none"), dir})
	if err != nil || p == nil {
		t.Fatalf("%v, %v", p, err)
	}
	return p
}

// TestProjectLock reads a lock as other tools write it: several wheels of a package, sources, markers, addresses.
func TestProjectLock(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	p := project(t, `lock-version = "1.0"
created-by = "uv"
[[packages]]
name = "Poly_Lib"
version = "1.2.post1+local"
marker = "python_version >= '3.9' and sys_platform == 'linux'"
sdist = {url = "https://example.com/poly.tar.gz", hashes = {sha256 = "`+sum+`"}}
wheels = [
  {url = "https://example.com/a.whl", hashes = {sha256 = "`+sum+`"}},
  {url = "file:///etc/passwd", hashes = {md5 = "00"}},
]`)
	requirements, sums, err := p.parse()
	want := "Poly_Lib==1.2.post1+local; python_version >= '3.9' and sys_platform == 'linux'"
	if err != nil || len(requirements) != 1 || requirements[0] != want {
		t.Errorf("%q, %v", requirements, err)
	}
	if len(sums) != 1 || len(sums["poly-lib"]) != 1 || sums["poly-lib"][0] != sum {
		t.Errorf("hashes %v", sums)
	}
}

// TestProjectLockRefused holds that nothing of a stranger's reaches pip but names, versions and markers.
func TestProjectLockRefused(t *testing.T) {
	const wheels = "\nwheels = [{hashes = {}}]"
	for text, why := range map[string]string{
		``: "lock-version",
		`lock-version = "2.0"` + "\n[[packages]]\nname = 'a'\nversion = '1'" + wheels: "lock-version",
		`lock-version = "1.0"`:                             "no packages",
		pkg("name = '-r'\nversion = '1'" + wheels):         "no name of a package",
		pkg("name = 'a'\nversion = '1 --pre'" + wheels):    "no version",
		pkg("name = 'a'\nversion = \"1\\n-r x\"" + wheels): "no version",
		pkg("name = 'a'" + wheels):                         "no version",
		pkg("name = 'a'\nversion = '1'"):                   "no wheel",
		pkg("name = 'a'\nversion = '1'\nmarker = 'os_name == \"x\" --config-settings a'" + wheels): "marker",
		pkg("name = 'a'\nversion = '1'\nmarker = \"x\\n-i y\"" + wheels):                           "marker",
		pkg("name = 'a'\nversion = '1'\nmarker = '@ https://example.com'" + wheels):                "marker",
	} {
		if _, _, err := project(t, text).parse(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s\nis refused as %v, and not for %q", text, err, why)
		}
	}
}

func pkg(text string) string { return "lock-version = '1.0'\n[[packages]]\n" + text }
