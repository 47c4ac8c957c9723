package redact

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// minWindow is how many bytes of a text are looked at at once, at least: what they could mean takes some ten times as
// much memory.
const minWindow = 32 << 10

// over looks for a Redactor's secrets in texts, one after the other, each by windows: its memory does not grow with
// them.
type over struct {
	searches     []*search
	margin, size int // bytes that windows overlap by on either side, and that each has between
}

func (r *Redactor) over() *over {
	margin := 2 * r.longest
	o := &over{margin: margin, size: max(minWindow, 2*margin)}
	if len(r.values) > 0 {
		o.searches = append(o.searches, &search{matcher: r.matcher(), decodes: slices.ContainsFunc(r.values, isShort)})
	}
	if len(r.guessed) > 0 {
		o.searches = append(o.searches, &search{matcher: r.lookalike(), decodes: true})
	}
	return o
}

// text is a text with masks.
func (o *over) text(s string) string {
	var b strings.Builder
	done := 0
	for c := range o.coveredIn(s) {
		if done == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:c.from])
		b.WriteString(Mask)
		done = c.to
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// coveredIn is what secrets cover, in order. Of what a window finds counts what has a part of its middle, so that
// whatever could belong to it is in view.
func (o *over) coveredIn(s string) iter.Seq[span] {
	return func(yield func(span) bool) {
		var open []span
		for start, from := 0, 0; from < len(s); from += o.size {
			to := min(from+o.size, len(s))
			for _, look := range o.searches {
				for _, c := range look.in(s[start:min(to+o.margin, len(s))]) {
					if c.from += start; c.from < to && c.to+start > from {
						open = append(open, span{c.from, c.to + start})
					}
				}
			}
			open = joined(open)
			if to == len(s) {
				start = to
			} else {
				start = unescaped(s, start, max(0, to-o.margin))
			}
			for len(open) > 0 && open[0].to <= start { // else what the next window finds may belong to it
				if !yield(open[0]) {
					return
				}
				open = open[1:]
			}
		}
	}
}

// unescaped is where a window may begin, at or a little before from: not amid backslashes, of which each layer of
// escapes takes two for one. Between first and from, first is such a place.
func unescaped(s string, first, from int) int {
	begin := from
	for begin > first && s[begin-1] == '\\' {
		begin--
	}
	return from - (from-begin)%(1<<maxLayers)
}

// joined are spans in order, and those that overlap as one.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:0]
	for _, c := range spans {
		if n := len(out) - 1; n >= 0 && c.from < out[n].to {
			out[n].to = max(out[n].to, c.to)
		} else {
			out = append(out, c)
		}
	}
	return out
}
