// Package splicetest makes random documents that nobody would write, for tests of what edits clients' files.
//
// It owns no file and judges nothing. A seed always makes the same document. Nothing needs closing.
package splicetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"codemode/internal/require"
)

// A Document is a text with a container of entries, or without one.
type Document struct {
	Text      string
	Container []string // the keys that lead to the entries
	Comments  int      // outside of the entries: each is the text "c0 }", "c1 }", … once
	Inner     int      // inside of them: "i0 }", "i1 }", …
}

// Families are the kinds of documents there are.
var Families = map[string]func(seed uint64) Document{
	"JSON":      func(seed uint64) Document { return document(seed, (*generator).json) },
	"JSONC":     func(seed uint64) Document { return document(seed, (*generator).jsonc) },
	"TOML":      func(seed uint64) Document { return document(seed, (*generator).toml) },
	"TOMLArray": func(seed uint64) Document { return document(seed, (*generator).tomlArray) },
	"YAML":      func(seed uint64) Document { return document(seed, (*generator).yaml) },
}

// Count is how many documents of a family a test takes: few, but many where CODEMODE_REQUIRE names "random".
func Count(few, many int) int {
	if require.Named("random") {
		return many
	}
	return few
}

func document(seed uint64, fill func(*generator) (string, []string)) Document {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0)), nl: "\n"}
	if seed%3 == 0 {
		g.nl = "\r\n"
	}
	text, container := fill(g)
	return Document{text, container, g.comments, g.inner}
}

// generator makes documents. Its comments are numbered: c0, c1, … outside of the container's entries, and
// i0, i1, … inside of them.
type generator struct {
	r        *rand.Rand
	nl       string
	loose    bool // comments and trailing commas are allowed
	inside   bool // of an entry
	comments int
	inner    int
}

func (g *generator) one(in int) bool { return g.r.IntN(in) == 0 }

