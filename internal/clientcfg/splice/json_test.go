package splice_test

import (
	"errors"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

const mark = "\xef\xbb\xbf"

var (
	entry = []splice.Member{
		{Key: "command", Value: "/opt/homebrew/bin/codemode"}, {Key: "args", Value: []string{"serve"}},
	}
	servers = []string{"mcpServers", "codemode"}
)

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// set sets an entry, and holds that doing it again changes nothing.
func set(t *testing.T, src string, f splice.Format, path []string, entry []splice.Member) string {
	t.Helper()
	out := src
	for i := range 2 {
		d, err := splice.Parse([]byte(out), f)
		if err != nil {
			t.Fatalf("parse: %v\n%s", err, out)
		}
		again, err := d.Set(path, entry)
		if err != nil {
			t.Fatalf("set: %v\n%s", err, out)
		}
		if i == 1 && string(again) != out {
			t.Fatalf("setting it again changes\n%q\nto\n%q", out, again)
		}
		out = string(again)
	}
	return out
}

func remove(t *testing.T, src string, f splice.Format, prune bool, path ...string) string {
	t.Helper()
	d, err := splice.Parse([]byte(src), f)
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, src)
	}
	out, err := d.Remove(path, prune)
	if err != nil {
		t.Fatalf("remove: %v\n%s", err, src)
	}
	return string(out)
}

// refused is the error of setting an entry.
func refused(t *testing.T, src string, f splice.Format, path []string) *splice.RefusedError {
	t.Helper()
	d, err := splice.Parse([]byte(src), f)
	if err == nil {
		_, err = d.Set(path, entry)
	}
	var re *splice.RefusedError
	if !errors.As(err, &re) {
		t.Fatalf("error is %v for\n%s", err, src)
	}
	return re
}

