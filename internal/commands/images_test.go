package commands

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInlineProtocol(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, tt := range []struct{ term, program, want string }{
		{"xterm-256color", "iTerm.app", "\x1b]1337;"},
		{"xterm-256color", "WezTerm", "\x1b]1337;"},
		{"xterm-kitty", "", "\x1b_G"},
		{"xterm-ghostty", "ghostty", "\x1b_G"},
		{"tmux-256color", "WezTerm", ""},
		{"screen", "iTerm.app", ""},
		{"xterm", "", ""},
	} {
		env := Env{Lookup: func(name string) (string, bool) {
			return map[string]string{"TERM": tt.term, "TERM_PROGRAM": tt.program}[name], true
		}}
		got := ""
		if p := inlineProtocol(env); p != nil {
			got = p("image/png", png)
		}
		if (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s in %s: %q, want %q…", tt.program, tt.term, got, tt.want)
		}
	}
}

func TestKittyChunks(t *testing.T) {
	data := bytes.Repeat([]byte{7}, 10000)
	var joined strings.Builder
	parts := strings.Split(strings.TrimSuffix(kitty("image/png", data), "\x1b\\"), "\x1b\\")
	for i, part := range parts {
		control, payload, ok := strings.Cut(strings.TrimPrefix(part, "\x1b_G"), ";")
		last := i == len(parts)-1
		if !ok || len(payload) > 4096 || strings.Contains(control, "a=T,f=100") != (i == 0) ||
			strings.HasSuffix(control, "m=0") != last {
			t.Errorf("chunk %d of %d: %q with %d characters", i, len(parts), control, len(payload))
		}
		joined.WriteString(payload)
	}
	if joined.String() != base64.StdEncoding.EncodeToString(data) {
		t.Error("the chunks are not the image")
	}
	if kitty("image/jpeg", data) != "" {
		t.Error("kitty has no JPEG")
	}
}

func TestImagesAreNotOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	show := func(data string) string {
		s, err := newImages(Env{Stdout: &bytes.Buffer{}}, dir, dir, imageRoom{max: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		name, err := s.show("image/png", []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first, second := show("one"), show("two")
	for name, want := range map[string]string{first: "one", second: "two"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestUnusableFolderIsToldAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newImages(Env{Stdout: &bytes.Buffer{}}, file, file, imageRoom{}); err == nil ||
		!strings.Contains(err.Error(), "--out "+quote(file)) {
		t.Errorf("got %v", err)
	}
}
