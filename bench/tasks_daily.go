package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dailyTask is a task in both forms. Code looks for its tools first, as a model does that knows none of them.
type dailyTask struct {
	name   string
	turns  func(dir string) [][]toolCall // directly
	search string
	code   string // DIR is the folder
	says   string // in its result
}

const (
	countLogs  = 8
	countScans = 24
	countNotes = 15
	countPeers = 40
)

func file(tool, path string, more ...any) toolCall {
	arguments := map[string]any{"path": path}
	for i := 0; i+1 < len(more); i += 2 {
		arguments[more[i].(string)] = more[i+1]
	}
	return toolCall{"filesystem", tool, arguments}
}

func graph(tool string, arguments map[string]any) toolCall {
	return toolCall{"memory", tool, arguments}
}

func paths(dir, form string, count int) (all []string) {
	for i := range count {
		all = append(all, filepath.Join(dir, fmt.Sprintf(form, i+1)))
	}
	return all
}

// each is a turn of one call for each path.
func each(paths []string, call func(i int, path string) toolCall) (turn []toolCall) {
	for i, p := range paths {
		turn = append(turn, call(i, p))
	}
	return turn
}

func fileList(path string) []toolCall { return []toolCall{file("list_directory", path)} }

// dailyTasks are done over the files that fixture makes.
var dailyTasks = []dailyTask{
	{
		name: "which service logs most errors, over eight logs",
		turns: func(dir string) [][]toolCall {
			read := toolCall{
				"filesystem", "read_multiple_files",
				map[string]any{"paths": paths(dir, "logs/service-%d.log", countLogs)},
			}
			return [][]toolCall{fileList(dir + "/logs"), {read}}
		},
		search: "read all files of a folder",
		code: `
names = [line.split()[1] for line in (await mcp_filesystem.list_directory(path="DIR/logs")).splitlines()]
logs = await asyncio.gather(*(mcp_filesystem.read_text_file(path=f"DIR/logs/{n}") for n in names))
errors = {n: log.count(" ERROR ") for n, log in zip(names, logs)}
print(max(errors.items(), key=lambda e: e[1]))`,
		says: "('service-8.log', 24)",
	},
	{
		name: "revenue by region, from a CSV of 400 sales",
		turns: func(dir string) [][]toolCall {
			return [][]toolCall{{file("read_text_file", dir+"/sales.csv")}}
		},
		search: "read a text file",
		code: `
import csv, collections
text = (await mcp_filesystem.read_text_file(path="DIR/sales.csv"))
totals = collections.Counter()
for row in csv.DictReader(text.splitlines()):
    totals[row["region"]] += int(row["units"]) * int(row["price"])
print(dict(totals))`,
		says: "'north': ",
	},
	{
		name: "24 scans renamed by the date in their first line",
		turns: func(dir string) [][]toolCall {
			scans := paths(dir, "scans/scan-%02d.txt", countScans)
			return [][]toolCall{
				fileList(dir + "/scans"),
				each(scans, func(_ int, p string) toolCall { return file("read_text_file", p, "head", 1) }),
				each(scans, func(i int, p string) toolCall {
					to := filepath.Join(dir, "scans", fmt.Sprintf("2026-%02d-%02d.txt", i/12+1, i%12+1))
					return toolCall{"filesystem", "move_file", map[string]any{"source": p, "destination": to}}
				}),
			}
		},
		search: "rename files",
		code: `
names = [line.split()[1] for line in (await mcp_filesystem.list_directory(path="DIR/scans")).splitlines()]
for n in names:
    date = (await mcp_filesystem.read_text_file(path=f"DIR/scans/{n}", head=1)).split()[1]
    await mcp_filesystem.move_file(source=f"DIR/scans/{n}", destination=f"DIR/scans/{date}.txt")
print(len(names), "renamed")`,
		says: "24 renamed",
	},
	{
		name: "a new address in the fifteen notes that have the old one",
		turns: func(dir string) [][]toolCall {
			notes := paths(dir, "notes/note-%02d.md", countNotes)
			return [][]toolCall{
				fileList(dir + "/notes"),
				{{"filesystem", "read_multiple_files", map[string]any{"paths": notes}}},
				each(notes, func(_ int, p string) toolCall {
					return file(
						"edit_file", p, "edits",
						[]any{map[string]string{"oldText": "12 Old Road", "newText": "7 New Street"}},
					)
				}),
			}
		},
		search: "replace text in files",
		code: `
names = [line.split()[1] for line in (await mcp_filesystem.list_directory(path="DIR/notes")).splitlines()]
edit = [{"oldText": "12 Old Road", "newText": "7 New Street"}]
done = await asyncio.gather(*(mcp_filesystem.edit_file(path=f"DIR/notes/{n}", edits=edit) for n in names), return_exceptions=True)
print(sum(not isinstance(d, Exception) for d in done), "of", len(names), "changed")`,
		says: "15 of 15 changed",
	},
	{
		name: "an index of the notes' titles, written to a file",
		turns: func(dir string) [][]toolCall {
			notes := paths(dir, "notes/note-%02d.md", countNotes)
			var index strings.Builder
			for i := range notes {
				fmt.Fprintf(&index, "- [Meeting %d about the garden](note-%02d.md)\n", i+1, i+1)
			}
			return [][]toolCall{
				fileList(dir + "/notes"),
				each(notes, func(_ int, p string) toolCall { return file("read_text_file", p, "head", 1) }),
				{file("write_file", dir+"/notes/index.md", "content", index.String())},
			}
		},
		search: "read and write files",
		code: `
names = [line.split()[1] for line in (await mcp_filesystem.list_directory(path="DIR/notes")).splitlines()]
heads = await asyncio.gather(*(mcp_filesystem.read_text_file(path=f"DIR/notes/{n}", head=1) for n in names))
index = "".join(f"- [{h.strip('# ')}]({n})\n" for n, h in zip(names, heads))
await mcp_filesystem.write_file(path="DIR/notes/index.md", content=index)
print(len(names), "titles")`,
		says: "15 titles",
	},
	{
		name: "the five largest of sixty files in a tree",
		turns: func(dir string) [][]toolCall {
			return [][]toolCall{
				{file("directory_tree", dir+"/tree")},
				each(
					paths(dir, "tree/part-%d", 6),
					func(_ int, p string) toolCall { return file("list_directory_with_sizes", p, "sortBy", "size") },
				),
			}
		},
		search: "sizes of files",
		code: `
import json
parts = json.loads((await mcp_filesystem.directory_tree(path="DIR/tree")))
paths = [f"DIR/tree/{p['name']}/{f['name']}" for p in parts for f in p["children"]]
infos = await asyncio.gather(*(mcp_filesystem.get_file_info(path=p) for p in paths))
sizes = sorted(((int(i.split()[1]), p[-18:]) for i, p in zip(infos, paths)), reverse=True)
print(sizes[:5])`,
		says: "part-6/file-10",
	},
	{
		name: "forty contacts of a CSV put into memory",
		turns: func(dir string) [][]toolCall {
			var entities []any
			for i := range countPeers {
				entities = append(entities, map[string]any{
					"name":       contact(i),
					"entityType": "person",
					"observations": []string{
						fmt.Sprintf("works at Company %d", i%7), fmt.Sprintf("mail %d@example.org", i),
					},
				})
			}
			return [][]toolCall{
				{file("read_text_file", dir+"/contacts.csv")},
				{graph("create_entities", map[string]any{"entities": entities})},
			}
		},
		search: "remember people in memory",
		code: `
import csv
text = (await mcp_filesystem.read_text_file(path="DIR/contacts.csv"))
people = [{"name": r["name"], "entityType": "person", "observations": ["works at " + r["company"], "mail " + r["mail"]]}
          for r in csv.DictReader(text.splitlines())]
print(len((await mcp_memory.create_entities(entities=people)).entities), "remembered")`,
		says: "40 remembered",
	},
	{
		name: "people in memory who are in no project",
		turns: func(string) [][]toolCall {
			return [][]toolCall{{graph("read_graph", map[string]any{})}}
		},
		search: "all that is in memory",
		code: `
g = await mcp_memory.read_graph()
busy = {r["from"] for r in g.relations if r.relationType == "works on"}
print([e.name for e in g.entities if e.entityType == "person" and e.name not in busy])`,
		says: "['Ada 20']",
	},
	{
		name: "observations of before this year forgotten",
		turns: func(string) [][]toolCall {
			var deletions []any
			for i := 0; i < 20; i++ {
				deletions = append(
					deletions,
					map[string]any{
						"entityName":   person(i),
						"observations": []string{fmt.Sprintf("2024-0%d-01: moved house", i%9+1)},
					},
				)
			}
			return [][]toolCall{
				{graph("read_graph", map[string]any{})},
				{graph("delete_observations", map[string]any{"deletions": deletions})},
			}
		},
		search: "forget old observations in memory",
		code: `
g = await mcp_memory.read_graph()
old = [{"entityName": e.name, "observations": [o for o in e.observations if o.startswith("2024-")]} for e in g.entities]
old = [o for o in old if o["observations"]]
await mcp_memory.delete_observations(deletions=old)
print(len(old), "forgot something")`,
		says: "20 forgot something",
	},
	{
		name: "the weather of three cities, and a sum of twelve amounts",
		turns: func(string) [][]toolCall {
			var weather, sums []toolCall
			for _, city := range []string{"New York", "Chicago", "Los Angeles"} {
				weather = append(
					weather, toolCall{"everything", "get-structured-content", map[string]any{"location": city}},
				)
			}
			for i := range 11 {
				sums = append(
					sums, toolCall{"everything", "get-sum", map[string]any{"a": (i + 1) * (i + 2) / 2, "b": i + 2}},
				)
			}
			turns := [][]toolCall{weather}
			for _, s := range sums { // each needs the one before
				turns = append(turns, []toolCall{s})
			}
			return turns
		},
		search: "weather, and adding numbers",
		code: `
cities = ["New York", "Chicago", "Los Angeles"]
weather = await asyncio.gather(*(mcp_everything.get_structured_content(location=c) for c in cities))
print({c: w.temperature for c, w in zip(cities, weather)}, sum(range(1, 13)))`,
		says: "78",
	},
}

