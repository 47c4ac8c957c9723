package upstream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// wellFormed returns arguments that every server can decode: UTF-8, and no surrogate escape without its
// other half. A strict decoder refuses the whole message because of one, and then nobody answers the call.
// What is no text becomes U+FFFD.
func wellFormed(args json.RawMessage) json.RawMessage {
	if !utf8.Valid(args) {
		args = bytes.ToValidUTF8(args, []byte("\ufffd"))
	}
	if !bytes.Contains(args, []byte(`\ud`)) && !bytes.Contains(args, []byte(`\uD`)) {
		return args
	}
	out := make([]byte, 0, len(args))
	for i := 0; i < len(args); {
		if args[i] != '\\' || i+1 == len(args) {
			out = append(out, args[i])
			i++
			continue
		}
		n := 2 // an escape that is not a \u
		if first := escape(args[i:]); first >= 0 {
			n = 6
			second := escape(args[i+6:])
			switch {
			case isHigh(first) && isLow(second):
				n = 12
			case isHigh(first) || isLow(first):
				out = append(out, `\ufffd`...)
				i += n
				continue
			}
		}
		out = append(out, args[i:i+n]...)
		i += n
	}
	return out
}

// escape returns the code unit of the \u escape that b begins with, or -1.
func escape(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func isHigh(unit int) bool { return unit >= 0xd800 && unit < 0xdc00 }
func isLow(unit int) bool  { return unit >= 0xdc00 && unit < 0xe000 }
