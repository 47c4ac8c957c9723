package install

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"codemode/internal/clientcfg"
	"codemode/internal/require"

	"golang.org/x/tools/txtar"
)

var rewrite = flag.Bool("update", false, "rewrite what the samples of testdata want")

// TestSamples lays out a machine from each file of testdata, does what its first lines say, and compares what becomes
// of it:
//
//	os NAME, cwd DIR, set NAME=VALUE, exe PATH
//	bom FILE, crlf FILE, utf16 FILE, noeol FILE, link FILE TARGET, fifo FILE, dir DIR, mode FILE MODE, put FILE TEXT
//	install|uninstall|status CLIENT [name=N] [tenant=T] [pass=V] [scope=project] [adopt] [force] [dry]
//
// Of a file that changes all is shown. Every install is done twice, of which the second must change nothing, and at the
// end everything is uninstalled, after which every file must be as it was; "changed" says that a sample is not about
// that. $ROOT in a file is the folder that all of it is in.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no samples", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := newSample(t, archive).run(t, string(archive.Comment))
			n := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			if n < 0 {
				archive.Files = append(archive.Files, txtar.File{Name: "want"})
				n = len(archive.Files) - 1
			}
			if *rewrite {
				archive.Files[n].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[n].Data); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

type sample struct {
	root  string
	set   map[string]string
	in    *Installer
	done  []Request            // what was installed
	times map[string]time.Time // of the files of the last tree
	ends  bool                 // everything must be as it was in the end
}

func newSample(t *testing.T, archive *txtar.Archive) *sample {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{root: root, set: map[string]string{}, times: map[string]time.Time{}, ends: true}
	s.in = newInstaller(root)
	s.in.Env.Lookup = func(name string) (string, bool) { v, ok := s.set[name]; return v, ok }
	s.write(t, "bin/codemode", nil)
	for _, f := range archive.Files {
		if f.Name != "want" {
			s.write(t, f.Name, []byte(strings.ReplaceAll(string(f.Data), "$ROOT", filepath.ToSlash(root))))
		}
	}
	return s
}

// newInstaller is one on a machine below root.
func newInstaller(root string) *Installer {
	home := filepath.Join(root, "home")
	return &Installer{
		Env:   clientcfg.Env{OS: "linux", Home: home, Lookup: func(string) (string, bool) { return "", false }},
		Exe:   filepath.Join(root, "bin", "codemode"),
		State: filepath.Join(root, "state"),
	}
}

func (s *sample) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

func (s *sample) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *sample) change(t *testing.T, name string, f func(string) string) {
	t.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, name, []byte(f(string(data))))
}

// run does what the lines say and tells what became of it.
func (s *sample) run(t *testing.T, lines string) string {
	var out strings.Builder
	var first map[string]string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "changed":
			s.ends = false
		case "install", "uninstall", "status":
			if first == nil {
				first = s.tree(t)
			}
			fmt.Fprintf(&out, "> %s\n", line)
			s.do(t, &out, word, strings.Fields(rest))
		default:
			s.directive(t, word, rest)
		}
	}
	if s.ends {
		for _, req := range slices.Backward(s.done) {
			req.Force = false
			s.in.Uninstall(t.Context(), req)
		}
		s.compare(t, first, s.tree(t))
	}
	return s.shorten(out.String())
}

func (s *sample) shorten(text string) string {
	text = strings.ReplaceAll(text, s.root+string(filepath.Separator), "")
	return filepath.ToSlash(strings.ReplaceAll(text, s.root, ""))
}

func (s *sample) compare(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, text := range before {
		if now, ok := after[name]; !ok || now != text {
			t.Errorf("after it was uninstalled, %s is\n%q, and was\n%q", name, now, text)
		}
	}
	for name, text := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("after it was uninstalled, there is %s: %q", name, text)
		}
	}
}

// tree is every file and folder with its mode, without what is codemode's own.
func (s *sample) tree(t *testing.T) map[string]string {
	tree := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == s.in.State:
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, s.root)
		tree[name] = info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			tree[name] += " " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			tree[name] += "\n" + string(data)
			s.times[name] = info.ModTime()
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// request reads the words of a line.
func (s *sample) request(t *testing.T, words []string) Request {
	req := Request{Scope: clientcfg.User, Name: DefaultName}
	s.in.Adopt = nil
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "name":
			req.Name = value
		case "tenant":
			req.Tenant = value
		case "pass":
			req.Pass = append(req.Pass, value)
		case "scope":
			req.Scope = clientcfg.Scope(value)
		case "force":
			req.Force = true
		case "dry":
			req.DryRun = true
		case "adopt":
			s.in.Adopt = &Adopter{Dir: s.path("home/MCPs"), Own: s.own}
		default:
			n := slices.IndexFunc(clientcfg.Clients(), func(c clientcfg.Client) bool { return c.ID == w })
			if n < 0 {
				t.Fatalf("there is no client %q", w)
			}
			req.Client = clientcfg.Clients()[n]
		}
	}
	return req
}

// own are the servers in codemode's own folder.
func (s *sample) own() []clientcfg.Entry { return ownIn(s.in.Env, s.path("home/MCPs")) }

