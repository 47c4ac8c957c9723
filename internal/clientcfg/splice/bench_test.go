package splice_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

// claude is a ~/.claude.json of the given size: history of many projects, and one server.
func claude(size int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"numStartups\": 412,\n  \"projects\": {\n")
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "    \"/home/u/p%d\": {\n      \"allowedTools\": [],\n      \"history\": [\n", i)
		for j := range 20 {
			fmt.Fprintf(
				&b,
				"        { \"display\": \"%s\", \"pastedContents\": {}, \"n\": %d },\n",
				strings.Repeat(`say \"hé\" `, 30),
				j,
			)
		}
		b.WriteString("        null\n      ],\n      \"mcpServers\": {},\n      \"lastCost\": 0.0123\n    }")
	}
	b.WriteString("\n  },\n  \"mcpServers\": {\n    \"notion\": {\n      \"type\": \"http\"\n    }\n  }\n}\n")
	return b.Bytes()
}

// BenchmarkPlan reads a large file, sets an entry in it and compares the result with it.
func BenchmarkPlan(b *testing.B) {
	src := claude(40 << 20)
	for name, path := range map[string][]string{
		"user":    {"mcpServers", "codemode"},
		"project": {"projects", "/home/u/p7", "mcpServers", "codemode"},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				d, err := splice.Parse(src, splice.JSON)
				if err != nil {
					b.Fatal(err)
				}
				out, err := d.Set(path, entry)
				if err != nil || len(out) <= len(src) {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDiff shows what an edit has changed in a large file.
func BenchmarkDiff(b *testing.B) {
	before := claude(40 << 20)
	d, err := splice.Parse(before, splice.JSON)
	if err != nil {
		b.Fatal(err)
	}
	after, err := d.Set(servers, entry)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if splice.Diff(before, after, "f") == "" {
			b.Fatal("it shows nothing")
		}
	}
}
