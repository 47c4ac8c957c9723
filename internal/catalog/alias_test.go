package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAliases(t *testing.T) {
	for _, test := range []struct {
		title string
		names []string
		want  map[string]string
	}{
		{"as it is", []string{"memory"}, map[string]string{"memory": "memory"}},
		{"other characters", []string{"my-server", "A b/c"}, map[string]string{"my-server": "my_server", "A b/c": "a_b_c"}},
		{"leading digit", []string{"1password"}, map[string]string{"1password": "_1password"}},
		{"Python's and codemode's words", []string{"servers", "import", "runtime", "mcp"}, map[string]string{
			"servers": "servers_", "import": "import_", "runtime": "runtime", "mcp": "mcp",
		}},
		{"not Latin, and nothing", []string{"日本", ""}, map[string]string{"": "_", "日本": "__2"}},
		{"equal ones, by real name", []string{"a_b", "a-b", "A.B"}, map[string]string{
			"a_b": "a_b", "A.B": "a_b_2", "a-b": "a_b_3",
		}},
		{"a number is somebody's own", []string{"x", "X", "x_2"}, map[string]string{"x": "x", "X": "x_3", "x_2": "x_2"}},
	} {
		t.Run(test.title, func(t *testing.T) {
			if got := Aliases(test.names); !maps.Equal(got, test.want) {
				t.Errorf("Aliases(%q) = %q, want %q", test.names, got, test.want)
			}
		})
	}
}

func TestToolAliases(t *testing.T) {
	long := strings.Repeat("n", 300)
	names := []string{"list_tools", "class", "a-b", "a_b", "x", "X", "日本", "", "__class__", "servers", "日", long}
	want := map[string]string{
		"list_tools": "list_tools", "class": "class_", "a_b": "a_b", "a-b": "a_b_2", "x": "x", "X": "x_2",
		"": "_", "日": "__2", "日本": "__3", "__class__": "__class___", "servers": "servers", long: long,
	}
	if got := toolAliases(names); !maps.Equal(got, want) {
		t.Errorf("toolAliases = %q\nwant %q", got, want)
	}
}

func TestParameterNames(t *testing.T) {
	got := parameterNames([]string{"perPage", "from", "per-page", "per_page", "None", "$filter", "2nd"})
	want := map[string]string{
		"perPage": "perPage", "from": "from_", "per_page": "per_page", "per-page": "per_page_2",
		"None": "None_", "$filter": "_filter", "2nd": "_2nd",
	}
	if !maps.Equal(got, want) {
		t.Errorf("parameterNames = %q\nwant %q", got, want)
	}
}

var legalName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// What comes later takes no name away, wherever it stands in the order of names.
func TestAliasesGiveWay(t *testing.T) {
	got := Aliases(
		[]string{"memory", "x_2"}, []string{"Memory", "MEMORY", "X", "x"}, []string{"Other", "memory"}, []string{"other"},
	)
	want := map[string]string{
		"memory": "memory", "x_2": "x_2", "MEMORY": "memory_2", "Memory": "memory_3", "X": "x_3", "x": "x",
		"Other": "other", "other": "other_2",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzAliases(f *testing.F) {
	f.Add("a-b\na_b\nA b\na_b_2")
	f.Add("class\nclass_\n\n日本\n2\n_2")
	f.Add("servers\nservers_\nSERVERS\n__init__")
	f.Fuzz(func(t *testing.T, list string) {
		names := strings.Split(list, "\n")
		for what, rule := range map[string]func([]string) map[string]string{
			"Aliases": func(names []string) map[string]string { return Aliases(names) }, "toolAliases": toolAliases, "parameterNames": parameterNames,
		} {
			got := rule(names)
			backwards := slices.Clone(names)
			slices.Reverse(backwards)
			if !maps.Equal(got, rule(backwards)) {
				t.Errorf("%s(%q) depends on the order of names", what, names)
			}
			owner := map[string]string{}
			for _, name := range names {
				alias, ok := got[name]
				if !ok || !legalName.MatchString(alias) || keywords[alias] {
					t.Errorf("%s(%q)[%q] = %q, want a Python name", what, names, name, alias)
				}
				if other, taken := owner[alias]; taken && other != name {
					t.Errorf("%s(%q): %q and %q are both %q", what, names, name, other, alias)
				}
				owner[alias] = name
			}
		}
	})
}
