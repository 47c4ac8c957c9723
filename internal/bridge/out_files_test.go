package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/artifact"
	"codemode/internal/guest"
	"codemode/internal/sandbox"
)

// withArtifacts makes a bridge keep artifacts.
func withArtifacts(t *testing.T) func(*Options) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	return func(o *Options) { o.Artifacts, o.KeepOutFiles = artifact.New(dir, nil), true }
}

// TestArtifacts: what runs leave is kept, each time that it has changed, and later sessions read it.
func TestArtifacts(t *testing.T) { testArtifacts(t, newKit(t, withArtifacts(t))) }

func testArtifacts(t *testing.T, k *kit) {
	kept := func(out Outcome) string {
		t.Helper()
		list := ""
		for _, a := range out.Artifacts {
			list += fmt.Sprintf("%s %d ", a.Name, a.Size)
		}
		if out.Status != StatusSuccess || len(out.Notes) != len(out.Artifacts) || !slices.Equal(out.Notes, out.Done) {
			t.Errorf("%s %s %q", out.Status, out.Error, out.Notes)
		}
		return strings.TrimSuffix(list, " ")
	}
	for _, step := range []struct{ code, want string }{
		{"open('out/a.csv', 'w').write('a,b\\n')", "a.csv 4"},
		{"1", ""},
		{"open('out/a.csv', 'a').write('1,2\\n')", "a.csv 8"},
		{"artifact(b'report', name='sub/b.txt')", "sub/b.txt 6"},
		{"open('/tmp/c', 'w').write('text')\nprint(artifact('/tmp/c'))", "c 4"},
		{"import os; os.remove('out/a.csv'); os.mkdir('out/empty')", ""},
		{"artifact(b'', name='nothing')", "nothing 0"},
	} {
		if got := kept(k.run(Request{Code: step.code})); got != step.want {
			t.Errorf("%s: kept %q, want %q", step.code, got, step.want)
		}
	}
	all := k.opts.Artifacts.List()
	if len(all) != 5 {
		t.Errorf("kept: %+v", all)
	}
	out := k.run(Request{Session: "later", Code: `
found = {a["name"]: a for a in artifacts.list()}
print(len(artifacts.list()), found["sub/b.txt"]["type"], found["sub/b.txt"]["size"])
print(artifacts.open(found["sub/b.txt"]["id"]).read(), artifacts.path("codemode://artifacts/" + found["nothing"]["id"]))
try:
    artifacts.open("aaaaaaaaaaaa")
except Exception as error:
    print(type(error).__name__, error)
`})
	text := string(out.Stdout.Head)
	for _, want := range []string{"5 text/plain 6\nreport /tmp/artifacts/", "/nothing\n", "there is no such artifact"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q %s", want, text, out.Error)
		}
	}
}

// TestArtifactsLarge: one of several pieces arrives as it was.
func TestArtifactsLarge(t *testing.T) {
	k := newKit(t, withArtifacts(t))
	out := k.run(Request{Code: "import os, hashlib\ndata = os.urandom((3 << 20) + 7)\n" +
		"artifact(data, name='large')\nprint(hashlib.sha256(data).hexdigest())"})
	if len(out.Artifacts) != 1 || strings.TrimSpace(string(out.Stdout.Head)) != out.Artifacts[0].SHA256 {
		t.Fatalf("%+v %s", out.Artifacts, out.Error)
	}
	out = k.run(Request{Session: "other", Code: fmt.Sprintf(
		"import hashlib\nprint(hashlib.sha256(artifacts.open(%q, 'rb').read()).hexdigest() == %q)",
		out.Artifacts[0].ID, out.Artifacts[0].SHA256,
	)})
	if string(out.Stdout.Head) != "True\n" {
		t.Errorf("%q %s", out.Stdout.Head, out.Error)
	}
}

// TestArtifactsOfHostile: what is no file is told and not waited for, there are bounds, and a guest that has ended has
// left what it left.
func TestArtifactsOfHostile(t *testing.T) {
	k := newKit(t, withArtifacts(t))
	out := k.run(Request{Code: `
import os
os.symlink("/etc/passwd", "out/link")
import socket
socket.socket(socket.AF_UNIX).bind("out/socket")
for i in range(8): os.symlink("x", f"out/l{i}")
open(b"out/" + b"\xff\n" * 127, "w").write("x")
`})
	if len(out.Artifacts) != 1 || len(out.Notes) != 1+maxRefused+1 ||
		!strings.Contains(out.Notes[6], "5 more of what is") {
		t.Errorf("%+v %q", out.Artifacts, out.Notes)
	}
	if out = k.run(Request{Code: "open('out/x', 'w')"}); len(out.Artifacts) != 1 || len(out.Notes) > 1 {
		t.Errorf("what has been told is told again: %+v %q", out.Artifacts, out.Notes)
	}
	out = k.run(Request{Code: "for i in range(3000): open(f'out/many{i:04}', 'w').write(str(i))"})
	if len(out.Artifacts) != maxOutFiles || !strings.Contains(strings.Join(out.Notes, "\n"), errManyFiles.Error()) {
		t.Errorf("%d, %q", len(out.Artifacts), out.Notes)
	}
	out = k.run(Request{Session: "dies", Code: "import os; open('out/last', 'w').write('x'); os._exit(3)"})
	if len(out.Artifacts) != 1 || out.Artifacts[0].Name != "last" {
		t.Errorf("%+v %q", out.Artifacts, out.Notes)
	}
	out = k.run(Request{Code: "artifact(b'x', name='../up')"})
	if !strings.Contains(out.Error, "leads out of /workspace/out") {
		t.Errorf("%s", out.Error)
	}
	out = k.run(Request{Session: "full", Code: `import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
artifact(b"x" * 100, name="half")`})
	if len(out.Artifacts) != 0 || !strings.Contains(out.Error, "File too large") {
		t.Errorf("%+v %s", out.Artifacts, out.Error)
	}
}

