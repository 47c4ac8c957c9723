package sandboxtest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

func out(s *sandbox.Spec) { s.Out = true }

// left: what a guest has left is handed over with its bytes, and what is no file is named.
func left(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("leave", "-"), out)
	var ready map[string]any
	answer(t, sb, &ready)
	got := map[string]string{}
	known := map[string]string{}
	err := sb.OutFiles(t.Context(), nil, func(f sandbox.OutFile) error {
		known[f.Name] = f.Stamp
		if f.Err != nil {
			got[f.Name] = fmt.Sprint("error: ", f.Err)
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(f.Content, f.Size))
		got[f.Name] = string(text)
		return err
	})
	want := map[string]string{
		"a": "one", "c": "one", "sub/b": "two", strings.Repeat("\xff\n", 127): "long",
		"link": "error: " + sandbox.ErrNotRegular.Error(), "up": "error: " + sandbox.ErrNotRegular.Error(),
	}
	named := len(got)
	maps.DeleteFunc(got, func(_, text string) bool { return text == "error: "+sandbox.ErrTooDeep.Error() })
	if named != len(got)+1 {
		t.Errorf("%d folders are told to be too deep, want 1", named-len(got))
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("left: %q, %v; want %q", got, err, want)
	}
	delete(known, "c") // as if it were another by now
	var again []string
	err = sb.OutFiles(t.Context(), known, func(f sandbox.OutFile) error {
		if f.Err == nil {
			again = append(again, f.Name)
		}
		return nil
	})
	if err != nil || !slices.Equal(again, []string{"c"}) {
		t.Errorf("a second look finds %q, %v", again, err)
	}
	enough := errors.New("enough")
	if err := sb.OutFiles(t.Context(), nil, func(sandbox.OutFile) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("whoever takes the files has enough, and it goes on: %v", err)
	}
}

// leftByLink: where a guest makes the folder a link, nothing outside of its sandbox is looked through.
func leftByLink(t *testing.T, k kit) {
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "secret"), nil, 0o644))
	sb := k.start(t, "obey.py", command("leave", root), out)
	var ready map[string]any
	answer(t, sb, &ready)
	_ = sb.OutFiles(t.Context(), nil, func(f sandbox.OutFile) error { // an error will do
		t.Errorf("a link leads to %q", f.Name)
		return nil
	})
}
