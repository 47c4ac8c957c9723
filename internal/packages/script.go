package packages

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// ScriptNeeds is what a script's head says that it needs, PEP 723:
//
//	# /// script
//	# dependencies = ["pandas"]
//	# ///
func ScriptNeeds(code string) ([]string, error) {
	var block strings.Builder
	inside, blocks := false, 0
	var pending string // lines that are the block's only if its end follows: the last end counts
	var body string
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !inside && line == "# /// script":
			inside = true
			blocks++
			block.Reset()
			pending, body = "", ""
		case !inside:
		case line == "# ///":
			body = pending
			pending += line[1:] + "\n"
		case line == "#" || strings.HasPrefix(line, "# "):
			pending += strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ") + "\n"
		default:
			inside = false
			block.WriteString(body)
		}
	}
	if inside {
		block.WriteString(body)
	}
	if blocks > 1 {
		return nil, errors.New("it is there twice")
	}
	var head struct {
		Dependencies []string `toml:"dependencies"`
	}
	if err := toml.Unmarshal([]byte(block.String()), &head); err != nil {
		return nil, fmt.Errorf("it is no TOML: %w", err)
	}
	return head.Dependencies, nil
}