// TestArtifactsWhereNobodyKeepsThem: a program is told, and a folder of the user's that has the name is left alone.
func TestArtifactsWhereNobodyKeepsThem(t *testing.T) {
	k := newKit(t, nil)
	out := k.run(Request{Code: "artifact(b'x', name='x')"})
	if !strings.Contains(out.Error, "nobody keeps what this program leaves") {
		t.Errorf("%s", out.Error)
	}
	if out = k.run(Request{Code: "artifacts.list()"}); !strings.Contains(out.Error, "none are kept here") {
		t.Errorf("%s", out.Error)
	}
	mine := t.TempDir()
	k = newKit(t, func(o *Options) {
		withArtifacts(t)(o)
		o.Mounts = func() ([]sandbox.Mount, error) {
			return []sandbox.Mount{{Host: mine, Name: "out", Dir: true, Write: true}}, nil
		}
	})
	out = k.run(Request{Code: "open('out/x', 'w')"})
	if out.Status != StatusSuccess || len(out.Artifacts) > 0 {
		t.Errorf("%s %+v", out.Error, out.Artifacts)
	}
}

// TestArtifactsSparse: what takes no room in the sandbox, and would outside, has that room together; the rest is told.
func TestArtifactsSparse(t *testing.T) {
	k := newKit(t, func(o *Options) { withArtifacts(t)(o); o.Config.Disk.MaxSize = 10 << 20 })
	out := k.run(Request{Code: "for n in range(50):\n    with open(f'out/{n:02}', 'w') as f: f.truncate(4 << 20)"})
	if len(out.Artifacts) != 2 || !strings.Contains(strings.Join(out.Notes, "\n"), "may have disk.max_size together") {
		t.Errorf("%d are kept: %q", len(out.Artifacts), out.Notes)
	}
}

// TestArtifactsEvicted: of what was removed again to make room for what the same run has left nothing is linked.
func TestArtifactsEvicted(t *testing.T) {
	dir := t.TempDir()
	store := artifact.New(dir, nil)
	saver := &artifactSaver{ctx: t.Context(), store: store, saving: store.Save("run1"), room: 100}
	for _, name := range []string{"first", "second"} {
		if err := saver.save(sandbox.OutFile{Name: name, Size: 1, Content: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := saver.store.Remove(saver.kept[0].ID); err != nil {
		t.Fatal(err)
	}
	saver.forget()
	notes := saver.notes()
	if len(saver.kept) != 1 || saver.kept[0].Name != "second" || len(notes) != 1 ||
		!strings.HasPrefix(notes[0], `"first" was removed again`) {
		t.Errorf("%+v, %q", saver.kept, notes)
	}
}

// TestArtifactsOfContainers is TestArtifacts in containers, and with what is left there by another Python.
func TestArtifactsOfContainers(t *testing.T) {
	dir := t.TempDir()
	n := 0
	onEachEngineWith(t, func(o *Options) {
		n++
		o.Artifacts, o.KeepOutFiles = artifact.New(filepath.Join(dir, fmt.Sprint(n)), nil), true
	}, testArtifacts)
}

// TestFileSize: who gives code the room for one large file may have it.
func TestFileSize(t *testing.T) {
	c := testConfig().Sandbox
	before := Policy(c).FileSize
	if c.WorkSize = 1 << 40; Policy(c).FileSize != 1<<40 || before >= 1<<30 {
		t.Errorf("one file may have %d bytes, and %d by default", Policy(c).FileSize, before)
	}
}

// TestArtifactsWaitUnread holds that no more of artifacts is read than a guest takes: where its answers wait, not even
// whether there is such an artifact is looked at.
func TestArtifactsWaitUnread(t *testing.T) {
	l := &live{bridge: &Bridge{opts: Options{Artifacts: artifact.New(t.TempDir(), nil)}}}
	b := newBacklog(&slowReaders{})
	ctx, cancel := context.WithCancel(t.Context())
	var tasks []*task
	for range maxDescribing {
		one := &task{backlog: b}
		if err := one.describe(ctx); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, one)
	}
	cancel()
	m := guest.Message{Params: json.RawMessage(`{"id":"none"}`)}
	if _, no := l.artifacts(ctx, &task{backlog: b}, m); no == nil || no.code != guest.CodeCancelled {
		t.Errorf("while %d answers wait: %+v", maxDescribing, no)
	}
	tasks[0].end()
	one := &task{backlog: b}
	if _, no := l.artifacts(t.Context(), one, m); no == nil || no.code != -32602 {
		t.Errorf("once there is room: %+v", no)
	}
	one.end()
}
