package clientcfg

import (
	"encoding/json"
	"errors"
	"fmt"

	"codemode/internal/clientcfg/yamldoc"

	"go.yaml.in/yaml/v3"
)

// maxNodes and maxDepth bound what aliases make of a small file.
const (
	maxNodes = 10_000
	maxDepth = 1000
)

// parseYAML makes of the first document of a YAML file the tree that JSON makes.
func parseYAML(data []byte) (node, place, error) {
	doc, err := yamldoc.Parse(data)
	if err != nil {
		var at place
		var ye *yamldoc.Error
		if errors.As(err, &ye) {
			at.line = ye.Line
		}
		return node{}, at, err
	}
	if doc.Root == nil {
		return node{}, place{}, nil
	}
	y := yamlTree{left: maxNodes}
	n := y.node(doc.Root, 0)
	if y.left < 0 {
		return node{}, place{}, fmt.Errorf("it has more than %d values", maxNodes)
	}
	return n, place{}, nil
}

type yamlTree struct{ left int }

func (y *yamlTree) node(v *yaml.Node, depth int) node {
	n := node{place: place{v.Line, v.Column}}
	if y.left--; y.left < 0 || depth > maxDepth {
		y.left = -1
		return n
	}
	switch v.Kind {
	case yaml.AliasNode:
		return y.node(v.Alias, depth+1)
	case yaml.MappingNode:
		n.value = y.object(v, depth)
	case yaml.SequenceNode:
		l := &list{}
		for _, item := range v.Content {
			l.items = append(l.items, y.node(item, depth+1))
		}
		n.value = l
	case yaml.ScalarNode:
		n.value = yamlScalar(v)
	}
	return n
}

func (y *yamlTree) object(v *yaml.Node, depth int) *object {
	o := &object{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		key, value := v.Content[i], y.node(v.Content[i+1], depth+1)
		if merged, ok := value.value.(*object); ok && key.ShortTag() == "!!merge" {
			o.members = append(
				merged.members[:len(merged.members):len(merged.members)],
				o.members...) // what is written wins
			continue
		}
		o.members = append(o.members, member{key.Value, place{key.Line, key.Column}, value})
	}
	return o
}

func yamlScalar(v *yaml.Node) any {
	switch v.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		_ = v.Decode(&b) // the tag says that it is one
		return b
	case "!!int", "!!float":
		return json.Number(v.Value)
	}
	return v.Value
}
