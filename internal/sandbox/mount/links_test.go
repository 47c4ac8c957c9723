package mount

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layout makes folders, links (NAME -> TARGET) and empty files in a folder.
func layout(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		at := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch {
		case isLink:
			must(t, os.Symlink(target, at))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(at, 0o755))
		default:
			must(t, os.WriteFile(at, nil, 0o600))
		}
	}
}

// TestLinked: what links in folders of code lead to is code as well, however many of them there are on the way; what
// is beside it is none.
func TestLinked(t *testing.T) {
	dir := realTemp(t)
	home := filepath.Join(dir, "home")
	layout(
		t, dir, "home/mine/", "code/src/side -> ../../libs/side", "libs/side/deep/", "libs/other/", "code/.git/x -> ../../libs/other",
		"code/loop -> ..", "code/around -> ../home", "code/yet -> ../later/yet", "later/",
		"code/one.py -> ../single/one.py", "single/one.py", "single/data/",
		"mono/app/node_modules/@ws/lib -> ../../../packages/lib", "mono/packages/lib/node_modules/@ws/two -> ../../../two",
		"mono/packages/two/src/", "mono/packages/three/", "mono/node_modules/three -> ../packages/three",
		"mono/app/node_modules/.store/a@1/node_modules/b -> ../../../../../../stored/b", "stored/b/",
		"mono/app/node_modules/p/lib/made -> ../../../../../libs/other",
	)
	starts := Linked([]Start{
		{Path: filepath.Join(dir, "code"), By: "code", Within: true, Links: true},
		{Path: filepath.Join(dir, "mono/app/node_modules"), By: "node", Within: true, Links: true},
	}, []string{home})
	for name, want := range map[string]string{
		"libs/side": "code", "libs/side/deep": "code", "libs/other": "", "later": "code", "home/mine": "", "home": "code",
		"single": "code", "single/data": "", "mono/packages/lib": "node", "mono/packages/two/src": "node",
		"mono/packages/three": "node", "stored/b": "node", "stored": "node",
	} {
		if s, _ := StartedFrom(filepath.Join(dir, name), starts); s.By != want {
			t.Errorf("%s: %q, want %q", name, s.By, want)
		}
	}
}

// TestModules: what Python can import from a folder is code with all below; in a home what is deeper is it in packages
// alone, since any folder could be one that it is in. Links lead there, too.
func TestModules(t *testing.T) {
	for _, inHome := range []bool{false, true} {
		dir := realTemp(t)
		layout(
			t, dir, "w/pk/sub/deep/", "w/pk/__init__.py", "w/space/sub/", "w/no-module/sub/", "w/linked -> ../libs/linked",
			"libs/linked/sub/", "w/whole -> ../libs/whole", "libs/whole/__init__.py", "libs/whole/sub/", "w/data.d -> ../libs/d",
			"libs/d/", "w/one.py -> ../single/one.py", "single/one.py", "single/x/",
		)
		starts := Linked([]Start{{Path: filepath.Join(dir, "w"), By: "python", Modules: true, Home: inHome}}, nil)
		for name, want := range map[string]bool{
			"w": true, "w/pk": true, "w/pk/sub": true, "w/pk/sub/deep": true, "w/space": true, "w/space/sub": !inHome,
			"w/no-module": false, "w/no-module/sub": false, "libs/linked": true, "libs/linked/sub": !inHome,
			"libs/whole": true, "libs/whole/sub": true, "libs/d": false, "single": true, "single/x": false,
		} {
			if s, found := StartedFrom(filepath.Join(dir, name), starts); found != want {
				t.Errorf("%s, in a home %v: %q, want %v", name, inHome, s.By, want)
			}
		}
	}
}

// TestLinkedBounds: a stranger's folder of links costs no more than so many of them, and those that lie less deep come
// first.
func TestLinkedBounds(t *testing.T) {
	dir := realTemp(t)
	layout(t, dir, "code/one -> ../libs/one", "libs/one/", "code/many/0/", "code/many/1/")
	for i := range linkTargets + 10 {
		must(t, os.Symlink(fmt.Sprintf("../../../none/%d", i), filepath.Join(dir, fmt.Sprintf("code/many/%d/%d", i%2, i))))
	}
	starts := Linked([]Start{{Path: filepath.Join(dir, "code"), By: "code", Within: true, Links: true}}, nil)
	if len(starts) > 1+linkTargets {
		t.Errorf("%d starts", len(starts))
	}
	if _, found := StartedFrom(filepath.Join(dir, "libs/one"), starts); !found {
		t.Error("the link that lies less deep is not seen")
	}
	deep := filepath.Join(dir, "down", strings.Repeat("d/", linkDepth+1))
	layout(t, deep, "link -> "+filepath.Join(dir, "libs/two"))
	starts = Linked([]Start{{Path: filepath.Join(dir, "down"), By: "code", Within: true, Links: true}}, nil)
	if len(starts) != 1 {
		t.Errorf("so deep there are %d starts", len(starts))
	}
}
