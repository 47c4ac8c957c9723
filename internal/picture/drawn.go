package picture

import (
	"errors"
	"fmt"
)

const (
	maxDrawn  = 1_000_000 // elements, with those that references repeat
	maxPoints = 1 << 30   // that are counted; more with a marker at each is too many anyway
)

// size is how much is drawn for an element: a few that refer to each other can be more than any program can draw.
type size struct {
	elements int
	points   int // of paths and lines, where a marker may be drawn; or more than there are
}

// handed is what is drawn for each shape within an element because of properties that shapes inherit. A shape's own do
// not take that away: a value that a program does not know, or a style sheet, may give it back.
type handed struct {
	shape int // elements for each shape
	point int // elements for each of its points
}

var (
	// shapes draw by the properties that they have or inherit; a use hands them on to what it refers to.
	shapes = set(`path rect circle ellipse line polyline polygon text tspan textPath use`)

	// inherited are the properties that refer to what is drawn, and are inherited; perPoint are those of them by
	// which it is drawn at each point.
	inherited = set(`fill stroke marker marker-start marker-mid marker-end`)
	perPoint  = set(`marker marker-mid`)
)

var (
	errDrawn  = fmt.Errorf("its references repeat more than %d elements", maxDrawn)
	errCircle = errors.New("its references lead back to where they began, or do not end")
)

// drawn is what is drawn for an element, with its children and what it and these refer to.
func (d *drawing) drawn(n *node, depth int) (size, error) {
	switch {
	case n.size.elements > 0:
		return n.size, nil
	case n.pending || depth > 4*maxDepth:
		return size{}, errCircle
	}
	n.pending = true
	defer func() { n.pending = false }()
	total := size{1, n.points()}
	if err := d.add(&total, n.children, depth); err != nil {
		return size{}, err
	}
	shape := total // what draws by what is handed to it
	for _, r := range n.refers {
		if inherited[r.property] {
			continue
		}
		if err := d.add(&total, d.ids[r.id], depth); err != nil {
			return size{}, err
		}
	}
	if n.name == "use" {
		shape = total
	}
	if shapes[n.name] {
		h, err := d.handed(n, depth)
		if err != nil {
			return size{}, err
		}
		total.elements += h.shape*shape.elements + h.point*shape.points
	}
	if total.elements > maxDrawn {
		return size{}, errDrawn
	}
	n.size = total
	return total, nil
}

// add adds what is drawn for several elements.
func (d *drawing) add(to *size, list []*node, depth int) error {
	for _, n := range list {
		more, err := d.drawn(n, depth+1)
		if err != nil {
			return err
		}
		to.elements += more.elements
		to.points = min(to.points+more.points, maxPoints)
		if to.elements > maxDrawn {
			return errDrawn
		}
	}
	return nil
}

// handed is what an element hands to its shapes: what it has, and what it is handed itself.
func (d *drawing) handed(n *node, depth int) (handed, error) {
	switch {
	case n == nil:
		return handed{}, nil
	case n.handed != nil:
		return *n.handed, nil
	}
	h, err := d.handed(n.parent, depth)
	if err != nil {
		return h, err
	}
	for _, r := range n.refers {
		if !inherited[r.property] {
			continue
		}
		var more size
		if err := d.add(&more, d.ids[r.id], depth); err != nil {
			return h, err
		}
		if perPoint[r.property] {
			h.point += more.elements
		} else {
			h.shape += more.elements
		}
		if h.point+h.shape > maxDrawn {
			return h, errDrawn
		}
	}
	n.handed = &h
	return h, nil
}

// points is how many points an element has, or more: each has a number of its own or, where a line is closed, a letter.
func (n *node) points() int {
	count := 0
	for _, a := range n.attrs {
		if a.name != "d" && a.name != "points" {
			continue
		}
		within := false // a run of digits
		for i := range len(a.value) {
			digit := a.value[i] >= '0' && a.value[i] <= '9'
			if digit && !within || a.value[i]|0x20 == 'z' {
				count++
			}
			within = digit
		}
	}
	return count
}