func person(i int) string  { return fmt.Sprintf("Ada %d", i+1) }
func contact(i int) string { return fmt.Sprintf("Grace %d", i+1) }

// fixture makes the files of all tasks in a folder.
func fixture(dir string) error {
	files := map[string]string{}
	for i := range countLogs {
		var log strings.Builder
		for n := range 120 {
			level := "INFO"
			if n%40 < i {
				level = "ERROR"
			}
			fmt.Fprintf(
				&log, "2026-03-%02dT10:%02d:00Z %s request %d took %d ms\n", n%28+1, n%60, level, n*31%977, n*7%113,
			)
		}
		files[fmt.Sprintf("logs/service-%d.log", i+1)] = strings.Replace(
			log.String(), " INFO ", map[bool]string{true: " ERROR ", false: " INFO "}[i == 7], 3,
		)
	}
	sales := "date,region,units,price\n"
	for n := range 400 {
		sales += fmt.Sprintf(
			"2026-%02d-%02d,%s,%d,%d\n", n%12+1, n%28+1, []string{"north", "south", "east", "west"}[n%4], n%9+1,
			n%5*10+5,
		)
	}
	files["sales.csv"] = sales
	for i := range countScans {
		files[fmt.Sprintf("scans/scan-%02d.txt", i+1)] = fmt.Sprintf(
			"Date: 2026-%02d-%02d\nA letter.\n", i/12+1, i%12+1,
		)
	}
	for i := range countNotes {
		files[fmt.Sprintf("notes/note-%02d.md", i+1)] = fmt.Sprintf("# Meeting %d about the garden\n\n", i+1) +
			strings.Repeat(
				"We spoke of roses, of the fence and of who waters what in summer.\n", 8,
			) + "\nWhere: 12 Old Road\n"
	}
	for part := range 6 {
		for n := range 10 {
			files[fmt.Sprintf("tree/part-%d/file-%02d.txt", part+1, n+1)] = strings.Repeat("x", (part+1)*100+n*7)
		}
	}
	contacts := "name,company,mail\n"
	for i := range countPeers {
		contacts += fmt.Sprintf("%s,Company %d,%d@example.org\n", contact(i), i%7, i)
	}
	files["contacts.csv"] = contacts
	files["memory.jsonl"] = remembered()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// remembered is a graph of forty people and what they work on, as server-memory keeps it.
func remembered() string {
	var b strings.Builder
	line := func(v map[string]any) {
		text, _ := json.Marshal(v)
		b.Write(append(text, '\n'))
	}
	for i := range 40 {
		observations := []string{"likes tea", fmt.Sprintf("2026-0%d-02: joined the club", i%9+1)}
		if i < 20 {
			observations = append(observations, fmt.Sprintf("2024-0%d-01: moved house", i%9+1))
		}
		line(map[string]any{"type": "entity", "name": person(i), "entityType": "person", "observations": observations})
	}
	for i := range 6 {
		line(
			map[string]any{
				"type": "entity", "name": fmt.Sprintf("Project %d", i+1), "entityType": "project",
				"observations": []string{"active"},
			},
		)
	}
	for i := range 40 {
		if i != 19 {
			line(
				map[string]any{
					"type": "relation", "from": person(i),
					"to": fmt.Sprintf("Project %d", i%6+1), "relationType": "works on",
				},
			)
		}
	}
	return b.String()
}
