package bridge

import "testing"

func TestIsDrawing(t *testing.T) {
	for text, is := range map[string]bool{
		`<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>`:                                                                                true,
		`<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"><!-- x --><svg></svg>`: true,
		`<svg xmlns:xlink="http://www.w3.org/1999/xlink"><use xlink:href="#a"/><image href="data:image/png;base64,aaaa"/></svg>`:                       true,
		`<svg><defs><style>*{stroke-linejoin: round}</style></defs><g clip-path="url(#p1)" style="fill: url('#g')"/></svg>`:                            true,
		`<svg><script>alert(1)</script></svg>`:                                   false,
		`<svg xmlns:s="http://www.w3.org/2000/svg"><s:SCRIPT/></svg>`:            false,
		`<svg onload="alert(1)"/>`:                                               false,
		`<svg><a href="javascript:alert(1)"><text>x</text></a></svg>`:            false,
		`<svg><image xlink:href="https://example.org/pixel"/></svg>`:             false,
		`<svg><style>@import "https://example.org/x.css";</style></svg>`:         false,
		`<svg><style>g { fill: URL( "https://example.org/x" ) }</style></svg>`:   false,
		`<svg><style>g { fill: u\72l(//example.org) }</style></svg>`:             false,
		`<svg><foreignObject><body/></foreignObject></svg>`:                      false,
		`<svg><a><set attributeName="href" to="javascript:alert(1)"/></a></svg>`: false,
		`<?xml-stylesheet href="https://example.org/x.css"?><svg/>`:              false,
		`<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>`: false,
		`<html><svg></svg></html>`:                                               false,
		`<svg></svg><html></html>`:                                               false,
		`<svg>`:                                                                  false,
		`a text about <svg`:                                                      false,
		``:                                                                       false,
	} {
		if got := isImage("image/svg+xml", []byte(text)); got != is {
			t.Errorf("%s: %v", text, got)
		}
	}
}
