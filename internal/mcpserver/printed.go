package mcpserver

import (
	"bytes"
	"fmt"
	"strings"

	"codemode/internal/visible"
)

// What a client is told of prints while code runs. All of it is in the result, or in the resource that this names.
const (
	maxPrint  = 300      // bytes of a line
	maxPrints = 2 << 10  // bytes of lines in one message
	maxAllOf  = 64 << 10 // bytes of lines in all messages of a call
)

// printed are the lines of a call that nobody was told of yet, in the order in which they were printed.
type printed struct {
	begun map[string][]byte // of a stream, the beginning of a line without an end
	lines []string
	size  int
	left  int // lines before these that have no room
	told  int // bytes in all
}

// add takes what was printed. Of much at once, only the end is looked at.
func (p *printed) add(stream string, data []byte) {
	if p.told > maxAllOf {
		return
	}
	if p.begun == nil {
		p.begun = map[string][]byte{}
	}
	if len(data) > 2*maxPrints {
		cut := len(data) - maxPrints
		p.left += bytes.Count(data[:cut], []byte("\n"))
		if next := bytes.IndexByte(data[cut:], '\n'); next >= 0 {
			p.left++
			cut += next + 1
		}
		p.begun[stream], data = nil, data[cut:]
	}
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if begun := p.begun[stream]; len(begun) < maxPrint {
			p.begun[stream] = append(begun, line[:min(len(line), maxPrint+1)]...)
		}
		if !ended {
			return
		}
		p.line(p.begun[stream])
		p.begun[stream], data = p.begun[stream][:0], rest
	}
}

func (p *printed) line(text []byte) {
	shown := strings.TrimRight(string(text), "\r")
	if len(shown) > maxPrint {
		shown = string(visible.CutEnd([]byte(shown[:maxPrint]))) + " …"
	}
	shown = visible.Text(shown) // as in the result
	if strings.TrimSpace(shown) == "" {
		return
	}
	p.lines = append(p.lines, shown)
	for p.size += len(shown) + 1; p.size > maxPrints; p.left++ {
		p.size -= len(p.lines[0]) + 1
		p.lines = p.lines[1:]
	}
}

// take returns what there is to tell as one message, empty for nothing.
func (p *printed) take() string {
	if len(p.lines) == 0 {
		return ""
	}
	text := strings.Join(p.lines, "\n")
	if p.left > 0 {
		text = fmt.Sprintf("[… %d lines left out …]\n%s", p.left, text)
	}
	if p.told += len(text); p.told > maxAllOf {
		text += "\n[… what is printed from here on is in the result alone …]"
	}
	p.lines, p.size, p.left = nil, 0, 0
	return text
}
