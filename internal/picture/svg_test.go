package picture

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func svgText(t testing.TB, data string) (string, error) {
	t.Helper()
	p, err := Clean("image/svg+xml", []byte(data), Large)
	return string(p.Data), err
}

// TestSamples passes on what matplotlib 3.6.3 and graphviz 2.43 have drawn, without losing a path, a text or a
// reference of it.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("testdata/*.svg")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := svgText(t, string(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, after := census(t, string(data)), census(t, out)
		delete(before, "metadata")
		for what, n := range before {
			if after[what] != n {
				t.Errorf("%s: %d of %s, and %d when it is passed on", name, n, what, after[what])
			}
		}
		if again, err := svgText(t, out); err != nil || again != out {
			t.Errorf("%s: what is passed on is not passed on as it is: %v", name, err)
		}
	}
}

// census counts what of a drawing must not be lost.
func census(t *testing.T, text string) map[string]int {
	t.Helper()
	count := map[string]int{}
	in := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := in.Token()
		if err != nil {
			return count
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Space == svgSpace {
			count[e.Name.Local]++
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "d", "points", "transform", "href", "clip-path", "id", "x", "fill", "style":
					count[a.Name.Local+"="]++
				}
			}
		}
	}
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func TestDrawingsPass(t *testing.T) {
	for _, text := range []string{
		`<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>`,
		`<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" ` +
			`"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"><!-- x --><svg></svg>`,
		`<svg xmlns:l="http://www.w3.org/1999/xlink"><g id="a"/><use l:href="#a"/><image ` +
			`href="data:image/png;base64,` + pixel + `"/></svg>`,
		`<svg><defs><style>*{stroke-linejoin: round}</style></defs><g clip-path="url(#p1)" style="fill: ` +
			`url('#g')"/></svg>`,
		`<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:g transform="matrix (1 0 0 1 2 3)" fill="rgb(1, 2, ` +
			`3)"/></s:svg>`,
	} {
		if _, err := svgText(t, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDrawingsThatReach is what could have a client run something or tell somebody that the drawing is looked at.
func TestDrawingsThatReach(t *testing.T) {
	const open = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:h="http://www.w3.org/1999/xhtml" ` +
		`xmlns:xlink="http://www.w3.org/1999/xlink">`
	for _, text := range []string{
		open + `<h:img src="https://evil.example/a"/></svg>`,
		open + `<h:meta http-equiv="refresh" content="0;url=https://evil.example/"/></svg>`,
		open + `<h:video poster="https://evil.example/a"/></svg>`,
		open + `<h:link rel="stylesheet" href="https://evil.example/a"/></svg>`,
		open + `<rect style="fill: image-set('https://evil.example/a' 1x)"/></svg>`,
		open + `<rect style="fill: src('https://evil.example/a')"/></svg>`,
		open + `<rect fill="image-set('https://evil.example/a' 1x)"/></svg>`,
		open + `<style>rect{fill:image-set("https://evil.example/a" 1x)}</style></svg>`,
		open + `<style>rect{background-image:src("https://evil.example/a")}</style></svg>`,
		open + `<style>@font-face{font-family:a;src:url(https://evil.example/a)}</style></svg>`,
		open + `<style>@import "https://evil.example/a";</style></svg>`,
		open + `<style>@im<!-- -->port "https://evil.example/a";</style></svg>`,
		open + `<style>a[href^=h]{fill:red}</style></svg>`,
		open + `<style>rect{fill:\75rl(//evil.example)}</style></svg>`,
		open + `<style>rect{fill:u/**/rl(//evil.example)}</style></svg>`,
		open + `<style><![CDATA[rect{fill:url(//evil.example)}]]></style></svg>`,
		open + `<rect style="cursor:url(//evil.example),auto"/></svg>`,
		open + `<rect style="--x:url(//evil.example);fill:var(--x)"/></svg>`,
		open + `<rect fill="url(https://evil.example/a#b)"/></svg>`,
		open + `<rect fill="url(data:image/svg+xml,x#b)"/></svg>`,
		open + `<rect filter="URL( https://evil.example/a )"/></svg>`,
		open + `<rect mask="&#117;rl(//evil.example)"/></svg>`,
		open + `<use href="https://evil.example/a.svg#b"/></svg>`,
		open + `<use xlink:href="//evil.example/a.svg#b"/></svg>`,
		open + `<use href="data:image/png;base64,` + pixel + `"/></svg>`,
		open + `<image href="https://evil.example/a"/></svg>`,
		open + `<image xlink:href="data:image/svg+xml;base64,PHN2Zy8+"/></svg>`,
		open + `<image href="data:image/png;base64,` +
			base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n<script>")) + `"/></svg>`,
		open + `<feImage href="https://evil.example/a"/></svg>`,
		open + `<a href="https://evil.example/"><text>x</text></a></svg>`,
		open + `<a href="javascript:alert(1)"><text>x</text></a></svg>`,
		open + `<script>alert(1)</script></svg>`,
		open + `<SCRIPT/></svg>`,
		open + `<foreignObject><h:body/></foreignObject></svg>`,
		open + `<animate attributeName="href" to="https://evil.example/"/></svg>`,
		open + `<g><set attributeName="href" to="javascript:alert(1)"/></g></svg>`,
		open + `<title><h:img src="https://evil.example/a"/></title></svg>`,
		open + `<undeclared:img src="https://evil.example/a"/></svg>`,
		open + `<g href="#a" href="#b"/></svg>`,
		open + `&x;</svg>`,
		open + `<?xml-stylesheet href="https://evil.example/x.css"?></svg>`,
		`<?xml-stylesheet href="https://evil.example/x.css"?><svg/>`,
		`<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>`,
		`<html><svg></svg></html>`, `<svg></svg><html></html>`, `<svg></svg><svg></svg>`, `<svg>`, `a text about <svg`,
		``,
		`<?xml version="1.0" encoding="UTF-7"?><svg/>`,
	} {
		if out, err := svgText(t, text); err == nil {
			t.Errorf("%s\nis passed on as\n%s", text, out)
		}
	}
}

// TestDrawingsAreRewritten holds that what is in no list is not passed on, whatever it is called.
func TestDrawingsAreRewritten(t *testing.T) {
	out, err := svgText(t,
		`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" xmlns:x="urn:x" `+
			`xmlns:xlink="http://www.w3.org/1999/xlink">
		<!-- <script>alert(1)</script> --><metadata><x:a><script>alert(1)</script></x:a></metadata>
		<rect OnClick="alert(1)" x:href="javascript:1" xml:base="https://evil.example/" data-x="1"
		style="cursor:help;fill:red;behavior:x"/>
		<text>&lt;script&gt;alert(1)&lt;/script&gt;</text></svg>`)
	const want = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><rect ` +
		`style="fill:red"></rect>` +
		`<text>&lt;script&gt;alert(1)&lt;/script&gt;</text></svg>`
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDrawingsWithMarkers passes on what is drawn often, as in charts, and is few elements all the same.
func TestDrawingsWithMarkers(t *testing.T) {
	points := strings.Repeat("1.5,2 ", 50_000)
	for _, text := range []string{
		`<svg><marker id="m"><circle/></marker><polyline marker-mid="url(#m)" points="` + points + `"/></svg>`,
		`<svg><marker id="m"><circle/></marker><g marker-end="url(#m)">` +
			strings.Repeat(`<polyline points="`+points[:5000]+`"/>`, 400) + `</g></svg>`,
		`<svg><g fill="url(#g)"><linearGradient id="g"><stop/><stop/></linearGradient>` +
			strings.Repeat(`<path/>`, 10_000) + `</g></svg>`,
	} {
		if _, err := svgText(t, text); err != nil {
			t.Errorf("%.100s: %v", text, err)
		}
	}
}

// TestHiddenTextOfDrawings shows what a reader of a drawing's text would not see.
func TestHiddenTextOfDrawings(t *testing.T) {
	out, err := svgText(t, "<svg><title>a\u202eb</title><text>c\u200bd&#x2066;e<tspan>\U000e0041</tspan>é\n</text></svg>")
	const want = `<title>a\u202eb</title><text>c\u200bd\u2066e<tspan>\U000e0041</tspan>é&#xA;</text></svg>`
	if err != nil || !strings.HasSuffix(out, want) {
		t.Errorf("%v\n%s", err, out)
	}
	for _, text := range []string{"<svg id=\"a\u200b\"/>", "<svg><g style=\"font-family: a\u202eb\"/></svg>"} {
		if out, err := svgText(t, text); err == nil {
			t.Errorf("%q is passed on as %q", text, out)
		}
	}
}

// TestDrawingsThatGrow is of drawings that are small as a text and large as a picture.
func TestDrawingsThatGrow(t *testing.T) {
	laughs := `<svg><g id="a0"><path/></g>`
	for n := range 12 {
		laughs += fmt.Sprintf(`<g id="a%d">%s</g>`, n+1, strings.Repeat(fmt.Sprintf(`<use href="#a%d"/>`, n), 10))
	}
	bomb := base64.StdEncoding.EncodeToString(pngOf(t, 4000, 4000))
	for name, text := range map[string]string{
		"uses of uses": laughs + `</svg>`,
		"patterns": strings.NewReplacer(
			"<g id", `<pattern id`, "</g>", "</pattern>", "<use href=\"", `<rect fill="url(`, `"/>`, `)"/>`,
		).Replace(laughs) + `</svg>`,
		"a marker at each point": `<svg><marker id="m">` + strings.Repeat(`<path/>`, 1000) + `</marker><path marker-mid="url(#m)" d="M0 0` +
			strings.Repeat("h1", 2000) + `"/></svg>`,
		"a marker at the points of a style": `<svg><marker id="m">` + strings.Repeat(`<path/>`, 1000) +
			`</marker><polyline style="marker: url(#m)" points="` + strings.Repeat("1,1 ", 2000) + `"/></svg>`,
		"a marker that is inherited": `<svg><marker id="m">` + strings.Repeat(`<path/>`, 1000) +
			`</marker><g marker="url(#m)">` + strings.Repeat(`<g><path d="M0 0"/></g>`, 2000) + `</g></svg>`,
		"a marker for what is used": `<svg><marker id="m">` + strings.Repeat(`<path/>`, 1000) + `</marker><path id="p" d="M0 0` +
			strings.Repeat("zm.5.5", 1000) + `"/><g marker-mid="url(#m)"><use href="#p"/></g></svg>`,
		"a pattern that is inherited": `<svg fill="url(#p)"><pattern id="q">` + strings.Repeat(`<path/>`, 1000) +
			`</pattern><g stroke="url(#q)">` + strings.Repeat(`<path/>`, 1000) + `</g></svg>`,
		"a pattern for what is used": `<svg><pattern id="p">` + strings.Repeat(`<path/>`, 1000) + `</pattern><g id="g">` +
			strings.Repeat(`<path/>`, 1000) + `</g><use fill="url(#p)" href="#g"/></svg>`,
		"a pattern within itself": `<svg><pattern id="p" fill="url(#p)"><path/></pattern><rect fill="url(#p)"/></svg>`,
		"a circle":                `<svg><g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g></svg>`,
		"itself":                  `<svg id="a"><use href="#a"/></svg>`,
		"the same id":             strings.Replace(laughs, `<svg>`, `<svg><g id="a12"/>`, 1) + `<use href="#a12"/></svg>`,
		"depth":                   `<svg>` + strings.Repeat(`<g>`, 1000) + strings.Repeat(`</g>`, 1000) + `</svg>`,
		"elements":                `<svg>` + strings.Repeat(`<g/>`, maxElements+1) + `</svg>`,
		"bytes":                   `<svg>` + strings.Repeat(` `, maxSVG) + `</svg>`,
		"pixels of images":        `<svg>` + strings.Repeat(`<image href="data:image/png;base64,`+bomb+`"/>`, 2) + `</svg>`,
	} {
		if out, err := svgText(t, text); err == nil {
			t.Errorf("%s: passed on, %d bytes", name, len(out))
		}
	}
}
