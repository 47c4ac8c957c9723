package bridge

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// isDrawing reports whether data is an SVG document that only draws: one whose root says so, without scripts, without
// documents of other kinds within it, without entities, and without references to anything but itself. Some clients show
// what they are given in a page of their own.
func isDrawing(data []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(data))
	depth, root := 0, false
	for {
		token, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && root
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 && token.Name.Local != "svg" || !draws(token) {
				return false
			}
			depth++
			root = true
		case xml.EndElement:
			depth--
		case xml.CharData: // of a style, for one
			if fetches(string(token)) {
				return false
			}
		case xml.Directive: // a DOCTYPE may name a standard; with a subset it may define entities
			if bytes.ContainsRune(token, '[') {
				return false
			}
		case xml.ProcInst:
			if token.Target != "xml" { // xml-stylesheet fetches
				return false
			}
		}
	}
}

// draws reports whether an element, by itself, does no more than draw.
func draws(e xml.StartElement) bool {
	switch strings.ToLower(e.Name.Local) {
	case "script", "foreignobject", "iframe", "object", "embed", "handler", "listener", "set", "animate":
		return false // the last two can turn a reference into another one
	}
	for _, a := range e.Attr {
		name, value := strings.ToLower(a.Name.Local), strings.ToLower(strings.TrimSpace(a.Value))
		switch {
		case strings.HasPrefix(name, "on"):
			return false
		case fetches(value), name == "href" && value != "" && value[0] != '#' && !strings.HasPrefix(value, "data:image/"):
			return false
		}
	}
	return true
}

// fetches reports whether a style refers to something outside of its document. A backslash could spell it otherwise.
func fetches(style string) bool {
	style = strings.ToLower(style)
	if strings.Contains(style, "@import") || strings.Contains(style, `\`) {
		return true
	}
	for _, reference := range strings.Split(style, "url(")[1:] {
		reference = strings.TrimLeft(reference, " \t\n'\"")
		if !strings.HasPrefix(reference, "#") && !strings.HasPrefix(reference, "data:image/") {
			return true
		}
	}
	return false
}
