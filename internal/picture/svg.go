package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codemode/internal/visible"
)

// Bounds of a drawing.
const (
	maxSVG      = 8 << 20
	maxElements = 200_000
	maxDepth    = 64
)

const (
	svgSpace   = "http://www.w3.org/2000/svg"
	xlinkSpace = "http://www.w3.org/1999/xlink"
	xmlSpace   = "http://www.w3.org/XML/1998/namespace"
)

// A drawing is a document of SVG that only draws. It is written anew from the elements, attributes and properties of
// lists, so that no other parser finds more in it than was found here. Some clients show what they are given in a page
// of their own.
type drawing struct {
	budget *budget
	ids    map[string][]*node // where several share an id, programs differ in which of them a reference means
	count  int
}

// node is an element, or a text where it has no name.
type node struct {
	name     string
	attrs    []attribute
	refers   []reference
	parent   *node
	children []*node
	text     string

	size    size    // with what it refers to; no elements: it is not known yet
	handed  *handed // nil is not known yet
	pending bool
}

type attribute struct{ name, value string }

func (b *budget) svg(data []byte) (Picture, error) {
	if len(data) > maxSVG {
		return Picture{}, fmt.Errorf("it has %d bytes; a drawing may have %d", len(data), maxSVG)
	}
	d := &drawing{budget: b, ids: map[string][]*node{}}
	root, err := d.parse(data)
	if err != nil {
		return Picture{}, err
	}
	if _, err := d.drawn(root, 0); err != nil {
		return Picture{}, err
	}
	var out bytes.Buffer
	root.attrs = append([]attribute{{"xmlns", svgSpace}, {"xmlns:xlink", xlinkSpace}}, root.attrs...)
	root.write(&out)
	return Picture{MIME: "image/svg+xml", Data: out.Bytes()}, nil
}

func (d *drawing) parse(data []byte) (root *node, err error) {
	in := xml.NewDecoder(bytes.NewReader(data))
	var open []*node
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) && root != nil {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "metadata" && isSVG(token.Name) && len(open) > 0 {
				if err := d.skip(in); err != nil {
					return nil, err
				}
				continue
			}
			n, err := d.element(token, len(open))
			switch {
			case err != nil:
				return nil, err
			case len(open) > 0:
				parent := open[len(open)-1]
				n.parent = parent
				parent.children = append(parent.children, n)
			case root != nil || n.name != "svg":
				return nil, errors.New("it is not one svg element")
			default:
				root = n
			}
			open = append(open, n)
		case xml.EndElement:
			if err := open[len(open)-1].close(); err != nil {
				return nil, err
			}
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && texts[open[len(open)-1].name] {
				parent := open[len(open)-1]
				parent.children = append(parent.children, &node{text: visible.Text(string(token))})
			}
		case xml.Directive: // a DOCTYPE may name a standard, and is left out; with a subset it may define entities
			if bytes.ContainsRune(token, '[') {
				return nil, errors.New("its DOCTYPE may define entities")
			}
		case xml.ProcInst:
			if token.Target != "xml" {
				return nil, fmt.Errorf("it has an instruction <?%.40s>", token.Target)
			}
		}
	}
}

// skip passes over an element that is left out, however deep it is.
func (d *drawing) skip(in *xml.Decoder) error {
	for depth := 1; depth > 0; {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// isSVG holds of an element without a namespace, too, which would not be drawn as it was: it is written with one.
func isSVG(n xml.Name) bool { return n.Space == svgSpace || n.Space == "" }

func (d *drawing) element(e xml.StartElement, depth int) (*node, error) {
	if d.count++; d.count > maxElements || depth == maxDepth {
		return nil, fmt.Errorf("it has more than %d elements, or more than %d in each other", maxElements, maxDepth)
	}
	if d.count%1000 == 0 && time.Now().After(d.budget.end) {
		return nil, d.budget.slow
	}
	if !isSVG(e.Name) || !elements[e.Name.Local] {
		return nil, fmt.Errorf("it has an element %.80q, which is none of those that only draw", e.Name.Local)
	}
	n := &node{name: e.Name.Local}
	seen := map[string]bool{}
	for _, a := range e.Attr {
		name := a.Name.Local
		switch {
		case a.Name.Space == xlinkSpace && name == "href":
			name = "xlink:href"
		case a.Name.Space == xmlSpace && name == "space":
			name = "xml:space"
		case a.Name.Space != "" || !attributes[name] && !properties[name]:
			continue // nothing that draws
		}
		if seen[name] {
			return nil, fmt.Errorf("an element %q has two attributes %q", n.name, name)
		}
		seen[name] = true
		value, err := d.attribute(n, name, a.Value)
		if err != nil {
			return nil, fmt.Errorf("the attribute %q of an element %q: %w", name, n.name, err)
		}
		n.attrs = append(n.attrs, attribute{name, value})
		if name == "id" {
			d.ids[value] = append(d.ids[value], n)
		}
	}
	return n, nil
}

func (d *drawing) attribute(n *node, name, value string) (string, error) {
	switch name {
	case "href", "xlink:href":
		value = strings.TrimSpace(value)
		if id, ok := strings.CutPrefix(value, "#"); ok && idPattern().MatchString(id) {
			n.refers = append(n.refers, reference{name, id})
			return value, nil
		}
		if n.name == "image" {
			return d.embedded(value)
		}
		return "", errors.New("it refers to something outside of the drawing")
	case "style":
		list, refers, err := declarations(value)
		n.refers = append(n.refers, refers...)
		return list, err
	}
	refers, err := references(name, value)
	n.refers = append(n.refers, refers...)
	return value, err
}

// embedded is an image within a drawing, decoded and encoded again as one by itself is.
func (d *drawing) embedded(url string) (string, error) {
	for _, mime := range []string{"image/png", "image/jpeg"} {
		text, ok := strings.CutPrefix(url, "data:"+mime+";base64,")
		if !ok {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return "", err
		}
		p, err := d.budget.bitmap(mime, data)
		return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data), err
	}
	return "", errors.New("it is no image of type PNG or JPEG within the drawing")
}

// close checks a style sheet as a whole, once all of its text is there.
func (n *node) close() error {
	if n.name != "style" {
		return nil
	}
	var text strings.Builder
	for _, c := range n.children {
		if c.name != "" {
			return errors.New("a style has an element in it")
		}
		text.WriteString(c.text)
	}
	sheet, err := stylesheet(text.String())
	n.children = []*node{{text: sheet}}
	return err
}

func (n *node) write(out *bytes.Buffer) {
	if n.name == "" {
		_ = xml.EscapeText(out, []byte(n.text)) // a buffer takes everything
		return
	}
	out.WriteString("<" + n.name)
	for _, a := range n.attrs {
		out.WriteString(" " + a.name + `="`)
		_ = xml.EscapeText(out, []byte(a.value))
		out.WriteByte('"')
	}
	out.WriteByte('>')
	for _, c := range n.children {
		c.write(out)
	}
	out.WriteString("</" + n.name + ">")
}
