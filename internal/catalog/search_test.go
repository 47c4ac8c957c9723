package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// readCorpus returns the catalog of real servers that development machines have beside the repository.
func readCorpus(t testing.TB) *Catalog {
	t.Helper()
	var corpus struct {
		Servers []struct {
			Name, Description string
			Tools             []json.RawMessage
		}
	}
	readShared(t, "catalog.json", &corpus)
	var names []string
	for _, s := range corpus.Servers {
		names = append(names, s.Name)
	}
	aliases := Aliases(names)
	var servers []Server
	for _, s := range corpus.Servers {
		servers = append(servers, NewServer(s.Name, aliases[s.Name], s.Description, s.Tools))
	}
	return New(servers)
}

func readShared(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("../../../shared/corpus/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no corpus of real servers beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func TestSearch(t *testing.T) {
	catalog := New([]Server{
		NewServer("github", "github", "Issues and pull requests", []json.RawMessage{
			json.RawMessage(
				`{"name":"createIssue","description":"Open a new issue","inputSchema":{"properties":{"title":{"description":"headline"}}}}`,
			),
			json.RawMessage(`{"name":"list_issues","description":"All issues of a repository"}`),
			json.RawMessage(`{"name":"merge","description":"Merge a pull request"}`),
		}),
		NewServer("google-calendar", "google_calendar", "", []json.RawMessage{
			json.RawMessage(`{"name":"listEvents","description":"List the events of a calendar"}`),
			json.RawMessage(`{"name":"HTTPFetch","description":"获取网页内容"}`),
		}),
	})
	for query, want := range map[string]string{
		"calendar events":           "listEvents",
		"githb isue create":         "createIssue",
		"creating issues":           "createIssue",
		"list all issues":           "list_issues",
		"merged pull requests":      "merge",
		"headline":                  "createIssue",
		"http":                      "HTTPFetch",
		"网页":                        "HTTPFetch",
		"show the isses":            "list_issues", // by a synonym and a misspelling
		"createisue":                "createIssue", // by the look of its name
		"crtiss":                    "createIssue", // letters in order
		"":                          "",
		"   ":                       "",
		"?!":                        "",
		"the of and":                "",
		"quantum chromodynamics zz": "",
	} {
		got := ""
		if found := catalog.Search(query, 5); len(found) > 0 {
			got = found[0].Tool.Name
		}
		if got != want {
			t.Errorf("Search(%q) finds %q first, want %q", query, got, want)
		}
	}
	if found := catalog.Search("issue", 1); len(found) != 1 || found[0].ServerAlias != "github" {
		t.Errorf("with a limit of 1: %v", found)
	}
	var many strings.Builder
	for i := range 2 * maxWords { // some have the same stem
		fmt.Fprintf(&many, "zzz%c%c ", 'a'+i/26, 'a'+i%26)
	}
	if found := catalog.Search(many.String()+"issue", 5); len(found) != 0 {
		t.Errorf("a word beyond the bound finds %v", found)
	}
	if found := catalog.Search("issue "+many.String()+strings.Repeat("issue ", 1000), 5); len(found) == 0 {
		t.Error("beside words beyond the bound those before are not found")
	}
	if found := catalog.Search("issue", 0); len(found) != 0 {
		t.Errorf("with a limit of 0: %v", found)
	}
	if found := New(nil).Search("issue", 5); len(found) != 0 {
		t.Errorf("in an empty catalog: %v", found)
	}
}

func TestLookup(t *testing.T) {
	catalog := New([]Server{
		{Name: "a-b", Alias: "a_b", Tools: []Tool{{Name: "X", Alias: "x"}, {Name: "x", Alias: "x_2"}}},
		{Name: "a_b", Alias: "a_b_2"},
	})
	for name, want := range map[string]string{"a-b": "a-b", "a_b": "a_b", "a_b_2": "a_b", "c": ""} {
		if s, ok := catalog.Server(name); s.Name != want || ok != (want != "") {
			t.Errorf("Server(%q) = %q, %v", name, s.Name, ok)
		}
	}
	if tool, _ := catalog.Servers()[0].Tool("x"); tool.Alias != "x_2" {
		t.Errorf("Tool(x) is the alias's, not the real name's")
	}
}

func BenchmarkSearch(b *testing.B) {
	corpus := readCorpus(b).servers
	tools := 0
	for _, s := range corpus {
		tools += len(s.Tools)
	}
	var many []Server
	for i := range 10_000/tools + 1 {
		for _, s := range corpus {
			s.Name = fmt.Sprint(s.Name, i)
			many = append(many, s)
		}
	}
	for name, servers := range map[string][]Server{"527": corpus, "10000": many} {
		b.Run(name+" tools/index", func(b *testing.B) {
			for b.Loop() {
				New(servers).index()
			}
		})
		catalog := New(servers)
		for kind, query := range map[string]string{
			"step":  "find nearby restaurents and tourist attractions",
			"name":  "playwrite_naviagte",
			"typos": "serch latset vesion pakage depndency vulnerbility advizory repositry",
			"task": "Convert /home/me/word/CV.docx and /home/me/word/Report_Card.docx to PDF, merge the two resulting files, " +
				"and save the final combined document as /home/me/pdf/full_cv.pdf.",
		} {
			b.Run(name+" tools/"+kind, func(b *testing.B) {
				for b.Loop() {
					catalog.Search(query, 5)
				}
			})
		}
	}
}
