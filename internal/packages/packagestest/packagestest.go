// Package packagestest makes wheels, sound and broken ones, and serves an index of them on loopback.
//
// It is for tests, downloads nothing and keeps nothing: what it makes is bytes. Who starts an Index closes it.
package packagestest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Wheel is what a wheel is made of.
type Wheel struct {
	Name, Version string
	Requires      []string          // PEP 508
	Licence       string            // an SPDX expression
	Files         map[string]string // by path
	Tag           string            // py3-none-any where it is empty

	Modes    map[string]fs.FileMode // of files, with their types
	Twice    []string               // files that are in it a second time, empty
	Unlisted []string               // files that RECORD leaves out
	Record   map[string]string      // lines of RECORD in the place of those that would be right
	Dir      string                 // of its .dist-info, where it is another than is right
	Within   string                 // its name in METADATA, where it is another than is right
	More     int                    // empty files beside all that
	Zeros    int64                  // bytes of a file of zeros, which compresses well
}

// FileName is the wheel's.
func (w Wheel) FileName() string {
	tag := w.Tag
	if tag == "" {
		tag = "py3-none-any"
	}
	return strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + "-" + tag + ".whl"
}

// Metadata is its METADATA.
func (w Wheel) Metadata() string {
	text := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\n", cmp.Or(w.Within, w.Name), w.Version)
	if w.Licence != "" {
		text += "License-Expression: " + w.Licence + "\n"
	}
	for _, r := range w.Requires {
		text += "Requires-Dist: " + r + "\n"
	}
	return text
}

// Bytes is the wheel. Making it cannot fail: it is made in memory, and panics where its description is wrong.
func (w Wheel) Bytes() []byte {
	dir := w.Dir
	if dir == "" {
		dir = strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + ".dist-info"
	}
	files := maps.Clone(w.Files)
	if files == nil {
		files = map[string]string{}
	}
	files[dir+"/METADATA"] = w.Metadata()
	files[dir+"/WHEEL"] = "Wheel-Version: 1.0\nGenerator: packagestest\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	if w.Zeros > 0 {
		files["zeros.bin"] = strings.Repeat("\x00", int(w.Zeros))
	}
	for i := range w.More {
		files[fmt.Sprintf("many/%d", i)] = ""
	}
	var record strings.Builder
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		sum := sha256.Sum256([]byte(files[name]))
		line := fmt.Sprintf("%s,sha256=%s,%d", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
		if other, ok := w.Record[name]; ok {
			line = other
		}
		if !slices.Contains(w.Unlisted, name) {
			record.WriteString(line + "\n")
		}
	}
	record.WriteString(dir + "/RECORD,,\n")
	files[dir+"/RECORD"] = record.String()
	return w.pack(append(names, dir+"/RECORD"), files)
}

func (w Wheel) pack(names []string, files map[string]string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range append(names, w.Twice...) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if mode, ok := w.Modes[name]; ok {
			h.SetMode(mode)
		}
		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// An Index is a simple repository of PEP 503 and 691 on loopback.
type Index struct {
	Server *httptest.Server

	mu    sync.Mutex
	files map[string][]listed // by package
	asked []string            // what was requested, in order
}

// listed is a file of an index, and how it lists it.
type listed struct {
	name    string
	content []byte
	meta    string // PEP 658; empty is none
	sum     string
	upload  time.Time
	yanked  any
	url     string // as it is listed; empty is where the index has it
}

// NewIndex starts an index without packages.
func NewIndex() *Index {
	x := &Index{files: map[string][]listed{}}
	x.Server = httptest.NewServer(http.HandlerFunc(x.serve))
	return x
}

// URL is what --index takes.
func (x *Index) URL() string { return x.Server.URL + "/simple" }

// Close ends the index.
func (x *Index) Close() { x.Server.Close() }

// Add puts wheels into the index, as if they had been uploaded long ago.
func (x *Index) Add(wheels ...Wheel) {
	for _, w := range wheels {
		x.AddAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), w)
	}
}

// AddAt puts a wheel into the index, as uploaded then; the zero time is not told.
func (x *Index) AddAt(upload time.Time, w Wheel) {
	x.put(w.Name, listed{name: w.FileName(), content: w.Bytes(), meta: w.Metadata(), upload: upload})
}

// AddElsewhere puts a wheel into the index that it lists at an address of another form, as uploaded then.
func (x *Index) AddElsewhere(upload time.Time, w Wheel, url string) {
	x.put(w.Name, listed{name: w.FileName(), content: w.Bytes(), upload: upload, url: url})
}

// Asked is what was requested of the index, with what it needed to be let in.
func (x *Index) Asked() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.asked)
}

// AddFile puts any file into the index.
func (x *Index) AddFile(pkg, name string, content []byte) {
	x.put(pkg, listed{name: name, content: content, upload: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
}

// Change has the index lie: list is how a file is listed from now on.
func (x *Index) Change(pkg string, sum string, content []byte, yanked any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.files[pkg] {
		f := &x.files[pkg][i]
		if sum != "" {
			f.sum = sum
		}
		if content != nil {
			f.content = content
		}
		f.yanked = yanked
	}
}

func (x *Index) put(pkg string, f listed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	sum := sha256.Sum256(f.content)
	f.sum = hex.EncodeToString(sum[:])
	x.files[pkg] = append(x.files[pkg], f)
}

func (x *Index) serve(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	user, password, _ := r.BasicAuth()
	x.asked = append(x.asked, strings.TrimPrefix(user+":"+password+" ", ": ")+r.RequestURI)
	if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		x.file(w, name)
		return
	}
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
	list, known := x.files[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	var files []map[string]any
	for _, f := range list {
		sum := sha256.Sum256([]byte(f.meta))
		entry := map[string]any{
			"filename": f.name, "url": "/files/" + f.name, "hashes": map[string]string{"sha256": f.sum},
			"size": len(f.content),
		}
		if f.url != "" {
			entry["url"] = f.url
		}
		if !f.upload.IsZero() {
			entry["upload-time"] = f.upload.Format(time.RFC3339)
		}
		if f.meta != "" {
			entry["core-metadata"] = map[string]string{"sha256": hex.EncodeToString(sum[:])}
		}
		if f.yanked != nil {
			entry["yanked"] = f.yanked
		}
		files = append(files, entry)
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"meta": map[string]string{"api-version": "1.1"}, "name": name, "files": files,
	})
}

func (x *Index) file(w http.ResponseWriter, name string) {
	wheel, isMeta := strings.CutSuffix(name, ".metadata")
	for _, list := range x.files {
		for _, f := range list {
			switch {
			case f.name == wheel && isMeta:
				_, _ = w.Write([]byte(f.meta))
				return
			case f.name == name:
				_, _ = w.Write(f.content)
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
}
