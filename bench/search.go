package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/catalog/catalogtest"
	"codemode/internal/catalog/store"
)

// corpus is the folder of real servers beside the repository, where bench is started.
const corpus = "../shared/corpus"

// search measures how well and how fast tools are found among those of real servers, and what a model pays for it.
func (b *bench) search(context.Context) error {
	servers, err := catalogtest.Servers(corpus)
	if err != nil {
		b.add("search", "not measured: "+err.Error(), "", "")
		return nil
	}
	questions, err := catalogtest.Questions(filepath.Join(corpus, "queries.json"))
	if err != nil {
		return err
	}
	b.searchQuality(servers, questions)
	b.searchSpeed(servers, questions)
	if err := b.cacheSpeed(servers); err != nil {
		return err
	}
	return b.searchTokens(servers, questions)
}

func (b *bench) searchQuality(servers []catalog.Server, questions []catalogtest.Question) {
	tools := catalog.New(servers)
	questions = slices.Concat(questions, catalogtest.Mistyped(servers, 200, 1))
	for _, kind := range []struct {
		name, what string
		target     float64
	}{
		{"step", "`step` questions: right tool in the first 5", 80},
		{"task", "`task` questions: one of the right tools in the first 5", 75},
		{"mistyped", "tool names with one or two typing errors or cut short: in the first 5", 95},
	} {
		found, asked := 0, 0
		for _, q := range questions {
			if q.Kind != kind.name {
				continue
			}
			asked++
			if q.Answered(tools.Search(q.Query, 5)) {
				found++
			}
		}
		percent := 100 * float64(found) / float64(max(asked, 1))
		b.add(
			kind.what, fmt.Sprintf("%.1f %% of %d", percent, asked), fmt.Sprintf("%.0f %%", kind.target),
			met(percent >= kind.target),
		)
	}
}

func (b *bench) searchSpeed(servers []catalog.Server, questions []catalogtest.Question) {
	few := 0
	for _, s := range servers {
		few += len(s.Tools)
	}
	var many []catalog.Server
	for count := 0; count < 10_000; count += few {
		for _, s := range servers {
			s.Name, s.Tools = fmt.Sprint(s.Name, count), slices.Clone(s.Tools)
			s.Tools[0].Description += fmt.Sprint(" ", count) // or it would count as the same server, found again
			many = append(many, s)
		}
	}
	for _, size := range []struct {
		servers []catalog.Server
		name    string
		target  time.Duration
	}{{servers, fmt.Sprint(few), time.Millisecond}, {many, "10,000", 10 * time.Millisecond}} {
		start := time.Now()
		tools := catalog.New(size.servers)
		tools.Search("index", 1)
		index := time.Since(start)
		var took []time.Duration
		for range b.n {
			for _, q := range questions {
				start := time.Now()
				tools.Search(q.Query, 5)
				took = append(took, time.Since(start))
			}
		}
		m := median(took)
		b.add(
			fmt.Sprintf("search in memory, %s tools", size.name), fmt.Sprintf("%s; index once %s", ms(m), ms(index)),
			ms(size.target), met(m <= size.target),
		)
	}
}

// cacheSpeed measures reading all tool lists from disk.
func (b *bench) cacheSpeed(servers []catalog.Server) error {
	s := store.New(filepath.Join(b.dir, "tools"), nil)
	var keys []string
	count := 0
	for i, server := range servers {
		var tools []json.RawMessage
		for _, t := range server.Tools {
			raw, err := json.Marshal(
				map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.InputSchema},
			)
			if err != nil {
				return err
			}
			tools = append(tools, raw)
		}
		count += len(tools)
		keys = append(keys, store.Key([]byte(server.Name), ""))
		if err := s.Save(keys[i], tools, time.Now(), 0); err != nil {
			return err
		}
	}
	var read, described []time.Duration
	for range b.n {
		start := time.Now()
		entries := make([]store.Entry, len(keys))
		for i, key := range keys {
			entries[i], _ = s.Load(key)
		}
		read = append(read, time.Since(start))
		for i, e := range entries {
			catalog.NewServer(servers[i].Name, servers[i].Alias, servers[i].Description, e.Tools)
		}
		described = append(described, time.Since(start))
	}
	b.add(
		fmt.Sprintf("%d tools of %d servers read from the cache", count, len(keys)),
		ms(median(read))+"; and described "+ms(median(described)), "", "",
	)
	return nil
}

// searchTokens counts what a model reads of a search, and whether a right tool is in it, for every question.
func (b *bench) searchTokens(servers []catalog.Server, questions []catalogtest.Question) error {
	own, err := catalogtest.Questions("internal/catalog/testdata/questions.json")
	if err != nil {
		return err
	}
	tools, shown := catalog.New(servers), 0
	var texts []string
	for _, q := range slices.Concat(questions, own) {
		text := tools.Answer(q.Query, 0, func(catalog.Match) string { return "" }).Text
		if texts = append(texts, text); catalogtest.Shows(servers, text, q) {
			shown++
		}
	}
	percent := 100 * float64(shown) / float64(len(texts))
	b.add(
		"search as a model reads it: right tool shown", fmt.Sprintf("%.1f %% of %d questions", percent, len(texts)),
		"87 %", met(percent >= 87),
	)
	if b.npm == "" {
		b.add("tokens of a search", "not measured: no -npm", "", "")
		return nil
	}
	counts, err := b.count(texts...)
	if err != nil {
		return err
	}
	slices.Sort(counts)
	most, usual := counts[len(counts)-1], counts[len(counts)/2]
	b.add("the same, o200k", fmt.Sprintf("%d tokens, at most %d", usual, most), "350 tokens", met(most <= 350))
	return nil
}