func ownIn(env clientcfg.Env, dir string) []clientcfg.Entry {
	opts := clientcfg.Options{Env: env, Sources: []string{"none"}}
	opts.Servers.Dir = dir
	return clientcfg.Discover(opts).Entries
}

func (s *sample) do(t *testing.T, out *strings.Builder, what string, words []string) {
	req := s.request(t, words)
	before := s.tree(t)
	var results []Result
	switch what {
	case "install":
		results = s.in.Install(t.Context(), req)
	case "uninstall":
		results = s.in.Uninstall(t.Context(), req)
	case "status":
		for _, st := range s.in.Status(req, false) {
			fmt.Fprintf(out, "%s: %s %s %s\n", st.Path, st.State, st.Remark, strings.Join(st.Command, " "))
		}
	}
	if err := s.in.Confirm(context.Background(), results); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		tell(out, r)
	}
	after := s.tree(t)
	for _, name := range sorted(after) {
		if before[name] != after[name] {
			fmt.Fprintf(out, "%s %s", name, visible(after[name]))
		}
	}
	for _, name := range sorted(before) {
		if _, ok := after[name]; !ok {
			fmt.Fprintf(out, "%s is gone\n", name)
		}
	}
	if what == "install" && !req.DryRun {
		s.done = append(s.done, req)
		s.again(t, req, after)
	}
}

// again installs a second time, which must change nothing.
func (s *sample) again(t *testing.T, req Request, before map[string]string) {
	t.Helper()
	written := maps.Clone(s.times)
	for _, r := range s.in.Install(t.Context(), req) {
		if r.Action != Unchanged && r.Action != Refused {
			t.Errorf("the second time, %s was %s", r.Path, r.Action)
		}
	}
	s.compare(t, before, s.tree(t))
	for name, when := range s.times {
		if !when.Equal(written[name]) {
			t.Errorf("the second time, %s was written again", name)
		}
	}
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func tell(out *strings.Builder, r Result) {
	fmt.Fprintf(out, "%s: %s", r.Path, r.Action)
	if r.Err != nil {
		fmt.Fprintf(out, ": %v", r.Err)
	}
	out.WriteByte('\n')
	for _, n := range r.Notes {
		fmt.Fprintf(out, "\tnote: %s\n", n)
	}
	for _, m := range r.Moved {
		fmt.Fprintf(
			out, "\tmoved: %s to %s as %s, same %v, wrote %v, kept %v\n", m.Name, m.File, m.As, m.Same, m.Wrote, m.Kept,
		)
	}
	for _, st := range r.Stayed {
		fmt.Fprintf(out, "\tstayed: %s: %s\n", st.Name, st.Reason)
	}
	if r.Snippet != "" {
		out.WriteString(visible("snippet\n" + r.Snippet))
	}
}

// visible shows what a text editor would not: of a mode and the file behind it.
func visible(text string) string {
	head, data, ok := strings.Cut(text, "\n")
	if !ok {
		return head + "\n"
	}
	data = strings.NewReplacer("\xef\xbb\xbf", "<BOM>", "\r", "<CR>").Replace(data)
	if !strings.HasSuffix(data, "\n") {
		data += "<no end of line>\n"
	}
	return head + "\n" + "  | " + strings.ReplaceAll(strings.TrimSuffix(data, "\n"), "\n", "\n  | ") + "\n"
}

func (s *sample) directive(t *testing.T, word, rest string) {
	t.Helper()
	first, second, _ := strings.Cut(rest, " ")
	switch word {
	case "os":
		s.in.Env.OS = rest
	case "cwd":
		s.in.Env.WorkDir = s.path(rest)
	case "exe":
		s.in.Exe = strings.ReplaceAll(rest, "$ROOT", s.root)
	case "home":
		s.in.Env.Home = rest
	case "set":
		name, value, _ := strings.Cut(rest, "=")
		s.set[name] = strings.ReplaceAll(value, "$ROOT", s.root)
	case "put":
		s.write(t, first, []byte(strings.NewReplacer(`\n`, "\n", `\t`, "\t", "$ROOT", s.root).Replace(second)))
	case "bom":
		s.change(t, rest, func(text string) string { return "\xef\xbb\xbf" + text })
	case "crlf":
		s.change(t, rest, func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") })
	case "noeol":
		s.change(t, rest, func(text string) string { return strings.TrimSuffix(text, "\n") })
	case "utf16":
		s.change(t, rest, func(text string) string {
			data := []byte{0xff, 0xfe}
			for _, u := range utf16.Encode([]rune(text)) {
				data = binary.LittleEndian.AppendUint16(data, u)
			}
			return string(data)
		})
	case "link":
		if err := os.Symlink(strings.ReplaceAll(second, "$ROOT", s.root), s.path(first)); err != nil {
			require.Lacking(t, "symlinks", "%v", err)
		}
	case "dir":
		if err := os.MkdirAll(s.path(rest), 0o700); err != nil {
			t.Fatal(err)
		}
	case "fifo":
		mkfifo(t, s.path(rest))
	case "mode":
		mode, err := strconv.ParseUint(second, 8, 32)
		if err == nil {
			err = os.Chmod(s.path(first), fs.FileMode(mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	case "remove":
		if err := os.RemoveAll(s.path(rest)); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("a sample says %q, which means nothing", word)
	}
}
