package splice

import (
	"reflect"
	"strings"
	"testing"
)

const listed = `name: mine # of the assistant
mcpServers:
  # the first
  - name: one
    command: npx
    args:
      - "-y"
      - a

  # the second
  - command: uvx
    name: two # named late
    env: {A: "#b"}
    script: |
      # no comment
  - uses: some/block
models:
  - name: one
`

func TestYAMLListGivesAndTakes(t *testing.T) {
	path := []string{"mcpServers"}
	same := `models:
- name: x
mcpServers:
- name: only
  command: c`
	without := func(from, to string) string {
		return strings.Replace(listed, listed[strings.Index(listed, from):strings.Index(listed, to)], "", 1)
	}
	for name, c := range map[string]struct {
		src, want string
		names     []string
	}{
		"first":   {listed, without("  - name: one", "\n  # the second"), []string{"one"}},
		"second":  {listed, without("  - command: uvx", "  - uses"), []string{"two"}},
		"only":    {same, "models:\n- name: x\nmcpServers: []\n", []string{"only"}},
		"windows": {"a: 1\r\nmcpServers:\r\n  - name: x\r\n", "a: 1\r\nmcpServers: []\r\n", []string{"x"}},
	} {
		doc, err := Parse([]byte(c.src), YAMLList)
		if err != nil {
			t.Fatal(name, err)
		}
		out, err := doc.RemoveAll(path, c.names, false)
		if err != nil || strings.TrimRight(string(out), "\r\n") != strings.TrimRight(c.want, "\r\n") {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, out, c.want)
			continue
		}
		for _, removed := range c.names {
			raw, ok := doc.Raw([]string{"mcpServers", removed})
			if !ok {
				t.Errorf("%s: %q has no text", name, removed)
				continue
			}
			rest, err := Parse(out, YAMLList)
			if err != nil {
				t.Fatal(name, err)
			}
			back, err := rest.SetRaw([]string{"mcpServers", removed}, raw)
			if err != nil {
				t.Errorf("%s: put back: %v", name, err)
				continue
			}
			again, err := Parse(back, YAMLList)
			if err != nil {
				t.Fatal(name, err)
			}
			was, _ := doc.Get([]string{"mcpServers", removed})
			if is, ok := again.Get([]string{"mcpServers", removed}); !ok || !reflect.DeepEqual(is, was) {
				t.Errorf("%s: %q is %v, was %v", name, removed, is, was)
			}
		}
	}
}

func TestYAMLListRefuses(t *testing.T) {
	for _, src := range []string{
		"mcpServers: [{name: x}]\n", "mcpServers:\n  x: {}\n", "mcpServers: &a\n  - name: x\n",
		"mcpServers:\n  -\n    name: x\n  - y\n",
	} {
		doc, err := Parse([]byte(src), YAMLList)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := doc.RemoveAll([]string{"mcpServers"}, []string{"x"}, false); err == nil {
			t.Errorf("%q became %q", src, out)
		}
	}
	doc, err := Parse([]byte("mcpServers:\n  - name: x\n"), YAMLList)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := doc.Set([]string{"mcpServers", "x"}, []Member{{"command", "y"}}); err == nil {
		t.Errorf("it became %q", out)
	}
}
