package toon

// A column is a field of a table: a leaf, or a group of columns where the field's values are objects.
type column struct {
	name  string
	group []column
}

// columns returns the columns of a table whose rows are given, in the order of the first row. There is
// no table unless all rows are objects that have the same keys, at least one, and each column holds
// either primitives alone or objects for which that is true again.
func columns(rows []*node) ([]column, bool) {
	if len(rows) == 0 {
		return nil, false
	}
	first := rows[0]
	for _, row := range rows {
		if row.kind != object || len(row.keys) == 0 || len(row.keys) != len(first.keys) {
			return nil, false
		}
	}
	cols := make([]column, len(first.keys))
	values := make([]*node, len(rows))
	for i, key := range first.keys {
		nested := false
		for r, row := range rows {
			value := row.field(i, key)
			if value == nil {
				return nil, false
			}
			nested = nested || value.composite()
			values[r] = value
		}
		cols[i].name = key
		if !nested {
			continue
		}
		var ok bool
		if cols[i].group, ok = columns(values); !ok {
			return nil, false
		}
	}
	return cols, true
}

// header writes the names of cols in braces.
func (e *encoder) header(cols []column) {
	e.put("{")
	for i, c := range cols {
		if i > 0 {
			e.put(e.delimiter)
		}
		e.key(c.name)
		if c.group != nil {
			e.header(c.group)
		}
	}
	e.put("}")
}

// cells writes the leaves of row in the order of cols, and separator before the first of them. It
// returns what separates the next.
func (e *encoder) cells(row *node, cols []column, separator string) string {
	for i, c := range cols {
		value := row.field(i, c.name)
		if c.group != nil {
			separator = e.cells(value, c.group, separator)
			continue
		}
		e.put(separator)
		e.primitive(value)
		separator = e.delimiter
	}
	return separator
}