func (g *generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

// comment is the text of a comment, which would end what it must not.
func (g *generator) comment() string {
	if g.inside {
		g.inner++
		return fmt.Sprintf(`i%d } ] , " ' {`, g.inner-1)
	}
	g.comments++
	return fmt.Sprintf(`c%d } ] , " ' {`, g.comments-1)
}

// hash is a comment of TOML and YAML.
func (g *generator) hash() string { return "# " + g.comment() }

func (g *generator) json() (string, []string) {
	return g.space("") + g.root() + g.space(""), []string{"mcpServers"}
}

func (g *generator) jsonc() (string, []string) {
	g.loose = true
	return g.json()
}

func (g *generator) root() string {
	if g.one(20) {
		return g.pick("{}", "{ }")
	}
	var members []string
	for i := range g.r.IntN(4) {
		members = append(members, g.jsonMember(fmt.Sprintf("k%d", i), "  ", 3))
	}
	if !g.one(4) {
		var entries []string
		for i := range g.r.IntN(4) {
			before := g.space("    ")
			g.inside = true
			entry := g.jsonMember(fmt.Sprintf("e%d", i), "    ", 2)
			g.inside = false
			entries = append(entries, before+strings.TrimSpace(entry)+g.space("    "))
		}
		members = append(members, g.space("  ")+`"mcpServers":`+g.space("  ")+g.braces(entries, "  "))
	}
	g.r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return g.braces(members, "")
}

func (g *generator) braces(members []string, indent string) string {
	s := "{" + strings.Join(members, ",")
	if len(members) > 0 && g.loose && g.one(3) {
		s += ","
	}
	return s + g.space(indent) + "}"
}

func (g *generator) jsonMember(name, indent string, depth int) string {
	space := g.space
	if g.inside { // a comment before the name or behind the value is outside of the entry
		space = func(string) string { return g.pick("", " ") }
	}
	key := space(indent) + fmt.Sprintf("%q", name) + g.space(indent) + ":" + g.space(indent)
	return key + g.jsonValue(indent, depth) + space(indent)
}

func (g *generator) jsonValue(indent string, depth int) string {
	if depth == 0 || g.one(3) {
		return g.pick(
			`"a,]"`,
			`1e3`,
			`null`,
			`true`,
			`"\u00e9\\\""`,
			`"// no"`,
			`[]`,
			`{}`,
			`[1, 2]`,
			`-0.0`,
			`"/* "`,
			`"🚀"`,
		)
	}
	var items []string
	for i := range g.r.IntN(4) {
		inner := g.space(indent) + g.jsonValue(indent+"  ", depth-1) + g.space(indent)
		if depth%2 == 1 {
			inner = g.space(indent) + fmt.Sprintf("%q", fmt.Sprintf("m%d", i)) + g.space(indent) + ":" + inner
		}
		items = append(items, inner)
	}
	if depth%2 == 1 {
		return g.braces(items, indent)
	}
	return "[" + strings.Join(items, ",") + g.space(indent) + "]"
}

// space is white space, or a comment.
func (g *generator) space(indent string) string {
	switch n := g.r.IntN(8); {
	case n == 0 && g.loose:
		return " // " + g.comment() + g.nl + indent
	case n == 1 && g.loose:
		return " /* " + g.comment() + " */ "
	case n == 2:
		return g.nl + indent
	case n == 3:
		return g.nl + g.nl + indent + "  "
	case n == 4:
		return " "
	}
	return ""
}

func (g *generator) toml() (string, []string) {
	var parts []string
	for i := range g.r.IntN(3) {
		parts = append(parts, g.section(fmt.Sprintf("[t%d]", i)))
	}
	for i := range g.r.IntN(3) {
		parts = append(parts, g.section("[[list]]"), g.section(fmt.Sprintf("[list.s%d]", i)))
	}
	if g.one(3) {
		parts = append(parts, "[mcp_servers]"+g.lineTail())
	}
	for i := range g.r.IntN(4) {
		name := fmt.Sprintf("mcp_servers.e%d", i)
		header := g.pick("["+name+"]", fmt.Sprintf(`  [ "mcp_servers" . 'e%d' ]`, i))
		parts = append(parts, g.tomlEntry(header, "", name))
	}
	g.r.Shuffle(len(parts), func(i, j int) { // items and the tables in them stay together
		if !strings.Contains(parts[i], "[list") && !strings.Contains(parts[j], "[list") {
			parts[i], parts[j] = parts[j], parts[i]
		}
	})
	return g.pairs("r") + strings.Join(parts, "") + g.tail(), []string{"mcp_servers"}
}

func (g *generator) tomlArray() (string, []string) {
	src := g.pairs("r")
	for i := range g.r.IntN(4) {
		src += g.tomlEntry("[[mcp_servers]]", fmt.Sprintf("name = %q", fmt.Sprintf("e%d", i)), "mcp_servers")
		if g.one(3) {
			src += g.section(fmt.Sprintf("[t%d]", i))
		}
	}
	if src == "" && g.one(2) {
		src = "mcp_servers = [ ] " + g.hash() + g.nl
	}
	return src + g.tail(), []string{"mcp_servers"}
}

// tail is what may be at the end of a file.
func (g *generator) tail() string {
	if g.one(4) {
		return g.hash()
	}
	return g.lineComment("")
}

func (g *generator) lineComment(indent string) string {
	switch g.r.IntN(6) {
	case 0:
		return indent + g.hash() + g.nl
	case 1:
		return g.nl + indent + g.hash() + g.nl
	case 2:
		return g.nl
	}
	return ""
}

func (g *generator) tomlEntry(header, first, path string) string {
	s := g.lineComment("")
	g.inside = true
	s += header + g.lineTail()
	if first != "" {
		s += first + g.lineTail()
	}
	s += g.pairs("p")
	if g.one(3) {
		s += g.lineComment("") + "[" + path + ".env]" + g.lineTail() + g.pairs("q")
	}
	g.inside = false
	return s + g.lineComment("")
}

func (g *generator) section(header string) string {
	return g.lineComment("") + header + g.lineTail() + g.pairs("p") + g.lineComment("")
}

// lineTail ends a line, with a comment or without.
func (g *generator) lineTail() string {
	if g.one(4) {
		return "  " + g.hash() + g.nl
	}
	return g.nl
}

func (g *generator) pairs(prefix string) string {
	var b strings.Builder
	for i := range g.r.IntN(4) {
		indent := g.pick("", "  ")
		b.WriteString(g.lineComment(indent))
		fmt.Fprintf(&b, "%s%s%d = %s%s", indent, prefix, i, g.tomlValue(), g.lineTail())
	}
	return b.String()
}

func (g *generator) tomlValue() string {
	switch g.r.IntN(9) {
	case 0:
		return `"""` + g.nl + "[mcp_servers.codemode]" + g.nl + `# no ""` + g.nl + `"""`
	case 1:
		return "'''" + g.nl + "[[mcp_servers]]" + g.nl + "# no '''"
	case 2:
		return "[" + g.nl + `  "x", ` + g.hash() + g.nl + "  " + g.hash() + g.nl + `  "y]"` + g.nl + "]"
	case 3:
		return `{ a = "}", b = [1, 2], c.d = 'x' }`
	}
	return g.pick(
		"1_000",
		"1979-05-27T07:32:00Z",
		`"a # b"`,
		`'C:\x'`,
		"true",
		"[]",
		"{}",
		"-inf",
		"0x1F",
		"[[1], ['a']]",
		"nan",
	)
}

func (g *generator) yaml() (string, []string) {
	step := g.pick("  ", "    ")
	var parts []string
	for i := range g.r.IntN(4) {
		parts = append(parts, g.lineComment("")+g.yamlPair(fmt.Sprintf("k%d", i), "", step, 2))
	}
	switch g.r.IntN(6) {
	case 0:
	case 1:
		parts = append(parts, "extensions: {}"+g.lineTail())
	case 2:
		parts = append(parts, "extensions:"+g.pick("", " ~", " null")+g.lineTail())
	default:
		s := "extensions:" + g.lineTail()
		for i := range 1 + g.r.IntN(3) {
			s += g.lineComment(step)
			g.inside = true
			s += g.yamlPair(fmt.Sprintf("e%d", i), step, step, 2)
			g.inside = false
		}
		parts = append(parts, s+g.lineComment(step))
	}
	g.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return g.pick("", "", "---"+g.nl) + strings.Join(parts, "") + g.lineComment(""), []string{"extensions"}
}

// yamlPair is a key and its value, on as many lines as it takes.
func (g *generator) yamlPair(key, indent, step string, depth int) string {
	in := indent + step
	head := indent + g.pick(key, `"`+key+`"`, "'"+key+"'") + ":"
	if depth > 0 && g.one(2) {
		s := head + g.lineTail()
		for i := range 1 + g.r.IntN(3) {
			s += g.lineComment(in) + g.yamlPair(fmt.Sprintf("m%d", i), in, step, depth-1)
		}
		return s
	}
	switch g.r.IntN(9) {
	case 0:
		return head + " " + g.pick(
			"|", ">", "|-", ">+", "|+",
		) + g.nl + in + "two" + g.nl + in + "# lines" + g.nl + g.nl + in + "  x" + g.nl
	case 1:
		return head + g.nl + in + `- "a # b"` + g.lineTail() + in + "- b: 1" + g.nl +
			in + "  c: [1, 'x]']" + g.lineTail()
	case 2:
		return head + " \"x" + g.nl + in + "# y" + g.nl + in + "z\"" + g.lineTail()
	case 3:
		return head + " [1," + g.lineTail() + in + "\"]\", # " + g.comment() + g.nl + in + "{a: b}]" + g.lineTail()
	case 4:
		return head + " plain text" + g.nl + in + "on two lines" + g.lineTail()
	}
	return head + " " + g.pick(
		"1",
		"it's # not",
		`"#"`,
		"'a'",
		"{a: 1, b: '}'}",
		"[]",
		"{}",
		"true",
		"2001-12-14",
		"http://x/#y",
		".nan",
		"é 🚀",
	) + g.lineTail()
}