func TestSetJSON(t *testing.T) {
	const e = "{\"command\":\"/opt/homebrew/bin/codemode\",\"args\":[\"serve\"]}"
	for _, c := range []struct {
		name   string
		format splice.Format
		path   []string
		in     string
		want   string
		once   bool // removing the entry does not give back every byte
	}{
		{
			"1 two spaces, no final newline", splice.JSON, servers,
			"{\n  \"mcpServers\": {\n    \"filesystem\": {\n      \"args\": [\"/Users/zoë/Docs\"]\n    }\n  },\n  \"globalShortcut\": \"Alt+Space\"\n}",
			"{\n  \"mcpServers\": {\n    \"filesystem\": {\n      \"args\": [\"/Users/zoë/Docs\"]\n    },\n    \"codemode\": {\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"]\n    }\n  },\n  \"globalShortcut\": \"Alt+Space\"\n}", false,
		},
		{
			"3 byte order mark in JSON", splice.JSON, servers,
			mark + "{\"a\":1,\"mcpServers\":{}}", "{\"a\":1,\"mcpServers\":{\"codemode\":" + e + "}}", true,
		},
		{
			"3 byte order mark in JSONC", splice.JSONC, servers,
			mark + "{\"a\":1,\"mcpServers\":{}}", mark + "{\"a\":1,\"mcpServers\":{\"codemode\":" + e + "}}", false,
		},
		{
			"4 CRLF and four spaces", splice.JSON, servers,
			crlf("{\n    \"mcpServers\": {\n        \"gh\": { \"command\": \"cmd\" }\n    }\n}\n"),
			crlf("{\n    \"mcpServers\": {\n        \"gh\": { \"command\": \"cmd\" },\n        \"codemode\": {\n            \"command\": \"/opt/homebrew/bin/codemode\",\n            \"args\": [\"serve\"]\n        }\n    }\n}\n"), false,
		},
		{
			"5 comments, trailing commas and tabs", splice.JSONC,
			[]string{"servers", "codemode"},
			"// team file\n{\n\t\"inputs\": [ { \"password\": true, }, ],\n\t\"servers\": {\n\t\t\"gh\": { \"n\": 1e3 }, // remote\n\t\t/* \"old\": { }, */\n\t},\n}\n",
			"// team file\n{\n\t\"inputs\": [ { \"password\": true, }, ],\n\t\"servers\": {\n\t\t\"gh\": { \"n\": 1e3 }, // remote\n\t\t/* \"old\": { }, */\n\t\t\"codemode\": {\n\t\t\t\"command\": \"/opt/homebrew/bin/codemode\",\n\t\t\t\"args\": [\"serve\"]\n\t\t},\n\t},\n}\n", false,
		},
		{
			"6 empty", splice.JSON, servers, "",
			"{\n  \"mcpServers\": {\n    \"codemode\": {\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n", true,
		},
		{
			"7 white space", splice.JSON, servers, " \n\n",
			"{\n  \"mcpServers\": {\n    \"codemode\": {\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n", true,
		},
		{
			"8 only a comment", splice.JSONC, servers, "// nothing",
			"// nothing\n{\n  \"mcpServers\": {\n    \"codemode\": {\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n", true,
		},
		{
			"10 projects", splice.JSON, servers,
			"{ \"n\": 1.000000000000000000001, \"projects\": {\n    \"/w\": { \"mcpServers\": { \"db\": {} } },\n    \"C:/x\": { \"mcpServers\": {} } },\n  \"mcpServers\": { \"notion\": {\"type\":\"http\"} } }",
			"{ \"n\": 1.000000000000000000001, \"projects\": {\n    \"/w\": { \"mcpServers\": { \"db\": {} } },\n    \"C:/x\": { \"mcpServers\": {} } },\n  \"mcpServers\": { \"notion\": {\"type\":\"http\"}, \"codemode\": {\"command\": \"/opt/homebrew/bin/codemode\", \"args\": [\"serve\"]} } }", false,
		},
		{
			"10 one project", splice.JSON,
			[]string{"projects", "C:/x", "mcpServers", "codemode"},
			`{"projects":{"/w":{"mcpServers":{"db":{}}},"C:/x":{"mcpServers":{}}},"mcpServers":{}}`,
			`{"projects":{"/w":{"mcpServers":{"db":{}}},"C:/x":{"mcpServers":{"codemode":` + e + `}}},"mcpServers":{}}`, false,
		},
		{"12 minified", splice.JSON, servers, `{"numStartups":3}`, `{"numStartups":3,"mcpServers":{"codemode":` + e + `}}`, false},
		{
			"31 nested containers", splice.JSONC,
			[]string{"mcp", "servers", "codemode"},
			`{ "mcp": {} }`, `{ "mcp": {"servers": {"codemode": {"command": "/opt/homebrew/bin/codemode", "args": ["serve"]}}} }`, true,
		},
		{
			"36 a dot in a key", splice.JSONC,
			[]string{"amp.mcpServers", "codemode"},
			`{"amp.mcpServers":{"a":{"command":"x"}},"amp.url":"…"}`, `{"amp.mcpServers":{"a":{"command":"x"},"codemode":` + e + `},"amp.url":"…"}`, false,
		},
		{
			"41 odd names", splice.JSON,
			[]string{"mcpServers", "a \"quoted\"/b~c <é>"},
			`{"mcpServers":{"日本語":{},"🚀":{"x":"\ud83d\ude80 \u00e9"},"__proto__":{},"":{}}}`,
			`{"mcpServers":{"日本語":{},"🚀":{"x":"\ud83d\ude80 \u00e9"},"__proto__":{},"":{},"a \"quoted\"/b~c <é>":` + e + `}}`, false,
		},
		{
			"43 unknown keys", splice.JSON, servers,
			`{"mcpServers":{"a":{"x-team":{"owner":"z"},"futureKey":[1]}},"$schema":"…"}`,
			`{"mcpServers":{"a":{"x-team":{"owner":"z"},"futureKey":[1]},"codemode":` + e + `},"$schema":"…"}`, false,
		},
		{
			"trailing comma on one line", splice.JSONC, servers,
			"{\n  \"mcpServers\": { \"a\": {}, }\n}", "{\n  \"mcpServers\": { \"a\": {}, \"codemode\": {\"command\": \"/opt/homebrew/bin/codemode\", \"args\": [\"serve\"]}, }\n}", false,
		},
		{
			"escaped name on the way", splice.JSON, servers,
			`{"mcp\u0053ervers":{"a":{}}}`, `{"mcp\u0053ervers":{"a":{},"codemode":` + e + `}}`, false,
		},
		{
			"comment at the end of the last line", splice.JSONC, servers,
			"{\n  \"mcpServers\": {\n    \"a\": {} // not a comma }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {}, // not a comma }\n    \"codemode\": {\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := set(t, c.in, c.format, c.path, entry)
			if out != c.want {
				t.Fatalf("set gives\n%s\nnot\n%s", out, c.want)
			}
			had, _ := splice.Parse([]byte(c.in), c.format)
			names, _ := had.Entries(c.path[:len(c.path)-1])
			if back := remove(t, out, c.format, names == nil, c.path...); !c.once && back != c.in {
				t.Fatalf("remove gives\n%s\nnot\n%s", back, c.in)
			}
		})
	}
}
