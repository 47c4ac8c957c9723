// Package catalogtest is for tests and measurements of the catalog: tools of real servers, and what people ask for.
//
// It owns how that folder is read and how names are mistyped. It never judges what is found. Nothing needs closing.
package catalogtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/catalog"
)

// Question is what somebody asks for, with the names of the tools that answer it.
type Question struct {
	Query string
	Kind  string // "step" names one tool, "task" several
	Tools []string
}

// Servers reads the servers of a folder's catalog.json.
func Servers(dir string) ([]catalog.Server, error) {
	var corpus struct {
		Servers []struct {
			Name, Description string
			Tools             []json.RawMessage
		}
	}
	if err := read(filepath.Join(dir, "catalog.json"), &corpus); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range corpus.Servers {
		names = append(names, s.Name)
	}
	aliases := catalog.Aliases(names)
	var servers []catalog.Server
	for _, s := range corpus.Servers {
		servers = append(servers, catalog.NewServer(s.Name, aliases[s.Name], s.Description, s.Tools))
	}
	return servers, nil
}

// Questions reads a file of questions.
func Questions(path string) ([]Question, error) {
	var file struct{ Queries []Question }
	err := read(path, &file)
	return file.Queries, err
}

func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Answered reports whether a question's answer is among what was found.
func (q Question) Answered(found []catalog.Match) bool {
	return slices.ContainsFunc(found, func(m catalog.Match) bool { return slices.Contains(q.Tools, m.Tool.Name) })
}

// Shows reports whether an answer's text shows a tool that answers a question, in full or by its name.
func Shows(servers []catalog.Server, text string, q Question) bool {
	for _, s := range servers {
		for _, t := range s.Tools {
			if !slices.Contains(q.Tools, t.Name) {
				continue
			}
			if strings.Contains(text, "mcp_"+s.Alias+"."+t.Alias+"(") || named(text, s.Alias, t.Alias) {
				return true
			}
		}
	}
	return false
}

// named reports whether a tool is among the names behind the whole entries.
func named(text, server, tool string) bool {
	_, more, _ := strings.Cut("\n"+text, "\nmore: ")
	for group := range strings.SplitSeq(more, "; ") {
		names, ok := strings.CutPrefix(group, "mcp_"+server+": ")
		if ok && slices.Contains(strings.Split(names, ", "), tool) {
			return true
		}
	}
	return false
}

// Half is 0 or 1, as good as by chance and always the same.
func (q Question) Half() int {
	h := fnv.New32a()
	h.Write([]byte(q.Query))
	return int(h.Sum32() % 2)
}

// Mistyped returns questions for tools by names with one or two typing errors, or cut short.
func Mistyped(servers []catalog.Server, count int, seed int64) (list []Question) {
	var names []string
	for _, s := range servers {
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
	}
	random := rand.New(rand.NewSource(seed))
	for range count {
		name := names[random.Intn(len(names))]
		list = append(list, Question{Query: mistype(random, name), Kind: "mistyped", Tools: []string{name}})
	}
	return list
}

// mistype cuts a name short, or makes one or two errors in it: a letter less, more, other, or two swapped.
func mistype(random *rand.Rand, name string) string {
	if random.Intn(3) == 0 {
		return name[:max(min(4, len(name)), len(name)*(60+random.Intn(35))/100)]
	}
	typed := []byte(name)
	for range 1 + random.Intn(2) {
		i := random.Intn(len(typed))
		letter := byte('a' + random.Intn(26))
		switch random.Intn(4) {
		case 0:
			if len(typed) > 3 {
				typed = slices.Delete(typed, i, i+1)
			}
		case 1:
			typed = slices.Insert(typed, i, letter)
		case 2:
			typed[i] = letter
		case 3:
			typed[max(i-1, 0)], typed[i] = typed[i], typed[max(i-1, 0)]
		}
	}
	return string(typed)
}
