package packages

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/lazyregexp"

	"github.com/pelletier/go-toml/v2"
)

// Head is what a script needs.
type Head struct {
	Dependencies []string `toml:"dependencies"`
	Python       string   `toml:"requires-python"` // of PEP 440; empty is any
}

// maxHead bounds a script's head: the parser of TOML takes four times as long for twice as many keys.
const maxHead = 64 << 10

// ScriptNeeds is what a script's head says that it needs, PEP 723:
//
//	# /// script
//	# dependencies = ["pandas"]
//	# ///
func ScriptNeeds(code string) (Head, error) {
	var block []byte
	inside, blocks := false, 0
	whole := 0 // of block: what is behind it is the block's only if its end follows, for the last end counts
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !inside && line == "# /// script":
			inside = true
			blocks++
			block, whole = nil, 0
		case !inside:
		case line == "#" || strings.HasPrefix(line, "# "):
			if line == "# ///" {
				whole = len(block)
			}
			block = append(block, strings.TrimPrefix(line[1:], " ")+"\n"...)
		default:
			inside = false
			block = block[:whole]
		}
	}
	if inside {
		block = block[:whole]
	}
	switch {
	case blocks > 1:
		return Head{}, errors.New("it is there twice")
	case len(block) > maxHead:
		return Head{}, fmt.Errorf("it has %d bytes; at most %d are read", len(block), maxHead)
	}
	var head Head
	if err := toml.Unmarshal(block, &head); err != nil {
		if toml.Unmarshal(block, &map[string]any{}) == nil {
			return Head{}, errors.New("dependencies is to be a list of strings in it, and requires-python a string")
		}
		return Head{}, fmt.Errorf("it is no TOML: %w", err)
	}
	if _, err := FitsPython(head.Python, "3"); err != nil {
		return Head{}, err
	}
	return head, nil
}

var clauseText = lazyregexp.New(`^(===?|!=|<=|>=|~=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?$`)

// FitsPython tells whether a version of Python is one that requires-python names: clauses of PEP 440, with commas
// between them. A Python that is released has no other parts than numbers.
func FitsPython(requires, version string) (bool, error) {
	fits, plain := fitsClauses(requires, version)
	if !plain {
		return false, fmt.Errorf("requires-python = %q cannot be read; it is as in \">=3.11, <4\"", requires)
	}
	return fits, nil
}

// fitsClauses tells whether a version of numbers is what clauses of numbers name, and whether these are such clauses.
func fitsClauses(clauses, version string) (fits, plain bool) {
	fits = true
	for clause := range strings.SplitSeq(clauses, ",") {
		clause = strings.TrimSpace(clause)
		if clause == "" {
			continue
		}
		m := clauseText().FindStringSubmatch(clause)
		if m == nil || m[3] != "" && m[1] != "==" && m[1] != "!=" || m[1] == "~=" && !strings.Contains(m[2], ".") {
			return false, false
		}
		fits = fits && meets(m[1], numbers(m[2]), m[3] != "", numbers(version))
	}
	return fits, true
}

// meets tells whether a version is what one clause allows.
func meets(operator string, want []int, prefix bool, has []int) bool {
	begins := func(n int) bool { return n <= len(has) && slices.Equal(has[:n], want[:n]) }
	order := slices.Compare(padded(has, len(want)), padded(want, len(has)))
	switch operator {
	case "==", "===":
		return order == 0 || prefix && begins(len(want))
	case "!=":
		return order != 0 && !(prefix && begins(len(want)))
	case "~=":
		return order >= 0 && begins(len(want)-1)
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// padded has zeros for the parts that it does not name: 3.11 is 3.11.0.
func padded(version []int, n int) []int {
	return append(slices.Clone(version), make([]int, max(0, n-len(version)))...)
}

func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break // what follows is no release's
		}
		list = append(list, n)
	}
	return list
}
