package clientcfg

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"codemode/internal/require"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the samples of testdata want")

// TestSamples lays out a machine from each file of testdata and compares all that is found with what the file
// wants. Its first lines say more about the machine, one thing a line:
//
//	os NAME, cwd DIR, set NAME=VALUE, sources NAMES, file PATH (of --servers-file), url URL (of codemode), approve NAME
//	bom FILE, crlf FILE, utf16 FILE, noeol FILE, link FILE TARGET, fifo FILE, dir FILE, unreadable FILE, repeat FILE TEXT COUNT
//
// $ROOT in a file is the folder that all of it is in.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no samples", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSample(t, archive)
			got := s.run(t)
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			if i < 0 {
				archive.Files = append(archive.Files, txtar.File{Name: "want"})
				i = len(archive.Files) - 1
			}
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[i].Data); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

type sample struct {
	root    string
	opts    Options
	set     map[string]string
	approve []string
}

func newSample(t *testing.T, archive *txtar.Archive) *sample {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{root: root, set: map[string]string{}}
	for _, f := range archive.Files {
		if f.Name != "want" {
			s.write(t, f.Name, []byte(strings.ReplaceAll(string(f.Data), "$ROOT", filepath.ToSlash(root))))
		}
	}
	s.opts.Env = Env{
		OS: "linux", Home: filepath.Join(root, "home"),
		Lookup: func(name string) (string, bool) { v, ok := s.set[name]; return v, ok },
	}
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if word, rest, _ := strings.Cut(line, " "); line != "" && word != "#" {
			s.directive(t, word, rest)
		}
	}
	return s
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

func (s *sample) directive(t *testing.T, word, rest string) {
	t.Helper()
	first, second, _ := strings.Cut(rest, " ")
	switch word {
	case "os":
		s.opts.Env.OS = rest
	case "cwd":
		s.opts.Env.WorkDir = s.path(rest)
	case "all-projects":
		s.opts.Env.AllProjects = true
	case "set":
		name, value, _ := strings.Cut(rest, "=")
		s.set[name] = strings.ReplaceAll(value, "$ROOT", s.root)
	case "sources":
		s.opts.Sources = strings.Fields(rest)
	case "file":
		s.opts.Servers.Files = append(s.opts.Servers.Files, s.path(rest))
	case "url":
		s.opts.Self.URLs = append(s.opts.Self.URLs, rest)
	case "approve":
		s.approve = append(s.approve, rest)
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
	case "repeat":
		i := strings.LastIndexByte(second, ' ')
		text, n := second[:i+1], 0
		fmt.Sscan(second[i:], &n)
		s.change(t, first, func(old string) string { return strings.Replace(old, text, strings.Repeat(text, n), 1) })
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
	case "unreadable":
		if err := os.Chmod(s.path(rest), 0); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Open(s.path(rest)); err == nil {
			f.Close()
			require.Lacking(t, "unprivileged", "this user can read every file")
		}
	default:
		t.Fatalf("a sample says %q, which means nothing", word)
	}
}

func (s *sample) run(t *testing.T) string {
	found := Discover(s.opts)
	if len(s.approve) > 0 {
		approvals, err := LoadApprovals(filepath.Join(t.TempDir(), "approvals.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Entries {
			if e.Scope == Project && slices.Contains(s.approve, e.Written) {
				if err := approvals.Approve(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.opts.Approvals = approvals
		found = Discover(s.opts)
	}
	var b strings.Builder
	for _, e := range found.Entries {
		s.entry(&b, e)
	}
	for _, p := range found.Problems {
		fmt.Fprintf(&b, "problem: %s\n", strings.TrimPrefix(p.Error(), "reading servers file "))
	}
	for _, p := range found.Plugins {
		fmt.Fprintf(&b, "plugins of %s: %s\n", p.Client, strings.Join(p.Files, " "))
	}
	text := strings.ReplaceAll(b.String(), s.root+string(filepath.Separator), "")
	return filepath.ToSlash(strings.ReplaceAll(text, s.root, ""))
}

// entry writes all that an Entry says, a line for the most and one for each detail.
func (s *sample) entry(b *strings.Builder, e Entry) {
	c := e.Server
	status := string(e.Status)
	if e.Of != "" {
		status += " " + e.Of
	}
	fmt.Fprintf(b, "%q %s: %s, %s, %s:%d\n", c.Name, c.Transport, status, e.Place(), c.Source, e.Line)
	detail := func(name string, values ...string) {
		if text := strings.Join(values, " "); text != "" {
			fmt.Fprintf(b, "\t%s %s\n", name, text)
		}
	}
	table := func(name string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			detail(name, fmt.Sprintf("%s=%s", key, values[key]))
		}
	}
	if e.Status != Duplicate && e.Status != Shadowed {
		detail("command", append([]string{c.Command}, c.Args...)...)
		table("env", c.Env)
		detail("unset", c.EnvUnset...)
		detail("pass", c.EnvPass...)
		detail("env file", c.EnvFile)
		detail("cwd", c.Cwd)
		detail("url", c.URL)
		table("header", c.Headers)
		table("header from", c.HeadersFrom)
		detail("bearer from", c.BearerFrom)
		detail("allow", c.ToolsAllow...)
		if c.ToolsAllow != nil && len(c.ToolsAllow) == 0 {
			detail("allow", "none")
		}
		detail("deny", c.ToolsDeny...)
		if e.Restrictions != nil {
			detail("sandbox", fmt.Sprintf("%+v", *e.Restrictions))
		}
		if c.StartTime+c.CallTime > 0 {
			detail("times", c.StartTime.String(), c.CallTime.String())
		}
		detail("about", c.Description)
	}
	detail("aggregator", e.Aggregator)
	detail("because", e.Reason)
	for _, also := range e.AlsoIn {
		detail("also in", also)
	}
	for _, n := range e.Notes {
		detail("note", n)
	}
}
