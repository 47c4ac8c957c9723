// Package toon encodes JSON values as Token-Oriented Object Notation, version 4.0
// (https://github.com/toon-format/spec, tag v4.0.0).
//
// It owns the encoder and nothing else: no decoding, no I/O. It never holds anything that would have to
// be closed. Numbers keep all their digits, however many, as no decoder of ours has to read them.
package toon

import (
	"errors"
	"fmt"
)

// Options are the choices the format leaves to encoders. The zero value means the usual ones.
type Options struct {
	IndentSize int  // spaces per level, 2 when 0
	Delimiter  byte // between values of a row: ',' (when 0), '\t' or '|'
	MaxSize    int  // bytes of output at which Encode gives up; no limit when 0
}

// errTooLarge is returned when the output would be larger than Options.MaxSize. Indentation can make it
// thousands of times larger than deeply nested input.
var errTooLarge = errors.New("toon: output too large")

// Encode returns the JSON value data as TOON, without a final newline. Keys keep their order; of equal
// keys the last value counts. It fails if data is not one valid JSON value.
func Encode(data []byte, opts Options) ([]byte, error) {
	if opts.IndentSize == 0 {
		opts.IndentSize = 2
	}
	if opts.Delimiter == 0 {
		opts.Delimiter = ','
	}
	switch {
	case opts.IndentSize < 0:
		return nil, fmt.Errorf("toon: indent size %d is negative", opts.IndentSize)
	case opts.Delimiter != ',' && opts.Delimiter != '\t' && opts.Delimiter != '|':
		return nil, fmt.Errorf("toon: delimiter %q is not a comma, tab or pipe", opts.Delimiter)
	}
	root, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("toon: %w", err)
	}
	e := encoder{opts: opts, delimiter: string(opts.Delimiter)}
	e.root(root)
	if e.full() {
		return nil, errTooLarge
	}
	return e.out, nil
}
