package packages

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/internal/hint"
	"codemode/internal/packages/packagestest"
)

// ownFolder is a folder of wheels of one's own.
func ownFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range []packagestest.Wheel{
		{Name: "own", Version: "1.0"},
		{Name: "own", Version: "1.1"},
		{Name: "own-on-top", Version: "1.0", Requires: []string{"own"}},
		{Name: "own-behind", Version: "1.0", Requires: []string{"own-on-top", "own<1.1"}},
		{Name: "own-lost", Version: "1.0", Requires: []string{"own-absent>=2"}},
		{Name: "own-first", Version: "1.0", Requires: []string{"own<1"}},
		{Name: "own-other", Version: "1.0", Within: "other"},
	} {
		if err := os.WriteFile(filepath.Join(dir, w.FileName()), w.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "own_source-1.0.tar.gz"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", texts)
		return
	}
	all := err.Error() + "\n" + strings.Join(hint.Of(err), "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%s\nhas no %q", all, text)
		}
	}
}

// TestIndexSilent: an index that gives no answer is an error, whatever folders have, and whatever is there already.
func TestIndexSilent(t *testing.T) {
	s := newStore(t)
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(packagestest.Wheel{Name: "elsewhere", Version: "1.0"})
	w := Wish{Requirements: []string{"own"}, Index: x.URL(), FindLinks: []string{ownFolder(t)}}
	lock, err := s.Resolve(t.Context(), w, nil, nil) // it does not have it, and says so
	if err != nil {
		t.Fatal(err)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer broken.Close()
	for index, want := range map[string]string{"http://127.0.0.1:1/simple": "connection refused", broken.URL: "403 Forbidden"} {
		w.Index, w.Requirements = index, []string{"own"}
		for _, keep := range []*Lock{nil, lock} {
			_, err := s.Resolve(t.Context(), w, keep, nil)
			wantError(t, err, index+" cannot be asked for \"own\": ", want, "; nothing was added", "--no-index")
		}
		w.Requirements = []string{"own-behind", "own"}
		_, err := s.Resolve(t.Context(), w, lock, nil)
		wantError(t, err, index+" cannot be asked for ", want)
	}
}

// TestBrokenOff: a wheel that pip fetches for its metadata, and does not get whole, is named, and so is the index.
func TestBrokenOff(t *testing.T) {
	s := newStore(t)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(make([]byte, 1000))
	}))
	defer broken.Close()
	x := packagestest.NewIndex()
	defer x.Close()
	large := packagestest.Wheel{Name: "large", Version: "1.0"}
	x.AddElsewhere(time.Time{}, large, broken.URL+"/"+large.FileName())
	_, err := s.Resolve(t.Context(), Wish{Requirements: []string{"large"}, Index: x.URL()}, nil, nil)
	wantError(t, err, x.URL()+" broke off in the middle of large-1.0-py3-none-any.whl", "; nothing was added")
}

// TestConflict: what stays as it is, and stands in the way, is named, in a command that lets it change.
func TestConflict(t *testing.T) {
	s := newStore(t)
	w := Wish{Requirements: []string{"own-on-top"}, Index: NoIndex, FindLinks: []string{ownFolder(t)}}
	lock, err := s.Resolve(t.Context(), w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Requirements = []string{"own-on-top", "own-behind==1.0"}
	_, err = s.Resolve(t.Context(), w, lock, []string{"own-behind"})
	wantError(t, err, "; own==1.1 is there, and stays; nothing was added",
		"to let own change with it: codemode packages add own-behind==1.0 own")
	w.Requirements = append(w.Requirements, "own")
	if _, err := s.Resolve(t.Context(), w, lock, []string{"own-behind", "own"}); err != nil {
		t.Errorf("the command that was told: %v", err)
	}
}

// TestLackingInFolders: what folders of wheels do not have is told by what they have.
func TestLackingInFolders(t *testing.T) {
	s := newStore(t)
	dir := ownFolder(t)
	for requirement, want := range map[string][]string{
		"own==9":         {`there is no version of "own" that is ==9; those for Python 3.14`, "are 1.0, 1.1; nothing was added"},
		"own-source":     {`of "own-source" there is source alone, and no wheel; nothing was added`},
		"own-absent":     {dir + ` has no package "own-absent", or no wheel of it; nothing was added`, "to ask one: --index URL"},
		"own-lost":       {dir + ` has no package "own-absent", which own-lost needs, or no wheel of it`},
		"own-other==1.0": {`no version of "own-other" that is ==1.0 can be used: its METADATA`},
		"own-first":      {`there is no version of "own" that is <1, which own-first needs; those for Python 3.14`},
		"own-other":      {`no version of "own-other" can be used: its METADATA cannot be read, or names another package or version than its file; those for Python 3.14`, "are 1.0; nothing was added"},
	} {
		_, err := s.Resolve(t.Context(), Wish{Requirements: []string{requirement}, Index: NoIndex, FindLinks: []string{dir}}, nil, nil)
		wantError(t, err, want...)
	}
}
