package config

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// position is a place in a file, counted from 1. The zero value is unknown.
type position struct{ line, column int }

// positions are where each table and key of a document first appears.
type positions map[string]position

// of finds a name by its parts, which may hold dots.
func (p positions) of(path ...string) position { return p[strings.Join(path, "\x00")] }

// maxDepth is more than any key has parts: tenants.NAME.servers.NAME.env.NAME.
const maxDepth = 8

// findPositions reads a valid document. The time it takes grows with the document's size, whatever is in it.
func findPositions(data []byte) positions {
	f := positionFinder{found: positions{}, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	f.parser.Reset(data)
	var table []string
	for f.parser.NextExpression() {
		switch e := f.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = f.key(e, nil)
		case unstable.KeyValue:
			f.keyValue(e, table)
		}
	}
	return f.found
}

type positionFinder struct {
	parser unstable.Parser
	lines  []int // where each begins
	found  positions
}

func (f *positionFinder) keyValue(e *unstable.Node, table []string) {
	path := f.key(e, table)
	if e.Value().Kind == unstable.InlineTable && len(path) < maxDepth {
		for it := e.Value().Children(); it.Next(); {
			f.keyValue(it.Node(), path)
		}
	}
}

// key records every prefix of a key, so that a table that is only implied has a place too.
func (f *positionFinder) key(e *unstable.Node, table []string) []string {
	path := slices.Clone(table)
	for it := e.Key(); it.Next() && len(path) < maxDepth; {
		path = append(path, string(it.Node().Data))
		name := strings.Join(path, "\x00")
		if _, ok := f.found[name]; !ok {
			f.found[name] = f.at(int(it.Node().Raw.Offset))
		}
	}
	return path
}

// at is the place of the byte at an offset.
func (f *positionFinder) at(offset int) position {
	line, starts := slices.BinarySearch(f.lines, offset)
	if !starts {
		line--
	}
	return position{line + 1, offset - f.lines[line] + 1}
}
